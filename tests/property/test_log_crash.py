"""A log whose disk is cut off anywhere in a write: a prefix of what was written remains, without
holes (spec S5).
"""

import random
import struct

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from kafka_edu.sim.memory_file_system import MemoryFileSystem, SimulatedCrash
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
CONFIG = LogConfig.parse(
    {"segment.bytes": "700", "segment.index.bytes": "240", "index.interval.bytes": "150"}
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

batch_sizes = st.lists(st.integers(1, 5), min_size=1, max_size=25)


def load(disk: MemoryFileSystem, recovery_point: int = 0) -> Log:
    return load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        disk,
        CONFIG,
        recovery_point=recovery_point,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )[0]


def batch(number: int, count: int, sequence: int) -> bytes:
    records = [Record(i, NOW + number, b"%d" % number, b"v" * (number % 7)) for i in range(count)]
    return build_batch(records, producer_id=1, producer_epoch=0, base_sequence=sequence)


def values(log: Log) -> list[tuple[int, bytes | None]]:
    """Return every record, read as a consumer would, from offset to offset."""
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = part_bytes(log.read(offset, 1_000_000).records)
        assert data, f"no record is at {offset}, and the log ends at {log.log_end_offset}"
        for at, header in iter_headers(data):
            found += [(r.offset, r.key) for r in read_records(data[at : at + header.size_in_bytes])]
        offset = found[-1][0] + 1
    return found


def check_whole(log: Log, whole: list[tuple[int, bytes | None]], at_least: int) -> None:
    found = values(log)
    assert found == whole[: len(found)], "a beginning of what was written, in order"
    assert [offset for offset, _ in found] == list(range(log.log_end_offset)), "without holes"
    assert len(found) >= at_least, "nothing that was there for sure is gone"
    for offset in range(log.log_end_offset):
        place = log.convert_to_offset_metadata(offset)
        header = struct.unpack_from(">q", part_bytes(log.read(offset, 100).records))
        assert header[0] <= offset
        assert place.segment_base_offset <= offset


@given(
    sizes=batch_sizes,
    cut=st.integers(0, 6000),
    second_cut=st.integers(0, 300),
    flush_at=st.integers(0, 25),
)
@QUICK
def test_a_kill_anywhere_in_a_write_leaves_a_beginning_of_the_log(
    sizes: list[int], cut: int, second_cut: int, flush_at: int
) -> None:
    disk = MemoryFileSystem()
    log = load(disk)
    disk.crash_after(cut)
    whole: list[tuple[int, bytes | None]] = []
    acked = recovery_point = 0
    try:
        for number, count in enumerate(sizes):
            whole += [(len(whole) + i, b"%d" % number) for i in range(count)]
            log.append_as_leader(batch(number, count, acked), number // 4, NOW + number)
            acked = len(whole)
            if number == flush_at:
                log.flush(NOW)
                recovery_point = log.recovery_point
    except SimulatedCrash:
        pass
    disk.restart()
    disk.crash_after(second_cut)  # recovery is cut off too
    try:
        log = load(disk, recovery_point)
    except SimulatedCrash:
        disk.restart()
        log = load(disk, recovery_point)
    disk.restart()
    check_whole(log, whole, acked)
    if log.log_end_offset:
        epochs = [
            header.partition_leader_epoch
            for s in log.segments
            for _, header in iter_headers(s.log.pread(s.size, 0))
        ]
        assert log.latest_epoch == max(epochs)
        assert log.producer_state_manager.producers[1].last_sequence == log.log_end_offset - 1
    before = log.log_end_offset
    assert log.append_as_leader(batch(99, 2, before), 50, NOW).first_offset == before, (
        "the producer goes on where the log ends"
    )


@given(sizes=batch_sizes, flush_at=st.integers(0, 25), seed=st.integers(0, 2**32))
@example(
    sizes=[1, 3, 4, 1, 5, 2, 5, 5, 4], flush_at=25, seed=9385
)  # a first segment lost whole batches
@QUICK
def test_a_power_failure_takes_only_what_was_not_flushed(
    sizes: list[int], flush_at: int, seed: int
) -> None:
    disk = MemoryFileSystem()
    log = load(disk)
    whole: list[tuple[int, bytes | None]] = []
    flushed = 0
    for number, count in enumerate(sizes):
        log.append_as_leader(batch(number, count, len(whole)), number // 4, NOW + number)
        whole += [(len(whole) + i, b"%d" % number) for i in range(count)]
        if number == flush_at:
            log.flush(NOW)
            flushed = log.recovery_point
    disk.lose_power(random.Random(seed))
    check_whole(load(disk, flushed), whole, flushed)


def follow(log: Log, count: int, epoch: int) -> None:
    """Append a batch as the leader of `epoch` would have stored it."""
    data = bytearray(build_batch([Record(i, NOW, b"k", b"v") for i in range(count)]))
    data[:8] = log.log_end_offset.to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    log.append_as_follower(bytes(data), NOW)


def epochs_in_the_batches(log: Log) -> list[tuple[int, int]]:
    """Return each epoch and its first offset, as the stored batches name them."""
    found: list[tuple[int, int]] = []
    for segment in log.segments:
        for _, header in iter_headers(segment.log.pread(segment.size, 0)):
            if not found or header.partition_leader_epoch > found[-1][0]:
                found.append((header.partition_leader_epoch, header.base_offset))
    return found


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
            st.tuples(st.just("cut"), st.integers(0, 6), st.just(0)),
            st.tuples(st.sampled_from(["worker", "flush"]), st.just(0), st.just(0)),
        ),
        max_size=40,
    ),
    clean=st.booleans(),
)
@example(
    steps=[("append", 0, 4), ("append", 1, 2), ("worker", 0, 0), ("cut", 2, 0), ("append", 0, 2)],
    clean=False,
)  # epoch 1 wrote nothing that remains
@example(
    steps=[*[("append", 1, 4)] * 20, ("flush", 0, 0)], clean=False
)  # most segments are not read again
@example(
    steps=[*[("append", 0, 1)] * 2, ("append", 0, 2), *[("append", 0, 4)] * 5], clean=False
)  # the active segment, whose index is built again, does not begin the epoch
@settings(QUICK, max_examples=200)
def test_epochs_whose_file_waits_for_a_worker_are_found_in_the_batches(
    steps: list[tuple[str, int, int]], clean: bool
) -> None:
    """A worker writes the file of leader epochs some time after an epoch's first record was
    appended, and a kill may come before that. A clean end always writes the file.
    """
    disk = MemoryFileSystem()
    log = load(disk)
    log.watch(None, lambda: None)  # a log manager that leaves the writing to a worker
    for step, number, count in steps:
        if step == "append":
            follow(log, count, max(log.latest_epoch, 0) + number)
        elif step == "cut":
            log.truncate_to(max(log.log_end_offset - number, 0), NOW)
        elif step == "worker":
            log.leader_epoch_cache.write()
        else:
            log.flush(NOW)
    known = epochs_in_the_batches(log)
    assert log.leader_epoch_cache.entries == known
    recovery_point = log.recovery_point
    if clean:
        log.close()
    else:
        disk.restart()
    again, _ = load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        disk,
        CONFIG,
        recovery_point=recovery_point,
        clean_shutdown=clean,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    assert again.leader_epoch_cache.entries == known


@given(sizes=batch_sizes, garbage=st.binary(max_size=300))
@QUICK
def test_any_garbage_behind_the_end_is_cut_off(sizes: list[int], garbage: bytes) -> None:
    disk = MemoryFileSystem()
    log = load(disk)
    whole: list[tuple[int, bytes | None]] = []
    for number, count in enumerate(sizes):
        log.append_as_leader(batch(number, count, len(whole)), 0, NOW + number)
        whole += [(len(whole) + i, b"%d" % number) for i in range(count)]
    disk.open(log.active_segment.log.path).append([garbage])
    again = load(disk, log.active_segment.base_offset)
    assert values(again) == whole


@given(sizes=batch_sizes, at=st.integers(0, 10_000), value=st.integers(1, 255))
@QUICK
def test_one_flipped_byte_leaves_a_beginning_of_the_log(
    sizes: list[int], at: int, value: int
) -> None:
    disk = MemoryFileSystem()
    log = load(disk)
    whole: list[tuple[int, bytes | None]] = []
    for number, count in enumerate(sizes):
        log.append_as_leader(batch(number, count, len(whole)), 0, NOW + number)
        whole += [(len(whole) + i, b"%d" % number) for i in range(count)]
    segment = log.segments[at % len(log.segments)]
    file = disk.open(segment.log.path)
    at %= file.size()
    begin = max(p for p, _ in iter_headers(file.pread(file.size(), 0)) if p <= at)
    if begin <= at < begin + 8 or begin + 12 <= at < begin + 16:
        return  # base offset and leader epoch lie outside the checksum
    file.pwrite(bytes((file.pread(1, at)[0] ^ value,)), at)
    again = load(disk)
    found = values(again)
    assert found == whole[: len(found)]
    assert len(found) < len(whole)
