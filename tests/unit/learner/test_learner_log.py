"""Learners' parts of the log: their answers are carried out. Where a part fails, our own code
answers.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from exercises.ch09_log_storage.made_logs import (
    FOLDER,
    NOW_MS,
    append_at,
    empty_log,
    plain_batch,
    random_log,
)
from exercises.runner.manifest import find_exercise
from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_compaction, learner_look_up, learner_segment_rules
from kafka_edu.learner.learner_compaction import LearnerCleaner, plain_rows
from kafka_edu.learner.learner_look_up import LearnerSegments, LookUpSteps, Place
from kafka_edu.learner.learner_segment_rules import LearnerLog
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.log import log as log_module
from kafka_edu.log import log_loader
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager
from kafka_edu.log.cleaner.record_rows import rows_of_records
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_segments import LogSegments
from kafka_edu.record.record import Record
from kafka_edu.server import broker_process
from kafka_edu.server.cleaner_process import run_in_a_process
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.cleaner.world import Disk, compacted, job_of, write

from .conftest import Load

Made = tuple[LearnerSegments, list[LearnerError]]
Looks = Callable[[str, Log], Made]


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def answers(*operations: object) -> str:
    """Return a class that names these operations in turn, and then the last one again and again."""
    return (
        f"class LookUp:\n    def __init__(self, *_):\n        self.left = {list(operations)!r}\n"
        "    def next(self, _):\n"
        "        return self.left.pop(0) if len(self.left) > 1 else self.left[0]\n"
    )


@pytest.fixture
def looks(load: Load) -> Looks:
    def go(text: str, log: Log) -> Made:
        code, errors = load("09-1", text)
        return LearnerSegments(code, list(log.segments)), errors

    return go


def cold(log: Log) -> Log:
    """The log, in which no segment remembers a position."""
    for segment in log.segments:
        segment._positions.clear()
    return log


def place_of(segments: LogSegments, offset: int, log: Log) -> tuple[int, int] | None:
    found = segments.read(offset, 1 << 20, log.log_end_offset, log.log_end_offset, True)
    if found is None:
        return None
    place = found[1].fetch_offset_metadata
    return place.segment_base_offset, place.relative_position_in_segment


def test_the_seam_is_where_a_log_looks() -> None:
    assert SEAMS["09-1"].module == log_module.__name__
    assert vars(log_module)[SEAMS["09-1"].name] is LogSegments


def test_the_reference_finds_what_ours_finds(looks: Looks) -> None:
    log = cold(random_log(Random(9), gaps=True))
    theirs, errors = looks(right("09-1"), log)
    for offset in range(0, log.log_end_offset, 7):
        assert place_of(theirs, offset, log) == place_of(log.segments, offset, log), offset
    assert errors == []
    assert theirs._code.calls > 50


def test_a_wrong_batch_is_what_the_reader_gets(looks: Looks) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(("batch", 1, 0), ("found", 1, 0)), log)
    assert place_of(theirs, 0, log) == (log.segments[1].base_offset, 0)
    assert errors == []
    nothing, errors = looks(answers(("end",)), log)
    assert place_of(nothing, 0, log) is None
    assert errors == []


def test_what_a_segment_remembers_is_not_asked_for(looks: Looks) -> None:
    log = random_log(Random(9))
    theirs, _ = looks(right("09-1"), log)
    assert place_of(theirs, 0, log) == (0, 0)
    assert theirs._code.calls == 0


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (("base", 99), "the segments are 0 to"),
        (("base", -1), "the segments are 0 to"),
        (("entry", 0, 99_999), "entries, from 0 on"),
        (("batch", 0, 5), "nothing says that a batch begins at byte 5"),
        (("found", 0, 0), "it has not looked at a batch at byte 0"),
        (("look",), "the operations are"),
        (3, "the operations are"),
        (("base", 0), "did not end after"),
    ],
)
def test_an_operation_that_is_not_possible_is_an_error_and_ours_finds(
    looks: Looks, operation: object, says: str
) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(operation), log)
    assert place_of(theirs, 0, log) == (0, 0)
    assert says in errors[0].message


def test_after_three_failures_ours_stays(looks: Looks) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(("look",)), log)
    for offset in range(FAILURES_ALLOWED + 2):
        assert place_of(theirs, offset, log) == place_of(log.segments, offset, log)
    assert len(errors) == FAILURES_ALLOWED


def test_only_logs_of_the_labs_are_asked_for(load: Load) -> None:
    code, _ = load("09-1", right("09-1"))
    adapt: Callable[[LearnerCode], Callable[[Sequence[Any]], LogSegments]] = learner_look_up.adapt
    log = empty_log()
    assert type(adapt(code)(list(log.segments))) is LogSegments
    for segment in log.segments:
        segment.directory = "/d/lab-091-0"
    assert type(adapt(code)(list(log.segments))) is LearnerSegments


def test_steps_count_looks() -> None:
    log = random_log(Random(9))
    steps = LookUpSteps(log.segments)
    for operation in (("base", 0), ("entries", 0), ("entry", 0, 0), ("batch", 0, 0)):
        steps.do(operation)
    assert steps.looks == {"base": 1, "entries": 1, "entry": 1, "batch": 1}
    steps.do(("found", 0, 0))
    assert (steps.ended, steps.found) == (True, Place(0, 0))


LAB = TopicPartition("lab-092", 0)
Rules = Callable[..., tuple[Log, list[LearnerError]]]


def rules(roll: str = "None", take: str = "[]") -> str:
    """A class with these answers."""
    return (
        f"class SegmentRules:\n    def roll(self, *_):\n        return {roll}\n"
        f"    def take(self, *_):\n        return {take}\n"
    )


@pytest.fixture
def ruled(load: Load, monkeypatch: pytest.MonkeyPatch) -> Rules:
    def go(text: str, **config: str) -> tuple[Log, list[LearnerError]]:
        code, errors = load("09-2", text)
        monkeypatch.setattr(log_loader, "Log", learner_segment_rules.adapt(code))
        log, _ = log_loader.load_log(
            LAB,
            "/d",
            FOLDER,
            MemoryFileSystem(),
            LogConfig.parse({key.replace("_", "."): value for key, value in config.items()}),
            now_ms=NOW_MS,
            max_producer_id_expiration_ms=1_000,
        )
        return log, errors

    return go


def filled(log: Log, batches: int = 30) -> Log:
    for number in range(batches):
        append_at(log, 2 * number, plain_batch(2, 30, NOW_MS + number))
    return log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_the_seam_of_the_rules_is_where_logs_are_opened() -> None:
    assert SEAMS["09-2"].module == log_loader.__name__
    assert vars(log_loader)[SEAMS["09-2"].name] is Log


def test_the_reference_rolls_and_deletes_as_ours_does(ruled: Rules) -> None:
    config = {"segment_bytes": "700", "retention_bytes": "1000", "retention_ms": "86400000"}
    log, errors = ruled(right("09-2"), **config)
    ours = filled(empty_log(**config))
    assert bases(filled(log)) == bases(ours)
    assert log.delete_old_segments(NOW_MS) == ours.delete_old_segments(NOW_MS) > 0
    assert bases(log) == bases(ours)
    for late_ms in (86_400_001 + 20, 86_500_000):
        log.delete_old_segments(NOW_MS + late_ms)
        ours.delete_old_segments(NOW_MS + late_ms)
        assert bases(log) == bases(ours)
    assert errors == []
    assert isinstance(log, LearnerLog)


def test_wrong_rules_are_carried_out(ruled: Rules) -> None:
    log, errors = ruled(rules(take='["size", "time"]'), segment_bytes="700")
    assert bases(filled(log)) == [0], "it never rolls"
    log, errors = ruled(rules("'time'", '["size", "time"]'))
    assert len(bases(filled(log, 5))) == 5
    assert log.delete_old_segments(NOW_MS) == 2
    assert errors == []


@pytest.mark.parametrize("answer", ["3", "'often'", "['size']", "1 / 0"])
def test_a_reason_that_is_none_is_an_error_and_ours_rolls(ruled: Rules, answer: str) -> None:
    log, errors = ruled(rules(answer), segment_bytes="700")
    assert bases(filled(log)) == bases(filled(empty_log(segment_bytes="700")))
    assert len(errors) == FAILURES_ALLOWED


def test_a_batch_that_must_not_come_makes_ours_roll(ruled: Rules) -> None:
    log, errors = ruled(rules(), segment_index_bytes="24", index_interval_bytes="1")
    filled(log, 6)
    assert len(bases(log)) > 1
    assert "expected one of" in errors[0].message


@pytest.mark.parametrize(
    "answer",
    ["None", "['never']", "['size'] * 99", "'size'", "[['size']]", "[{'size': 1}]", "['size'] * 3"],
)
def test_what_cannot_go_is_an_error_and_ours_takes(ruled: Rules, answer: str) -> None:
    log, errors = ruled(rules("'size'", answer), retention_bytes="0")
    filled(log, 4)
    log.update_high_watermark(3)
    assert log.delete_old_segments(NOW_MS) == 1, "segment 0 alone is committed"
    assert len(errors) == 1


def test_other_topics_keep_our_rules(load: Load) -> None:
    code, _ = load("09-2", rules())
    parts = vars(empty_log())
    assert "_code" not in parts
    opened = learner_segment_rules.adapt(code)
    log = empty_log()
    made = opened(
        TopicPartition("web", 0),
        "/d",
        FOLDER,
        MemoryFileSystem(),
        log.config,
        list(log.segments),
        0,
        0,
        0,
        log.leader_epoch_cache,
        log.producer_state_manager,
    )
    assert type(made) is Log


KEYED = (("a", "1"), ("b", "1"), (None, "x"), ("a", None), ("c" * 40, "1"), ("c" * 40, "2"))


def compaction(note: str = "len(records)", keep: str = "[one[0] for one in records]") -> str:
    """A class with these answers."""
    return (
        "class Compaction:\n    def __init__(self, *_):\n        pass\n"
        f"    def note(self, records):\n        return {note}\n"
        f"    def keep(self, records, end, young):\n        return {keep}\n"
    )


def pass_over(
    load: Load, text: str, *, records: int = 6, map_bytes: int = 1 << 20
) -> tuple[CleanResult, CleanResult, list[LearnerError]]:
    """Clean the same log once with the learner's code and once with ours."""
    disk = Disk()
    log = compacted(disk, cleanup_policy="delete")  # or it would refuse records without keys
    for number in range(records):
        write(log, KEYED[number % len(KEYED)])
    log.roll(NOW_MS)
    job = job_of(LogCleanerManager({}).look_at(log, NOW_MS), map_bytes)
    code, errors = load("09-5", text)
    theirs = LearnerCleaner(code, job, disk).clean()
    return theirs, Cleaner(job, disk, no_throttle).clean(), errors


def test_the_seam_of_the_cleaner_is_where_a_broker_takes_it() -> None:
    assert SEAMS["09-5"].module == broker_process.__name__
    assert vars(broker_process)[SEAMS["09-5"].name] is run_in_a_process


def test_keys_are_what_the_cleaner_knows_of_them() -> None:
    long = b"k" * 16
    keys = [b"", b"a", None, b"k" * 15, long, b"nul\0l"]
    records = [Record(n, 0, key, None if n == 1 else b"v") for n, key in enumerate(keys)]
    rows = plain_rows(rows_of_records(records))
    assert [one[0] for one in rows] == list(range(6))
    assert [one[1] for one in rows if one[0] != 4] == [b"", b"a", None, b"k" * 15, b"nul\0l"]
    assert rows[4][1] is not None
    assert len(rows[4][1]) == 16
    assert [one[2] for one in rows] == [True, False, True, True, True, True]


@pytest.mark.parametrize("records", [1, 6, 1_300])
def test_the_reference_cleans_as_ours_does(load: Load, records: int) -> None:
    theirs, ours, errors = pass_over(load, right("09-5"), records=records)
    assert theirs == ours
    assert errors == []


def test_a_full_map_ends_the_pass_where_ours_ends_it(load: Load) -> None:
    theirs, ours, errors = pass_over(load, right("09-5"), map_bytes=24 * 4)
    assert theirs.end_offset == ours.end_offset < 6
    assert theirs.groups == ours.groups
    assert errors == []


def test_a_wrong_keep_is_carried_out(load: Load) -> None:
    theirs, ours, errors = pass_over(load, compaction(keep="[]"))
    assert theirs.groups[0].lost.records == 6 > ours.groups[0].lost.records
    all_stay, _, _ = pass_over(load, compaction())
    assert all_stay.groups[0].lost.records == 0
    early, _, more = pass_over(load, compaction(note="0"))
    assert (early.end_offset, early.groups) == (0, ())
    assert errors == more == []


@pytest.mark.parametrize("answer", ["-1", "99", "True", "None", "'all'", "1 / 0"])
def test_a_number_that_is_none_is_an_error_and_ours_cleans(load: Load, answer: str) -> None:
    theirs, ours, errors = pass_over(load, compaction(note=answer))
    assert theirs == ours
    assert len(errors) == 1


@pytest.mark.parametrize("answer", ["None", "[77]", "['a']", "[True]", "3", "[{}]", "1 / 0"])
def test_offsets_of_others_are_an_error_and_ours_cleans(load: Load, answer: str) -> None:
    theirs, ours, errors = pass_over(load, compaction(keep=answer))
    assert theirs == ours
    assert len(errors) == 1


def test_only_topics_of_the_labs_are_compacted_by_it(load: Load, tmp_path: Path) -> None:
    code, errors = load("09-5", right("09-5"))
    run = learner_compaction.adapt(code)
    for name, asked in (("web-0", False), ("lab-095-0", True)):
        log, _ = log_loader.load_log(
            TopicPartition("lab-095", 0),
            str(tmp_path),
            str(tmp_path / name),
            OsFileSystem(),
            LogConfig.parse({"cleanup.policy": "compact"}),
            now_ms=NOW_MS,
            max_producer_id_expiration_ms=1_000,
        )
        write(log, ("a", "1"), ("a", "2"))
        log.roll(NOW_MS)
        job: CleanJob = job_of(LogCleanerManager({}).look_at(log, NOW_MS))
        result = asyncio.run(_awaited(run, job))
        assert result.groups[0].lost.superseded == 1
        assert (code.calls > 0) is asked
        log.close()
    assert errors == []


async def _awaited(run: learner_compaction.RunClean, job: CleanJob) -> CleanResult:
    return await run(job)
