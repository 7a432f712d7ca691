"""The runs of exercise 09-7, and the indexes and readers in them."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from runpy import run_path

import pytest

from exercises.ch09_log_storage.ex07_one_off.material import LEAST_READS, make, run
from exercises.ch09_log_storage.ex07_one_off.starter import SparseIndex
from exercises.ch09_log_storage.index_world import INTERVALS, Indexes, IndexWorld
from exercises.ch09_log_storage.made_logs import append_at, log_on, plain_batch
from exercises.runner.manifest import find_exercise
from kafka_edu.log.index_checks import offset_index_damage
from kafka_edu.log.log_file_names import INDEX_SUFFIX, LOG_SUFFIX
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.tools.dump_log_segments import DumpLogSegments, DumpOptions

SEEDS = range(12)
SMALL = 6
"""Three records with values of this size are a batch of 100 bytes."""


def mended() -> Callable[[int, int], Indexes]:
    """Return the class of the reference solution."""
    made: Callable[[int, int], Indexes] = run_path(str(find_exercise("09-7").solution))[
        "SparseIndex"
    ]
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_one_reader_that_missed_its_record(seed: int) -> None:
    made = run(seed)
    missed = made.missed
    assert len(made.reads) >= LEAST_READS
    assert missed.should_get == missed.wanted != missed.got
    line = next(one for one in made.events if one.startswith(f"a reader wants {missed.wanted}: "))
    assert f": led to byte {missed.came} of segment " in line
    entry, written = made.events[missed.used - 1], made.events[missed.used - 2]
    assert entry.endswith(f", byte {missed.came}")
    assert f"{missed.wanted} " in written
    assert f" written at byte {missed.right}: " in written


@pytest.mark.parametrize("seed", SEEDS)
def test_other_readers_are_led_by_wrong_entries_too_and_get_what_they_want(seed: int) -> None:
    others = [read for read in run(seed).reads if not read.missed]
    assert any(read.used and read.came != read.right for read in others)
    assert any(read.got != read.wanted for read in others)


def test_learners_have_different_runs() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)


def test_with_the_mended_class_no_reader_misses_a_record() -> None:
    random, right = Random(9), mended()
    for _ in range(200):
        world = IndexWorld(right, random.choice(INTERVALS))
        for _ in range(40):
            world.go_on(random)
        assert [read for read in world.reads if read.missed or read.came != read.right] == []


def test_the_example_of_the_page() -> None:
    world = IndexWorld(SparseIndex, 150)
    for first in (0, 3, 6, 9):
        world.write(first, 3, SMALL)
    for wanted in (7, 10, 8):
        world.read(wanted)
    assert [(read.wanted, read.used) for read in world.reads if read.missed] == [(8, 5)]
    page = find_exercise("09-7").readme.read_text(encoding="utf-8")
    for number, event in enumerate(world.events, 1):
        assert f"\n     {number:>2}  {event}\n" in page


def test_the_tool_and_a_start_notice_such_an_index(tmp_path: Path) -> None:
    """What the page says about files of a broker."""
    disk, tried = MemoryFileSystem(), SparseIndex(0, 150)
    log = log_on(disk, index_interval_bytes=150)
    for first in range(0, 60, 3):
        append_at(log, first, plain_batch(3, SMALL))
        tried.append(first + 2, 100)
    segment, index = log.active_segment, log.active_segment.offset_index
    assert offset_index_damage(segment.log, index) == ""
    index.truncate()
    for relative, position in tried.entries:
        index.append(relative, position)
    assert offset_index_damage(segment.log, index).startswith("its entry for offset 8 points to")

    file = tmp_path / f"{0:020d}"
    entries = (number.to_bytes(4, "big") for entry in tried.entries for number in entry)
    file.with_suffix(LOG_SUFFIX).write_bytes(disk.read(segment.log.path))
    file.with_suffix(INDEX_SUFFIX).write_bytes(b"".join(entries))
    tool = DumpLogSegments(DumpOptions(verify_only=True), lambda _record: (None, None))
    list(tool.dump(str(file.with_suffix(INDEX_SUFFIX))))
    assert "  Index offset: 8, log offset: 11" in list(tool.errors())
