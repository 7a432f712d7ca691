"""Each kind of damage to a log's files is reported: the file, what was found, bytes and offsets
(Kafka warns of each; spec S5).
"""

from random import Random

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.log.log_repairs import (
    EPOCHS_REBUILT,
    INDEX_REBUILT,
    RECORDS_MISSING,
    SEGMENT_DROPPED,
    SNAPSHOT_REMOVED,
    TAIL_CUT,
)
from kafka_edu.log.producer_state_manager import encode_snapshot
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.log import LogRepaired
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.unit.log.test_log_loader import CONFIG, FIRST, NOW, SECOND, D, load, spoil, written

THIRD = f"{D}/00000000000000000028"
EPOCHS = f"{D}/leader-epoch-checkpoint"
RANDOM = bytes((i * 37 + 11) % 251 for i in range(480))


def repairs(events: list[Event]) -> list[LogRepaired]:
    found = [event for event in events if isinstance(event, LogRepaired)]
    assert {(r.topic, r.partition, r.log_dir) for r in found} <= {("t", 0, "/d")}
    return found


def told(events: list[Event]) -> list[tuple[str, str, int, int, int]]:
    return [(r.what, r.file, r.bytes, r.from_offset, r.to_offset) for r in repairs(events)]


@pytest.mark.parametrize("clean", [True, False])
def test_a_sound_log_is_not_repaired(clean: bool) -> None:
    disk, _ = written(clean=clean)
    _, events = load(disk, clean=clean)
    assert repairs(events) == []


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_without_a_record_is_not_repaired(clean: bool) -> None:
    disk = MemoryFileSystem()
    log, events = load(disk)
    if clean:
        log.close()
    _, again = load(disk, clean=clean)
    assert repairs(events) == repairs(again) == []


def test_a_flipped_bit_in_the_tail_is_reported_with_the_bytes_that_went() -> None:
    disk, log = written()
    size = log.active_segment.size
    file = disk.open(f"{THIRD}.log")
    file.pwrite(bytes([file.pread(1, size - 3)[0] ^ 4]), size - 3)
    log, events = load(disk)
    gone = size - log.active_segment.size
    assert gone > 0
    assert told(events) == [(TAIL_CUT, THIRD[len(D) + 1 :] + ".log", gone, 38, -1)]
    assert f"at byte {log.active_segment.size:,}" in repairs(events)[0].reason
    assert "stored crc" in repairs(events)[0].reason
    assert log.log_end_offset == 38


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("tail", ["cut", "zeros"])
def test_a_tail_that_was_cut_or_emptied_is_reported_also_after_a_clean_end(
    tail: str, clean: bool
) -> None:
    disk, log = written(clean=clean)
    file = disk.open(f"{THIRD}.log")
    size = file.size()
    file.truncate(size - 7)
    if tail == "zeros":
        file.append([b"\0" * 200])
    damaged = file.size()
    log, events = load(disk, clean=clean)
    assert (TAIL_CUT, damaged - log.active_segment.size, 38) in [
        (r.what, r.bytes, r.from_offset) for r in repairs(events)
    ]
    assert log.log_end_offset == 38
    log.append_as_leader(build_batch([Record(0, NOW, b"k", b"v")]), 1, NOW)
    again, _ = load(disk)
    assert again.log_end_offset == 39, "what comes next is not written behind garbage"


def test_a_log_that_was_emptied_after_a_clean_end_lacks_the_records_up_to_its_snapshot() -> None:
    disk, _ = written(clean=True)
    disk.open(f"{THIRD}.log").truncate(0)
    log, events = load(disk, clean=True)
    assert [r for r in told(events) if r[0] == RECORDS_MISSING] == [
        (RECORDS_MISSING, "00000000000000000028.log", 0, 28, 40)
    ]
    assert [r.what for r in repairs(events)] == [INDEX_REBUILT, RECORDS_MISSING]
    for i in range(20):
        log.append_as_leader(build_batch([Record(0, NOW + i, b"k", b"v" * 9)]), 1, NOW)
    assert log.log_end_offset == 48


def test_a_log_that_was_emptied_after_a_kill_lacks_the_records_that_its_index_knows() -> None:
    disk, _ = written()
    disk.open(f"{THIRD}.log").truncate(0)
    _, events = load(disk, recovery_point=28)
    assert [what for what, *_ in told(events)] == [RECORDS_MISSING]
    assert repairs(events)[0].from_offset == 28
    assert 28 < repairs(events)[0].to_offset <= 40


def test_a_log_that_was_truncated_and_then_killed_lacks_nothing() -> None:
    """After the truncation the index file has its old length, and the bytes of the removed
    entries.
    """
    disk, log = written()
    log.truncate_to(28)
    assert log.active_segment.size == 0
    _, events = load(disk, recovery_point=28)
    assert repairs(events) == []
    disk, log = written()
    log.truncate_to(36)
    _, events = load(disk, recovery_point=28)
    assert repairs(events) == []


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("seed", range(30))
def test_random_bytes_are_no_index(suffix: str, seed: int) -> None:
    disk, _ = written(clean=True)
    path = f"{SECOND}.{suffix}"
    before = disk.read(path)
    while (content := Random(seed).randbytes(len(before) * 4)) == before:
        seed += 1000
    spoil(disk, path, content)
    _, events = load(disk, clean=True)
    assert [what for what, *_ in told(events)] == [INDEX_REBUILT]
    assert disk.read(path)[: len(before)] == before


def test_segments_behind_missing_records_are_reported_one_by_one() -> None:
    disk, before = written()
    lost = before.segments[2].size
    disk.open(f"{SECOND}.log").truncate(0)
    _, events = load(disk)
    assert told(events) == [
        (INDEX_REBUILT, "00000000000000000014.index", 0, 14, -1),
        (RECORDS_MISSING, "00000000000000000014.log", 0, 14, 28),
        (SEGMENT_DROPPED, "00000000000000000028.log", lost, 28, -1),
    ]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("content", [RANDOM, None], ids=["random", "missing"])
@pytest.mark.parametrize("segment", [FIRST, THIRD])
def test_an_index_that_is_random_or_missing_is_reported(
    segment: str, content: bytes | None, suffix: str, clean: bool
) -> None:
    disk, _ = written(clean=clean)
    if content is None:
        disk.remove(f"{segment}.{suffix}")
    else:
        spoil(disk, f"{segment}.{suffix}", content)
    log, events = load(disk, clean=clean)
    base = int(segment[-20:])
    assert [(what, file, start) for what, file, _, start, _ in told(events)] == [
        (INDEX_REBUILT, f"{segment[len(D) + 1 :]}.{suffix}", base)
    ]
    assert log.log_end_offset == 40


def test_indexes_as_a_kill_leaves_them_are_no_damage() -> None:
    disk, log = written()
    assert log.active_segment.offset_index.ends_in_zeros()
    _, events = load(disk, recovery_point=28)
    assert repairs(events) == []


@pytest.mark.parametrize("clean", [True, False])
def test_snapshots_of_zeros_are_reported_and_the_producers_are_known_all_the_same(
    clean: bool,
) -> None:
    disk, before = written(clean=clean)
    snapshots = [name for name in disk.list(D) if name.endswith(".snapshot")]
    for name in snapshots:
        spoil(disk, f"{D}/{name}", b"\0" * len(disk.read(f"{D}/{name}")))
    log, events = load(disk, clean=clean, recovery_point=40)
    assert sorted((what, file) for what, file, _, _, _ in told(events)) == [
        (SNAPSHOT_REMOVED, name) for name in snapshots
    ]
    assert {r.to_offset for r in repairs(events)} == {int(name[:20]) for name in snapshots}
    assert {"unknown file version 0" in r.reason for r in repairs(events)} == {True}
    state = log.producer_state_manager.producers
    assert encode_snapshot(state.values()) == encode_snapshot(
        before.producer_state_manager.producers.values()
    )


def test_a_bad_snapshot_that_a_truncation_meets_is_reported() -> None:
    disk, _ = written(clean=True)
    log, _ = load(disk, clean=True)
    ring = RingSink()
    tracer = Tracer(Source.of_broker(0), MockTime())
    tracer.add_sink(ring)
    log.watch(tracer)
    spoil(disk, f"{D}/00000000000000000028.snapshot", b"\0" * 60)
    log.truncate_to(30)
    found = [e.event for e in ring.events if isinstance(e.event, LogRepaired)]
    assert [(r.what, r.file) for r in found] == [
        (SNAPSHOT_REMOVED, "00000000000000000028.snapshot")
    ]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"garbage\n", "cannot be read"),
        (b"0\n1\n9 0\n", "epoch 9 begins at offset 0, and the batch there has epoch 0"),
        (b"0\n2\n0 0\n7 20\n", "epoch 7 begins at offset 20, and the batch there has epoch 0"),
        (b"0\n2\n0 0\n1 30\n", "epoch 1 begins at offset 30, and the batch before has epoch 1"),
        (b"0\n1\n1 24\n", "no epoch before offset 24"),
        (b"0\n1\n0 0\n", "epoch 1"),
        (b"0\n0\n", "it names no epoch"),
    ],
)
def test_a_false_leader_epoch_checkpoint_is_made_again_from_the_batches(
    content: bytes, reason: str, clean: bool
) -> None:
    """Kafka 2.8 keeps a follower out of the ISR for good if the leader does not know the follower's
    epoch.
    """
    disk, _ = written(clean=clean)
    disk.write_atomically(EPOCHS, content)
    recovery_point = 0 if clean else 28
    log, events = load(disk, clean=clean, recovery_point=recovery_point)
    assert log.leader_epoch_cache.entries == [(0, 0), (1, 24)]
    assert disk.read(EPOCHS) == b"0\n2\n0 0\n1 24\n"
    assert [(what, file) for what, file, *_ in told(events)] == [
        (EPOCHS_REBUILT, "leader-epoch-checkpoint")
    ]
    assert reason in repairs(events)[0].reason


@pytest.mark.parametrize("clean", [True, False])
def test_an_epoch_that_is_missing_between_others_is_noticed(clean: bool) -> None:
    """If this replica became the leader, it would let a follower truncate all records of the lost
    epoch.
    """
    disk, log = written()
    log.append_as_leader(build_batch([Record(0, NOW, b"k", b"v")]), 3, NOW)
    log.leader_epoch_cache.flush()
    if clean:
        log.close()
    whole = disk.read(EPOCHS)
    assert whole == b"0\n3\n0 0\n1 24\n3 40\n"
    disk.write_atomically(EPOCHS, b"0\n2\n0 0\n3 40\n")
    log, events = load(disk, clean=clean, recovery_point=0 if clean else 28)
    assert disk.read(EPOCHS) == whole
    assert [repair.reason for repair in repairs(events)] == [
        "it says that epoch 3 begins at offset 40, behind epoch 0, and the batch before has epoch 1"
    ]


def test_an_epoch_that_has_no_record_is_not_false() -> None:
    disk, log = written()
    log.maybe_assign_epoch_start_offset(5, 40, begins=True)
    log.close()
    log, events = load(disk, clean=True)
    assert repairs(events) == []
    assert log.latest_epoch == 1


def test_an_epoch_whose_records_compaction_removed_is_not_false() -> None:
    disk, log = written(clean=True)
    for suffix in ("log", "index", "timeindex"):
        disk.remove(f"{SECOND}.{suffix}")
    compacted = CONFIG.with_overrides({"cleanup.policy": "compact"})
    log, events = load(disk, clean=True, config=compacted)
    assert repairs(events) == []
    assert log.latest_epoch == 1
