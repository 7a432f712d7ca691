"""What a crash leaves on the disk, and how it is recovered. Each case has its own log (spec S5)."""

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import LogLoaded, LogRecovered
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
D = "/d/t-0"
CONFIG = LogConfig.parse(
    {"segment.bytes": "640", "segment.index.bytes": "480", "index.interval.bytes": "100"}
)
FIRST, SECOND = f"{D}/00000000000000000000", f"{D}/00000000000000000014"


def load(
    disk: MemoryFileSystem,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    config: LogConfig = CONFIG,
) -> tuple[Log, list[Event]]:
    return load_log(
        TopicPartition("t", 0),
        "/d",
        D,
        disk,
        config,
        clean_shutdown=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )


def written(*, clean: bool = False) -> tuple[MemoryFileSystem, Log]:
    """Twenty batches of two records, written by two leaders, in three segments that begin at 0, 14
    and 28.
    """
    disk = MemoryFileSystem()
    log, _ = load(disk)
    for i in range(20):
        batch = build_batch(
            [Record(j, NOW + i, b"k", b"v" * 5) for j in range(2)],
            producer_id=1,
            producer_epoch=0,
            base_sequence=2 * i,
        )
        log.append_as_leader(batch, i // 12, NOW + i)
    if clean:
        log.close()
    return disk, log


def spoil(disk: MemoryFileSystem, path: str, content: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.append([content])


def stored(log: Log) -> list[int]:
    found: list[int] = []
    for segment in log.segments:
        data = segment.log.pread(segment.size, 0)
        found += [o for _, h in iter_headers(data) for o in range(h.base_offset, h.next_offset)]
    return found


def entries(log: Log) -> list[tuple[object, ...]]:
    return [
        tuple(index.entry(i) for i in range(index.entries))
        for segment in log.segments
        for index in (segment.offset_index, segment.time_index)
    ]


def test_after_a_clean_end_nothing_is_read_again() -> None:
    disk, before = written(clean=True)
    log, events = load(disk, clean=True)
    assert [type(e) for e in events] == [LogLoaded]
    assert [s.base_offset for s in log.segments] == [0, 14, 28]
    assert (log.log_end_offset, log.recovery_point) == (40, 40)
    assert stored(log) == list(range(40))
    assert [s.largest_timestamp for s in log.segments] == [NOW + 6, NOW + 13, NOW + 19]
    assert log.leader_epoch_cache.entries == before.leader_epoch_cache.entries == [(0, 0), (1, 24)]


def test_after_a_kill_everything_is_checked_and_the_indexes_are_the_same_again() -> None:
    disk, before = written()
    had = entries(before)
    log, events = load(disk)
    recovered = events[0]
    assert isinstance(recovered, LogRecovered)
    assert (recovered.segments, recovered.truncated_bytes, recovered.log_end_offset) == (3, 0, 40)
    assert entries(log)[:2] == had[:2]
    assert entries(log)[4] == had[4]
    assert (log.log_end_offset, log.recovery_point) == (40, 0)
    assert (
        log.append_as_leader(build_batch([Record(0, NOW, None, b"x")]), 1, NOW).first_offset == 40
    )


def test_only_segments_from_the_recovery_point_on_are_read() -> None:
    disk, _ = written()
    _, events = load(disk, recovery_point=20)
    assert isinstance(events[0], LogRecovered)
    assert events[0].segments == 2


def test_a_torn_tail_is_cut_off() -> None:
    disk, log = written()
    active = log.active_segment
    disk.open(active.log.path).truncate(active.size - 1)
    log, events = load(disk, recovery_point=28)
    assert isinstance(events[0], LogRecovered)
    assert events[0].reason == "at byte 435: the last batch is incomplete"
    assert stored(log) == list(range(38))
    assert log.log_end_offset == 38
    assert log.producer_state_manager.producers[1].last_sequence == 37


@pytest.mark.parametrize(
    "garbage",
    [b"\0" * 500, b"\xff" * 500, b"abc", bytes(range(256)), b"\0" * 16 + b"\x02" + b"\0" * 80],
    ids=range(5),
)
def test_a_garbage_tail_is_cut_off(garbage: bytes) -> None:
    disk, log = written()
    disk.open(log.active_segment.log.path).append([garbage])
    log, events = load(disk, recovery_point=28)
    assert isinstance(events[0], LogRecovered)
    assert events[0].truncated_bytes == len(garbage)
    assert stored(log) == list(range(40))


def test_behind_a_bad_batch_nothing_counts_not_even_later_segments() -> None:
    disk, _ = written()
    file = disk.open(SECOND + ".log")
    file.pwrite(b"\xee", 200)
    log, _ = load(disk)
    assert [s.base_offset for s in log.segments] == [0, 14]
    assert stored(log) == list(range(log.log_end_offset)) == list(range(18))
    assert not [n for n in disk.list(D) if n.startswith("00000000000000000028.")], (
        "its files and its snapshot are gone"
    )
    assert log.leader_epoch_cache.entries == [(0, 0)], (
        "the second leader's records are gone, and so is its epoch"
    )


def lose_the_end_of_the_first_segment(disk: MemoryFileSystem) -> None:
    """Cut the file of offsets 0 to 13 behind offset 9, where a batch ends."""
    (keep,) = [at for at, h in iter_headers(disk.read(FIRST + ".log")) if h.base_offset == 10]
    disk.open(FIRST + ".log").truncate(keep)


def test_behind_missing_offsets_no_later_segment_counts() -> None:
    disk, before = written()
    lose_the_end_of_the_first_segment(disk)
    log, events = load(disk)
    assert [s.base_offset for s in log.segments] == [0]
    assert stored(log) == list(range(log.log_end_offset)) == list(range(10))
    recovered = events[0]
    assert isinstance(recovered, LogRecovered)
    assert recovered.truncated_bytes == sum(s.size for s in before.segments[1:])
    assert recovered.reason == "the offsets 10 to 13 are missing"
    assert not [n for n in disk.list(D) if n.startswith(("00000000000000000014.", "0000000002"))]
    assert log.leader_epoch_cache.entries == [(0, 0)]
    assert log.producer_state_manager.producers[1].last_sequence == 9
    batch = build_batch([Record(0, NOW, None, b"x")])
    assert log.append_as_leader(batch, 2, NOW).first_offset == 10


def test_missing_offsets_are_no_loss_in_a_compacted_log() -> None:
    disk, _ = written()
    lose_the_end_of_the_first_segment(disk)
    compacted = LogConfig.parse(
        {"segment.bytes": "640", "segment.index.bytes": "480", "cleanup.policy": "compact"}
    )
    log, _ = load(disk, config=compacted)
    assert stored(log) == [*range(10), *range(14, 40)]
    assert log.log_end_offset == 40


def test_missing_offsets_below_the_recovery_point_are_not_looked_for() -> None:
    disk, _ = written()
    lose_the_end_of_the_first_segment(disk)
    log, _ = load(disk, recovery_point=14)
    assert stored(log) == [*range(10), *range(14, 40)]
    cut, _ = load(disk, recovery_point=13)
    assert cut.log_end_offset == 10


def test_a_flipped_bit_below_the_recovery_point_is_not_looked_for() -> None:
    disk, _ = written()
    disk.open(FIRST + ".log").pwrite(b"\xee", 90)
    log, _ = load(disk, recovery_point=40)
    assert log.log_end_offset == 40


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize(
    "content", [None, b"", b"\0" * 480, b"abc"], ids=["missing", "empty", "full length", "torn"]
)
def test_a_bad_index_is_built_again(suffix: str, content: bytes | None) -> None:
    disk, before = written(clean=True)
    good, _ = load(disk, clean=True)
    for segment in good.segments:
        segment.offset_index.load()
        segment.time_index.load()
    had = entries(good)
    good.close()
    disk.remove(FIRST + suffix)
    if content is not None:
        spoil(disk, FIRST + suffix, content)
    log, _ = load(disk, clean=True)
    for segment in log.segments:
        segment.time_index.load()
    if content != b"":
        assert entries(log)[:2] == had[:2]
    assert stored(log) == list(range(40))
    for offset in range(40):
        data = part_bytes(log.read(offset, 10_000).records)
        assert next(iter_headers(data))[1].base_offset == offset // 2 * 2
    assert log.log_end_offset == before.log_end_offset


def test_an_index_of_a_shorter_log_is_not_trusted() -> None:
    disk, _ = written(clean=True)
    disk.open(FIRST + ".log").truncate(90)
    log, events = load(disk, clean=True)
    assert isinstance(events[0], LogRecovered)
    assert "points past the end" in events[0].reason
    assert log.convert_to_offset_metadata(0).relative_position_in_segment == 0


def test_a_torn_epoch_checkpoint_is_made_again_from_the_batches() -> None:
    disk, _ = written(clean=True)
    spoil(disk, f"{D}/leader-epoch-checkpoint", b"0\n2\n0 0\n1")
    log, _ = load(disk, clean=True)
    assert log.leader_epoch_cache.entries == [(0, 0), (1, 24)]


def test_leftovers_are_cleared_away() -> None:
    disk, _ = written()
    for name in (
        "00000000000000000099.log.deleted",
        "00000000000000000000.log.cleaned",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000077.index",
    ):
        disk.open(f"{D}/{name}").append([b"x"])
    disk.open(f"{D}/partition.metadata").append([b"version: 0"])
    load(disk)
    left = disk.list(D)
    assert not [
        n
        for n in left
        if n.endswith((".deleted", ".cleaned", ".tmp")) or n.startswith("00000000000000000077")
    ]
    assert "partition.metadata" in left, "what is not ours stays"


def test_a_compacted_segment_that_was_being_put_in_place_is_put_there() -> None:
    disk, _ = written(clean=True)
    assert [h.base_offset for _, h in iter_headers(disk.read(SECOND + ".log"))][-1] == 26
    one = next(iter_headers(disk.read(FIRST + ".log")))[1].size_in_bytes
    last = disk.read(SECOND + ".log")[-one:]
    compacted = disk.read(FIRST + ".log")[:one] + last
    disk.open(FIRST + ".log.swap").append([compacted])
    log, _ = load(disk, clean=True)
    assert [s.base_offset for s in log.segments] == [0, 28]
    assert stored(log)[:4] == [0, 1, 26, 27]
    assert next(iter_headers(part_bytes(log.read(5, 10_000).records)))[1].base_offset == 26, (
        "reading goes on behind the gap"
    )


def test_a_log_start_offset_behind_all_records_begins_anew_there() -> None:
    disk, _ = written(clean=True)
    log, _ = load(disk, clean=True, log_start_offset=100)
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)
    within, _ = load(written(clean=True)[0], clean=True, log_start_offset=17)
    assert (within.log_start_offset, within.log_end_offset) == (17, 40)
    assert within.leader_epoch_cache.entries == [(0, 17), (1, 24)]


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4])
def test_a_log_that_mixes_formats_is_recovered_and_cut_where_it_is_torn(
    codec: CompressionType,
) -> None:
    disk = MemoryFileSystem()
    disk.make_dirs(D)
    entries = [
        build_records([Record(3 * n + i, 5 + n, b"k", b"v" * 60) for i in range(3)], n % 3, codec)
        for n in range(9)
    ]
    disk.open(FIRST + ".log").append(
        [*entries, build_records([Record(27, 99, None, b"torn")], 1)[:-1]]
    )
    log, events = load(disk)
    assert log.log_end_offset == 27
    assert any(isinstance(event, LogRecovered) and event.truncated_bytes == 37 for event in events)
    for offset in range(27):
        assert offset in [
            r.offset for r in read_all(part_bytes(log.read(offset, 1 << 20).records))[:3]
        ]
    found = log.fetch_offset_by_timestamp(9)
    assert found is not None
    assert (found.offset, found.timestamp) == (12, 9), "v1; the v0 messages before have no time"
    log.close()
    again, _ = load(disk, clean=True)
    assert again.log_end_offset == 27
    again.truncate_to(10, NOW)
    assert again.log_end_offset == (10 if codec is CompressionType.NONE else 9), (
        "a v1 wrapper goes as a whole"
    )


def test_power_failure_loses_only_what_was_not_flushed() -> None:
    disk, log = written()
    log.flush(NOW)
    log.append_as_leader(build_batch([Record(0, NOW, None, b"x")]), 1, NOW)
    assert log.recovery_point == 40
    disk.lose_power()
    again, _ = load(disk, recovery_point=40)
    assert stored(again) == list(range(40))
