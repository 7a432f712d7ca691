import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.replication.offset_lookup import legacy_offsets_before
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 9000


def log_of(release: str, now_ms: int) -> Log:
    """Return a log that ends at offset 25. Its segments begin at 0, 10 and 20, and the newest
    records of the segments have the times 1000, 1500 and 2000.
    """
    clock = [0]
    disk = MemoryFileSystem(now_ms=lambda: clock[0])
    log, _ = load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        disk,
        LogConfig.parse({"message.format.version": release}),
        now_ms=now_ms,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    for time, count in ((1000, 10), (1500, 10), (2000, 5)):
        if log.log_end_offset:
            log.roll(time)
        clock[0] = time
        log.append_as_leader(
            build_records(
                [Record(i, time - 10 + i, None, b"v") for i in range(count - 1)]
                + [Record(count - 1, time, None, b"v")],
                1,
            ),
            0,
            time,
        )
    return log


@pytest.mark.parametrize("release", ["0.9.0", "2.0"])
@pytest.mark.parametrize(
    ("timestamp", "count", "offsets"),
    [
        (-1, 5, [25, 20, 10, 0]),
        (-1, 1, [25]),
        (-1, 0, []),
        (-2, 5, [0]),
        (1500, 5, [10, 0]),
        (1500, 1, [10]),
        (500, 5, []),
        (NOW - 1, 5, [20, 10, 0]),
        (NOW, 2, [25, 20]),
    ],
)
def test_where_segments_begin(release: str, timestamp: int, count: int, offsets: list[int]) -> None:
    """Messages of v0 have no time. So the time of a segment is that of its file, which was last
    written at the same times.
    """
    assert legacy_offsets_before(log_of(release, 0), timestamp, count, None, NOW) == offsets


def test_a_negative_number_of_offsets_is_refused() -> None:
    with pytest.raises(KafkaException) as refused:
        legacy_offsets_before(log_of("2.0", 0), -1, -3, None, NOW)
    assert refused.value.error is Errors.UNKNOWN_SERVER_ERROR


def test_an_empty_segments_end_does_not_count_and_consumers_see_up_to_the_high_watermark() -> None:
    log = log_of("2.0", 0)
    assert legacy_offsets_before(log, -1, 5, 17, NOW) == [17, 10, 0]
    assert legacy_offsets_before(log, -1, 5, 25, NOW) == [25, 20, 10, 0]
    log.roll(NOW)
    assert legacy_offsets_before(log, -1, 5, None, NOW) == [
        25,
        20,
        10,
        0,
    ], "the empty segment begins there"


def test_list_offsets_v0_names_segments_and_the_end() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    for i in range(4):
        cluster.produce(str(i), acks=1)
    manager = cluster.leader.manager
    now_ms = cluster.time.milliseconds()
    for timestamp, replica_id, expected in (
        (-1, -2, [4, 0]),
        (-2, -2, [0]),
        (now_ms, -2, [4, 0]),
        (now_ms - 1, -2, []),
        (-1, -1, [0, 0]),
    ):
        assert manager.offset_lookup.legacy_fetch_offsets(T, timestamp, 10, replica_id) == expected
    assert manager.offset_lookup.legacy_fetch_offsets(T, -1, 1, -2) == [4]
    assert manager.offset_lookup.legacy_fetch_offsets(T, -1, 0, -2) == []
    with pytest.raises(KafkaException) as elsewhere:
        cluster.brokers[1].manager.offset_lookup.legacy_fetch_offsets(T, -1, 1, -1)
    assert elsewhere.value.error is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_new_leader_does_not_answer_with_offsets_that_could_go_backward() -> None:
    """KIP-207: its HW has not reached the start of its epoch yet."""
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    cluster.produce("a", acks=1)
    cluster.fetch(1, 2)
    cluster.elect(1, (1, 2))
    for timestamp in (-1, 1_600_000_000_000):
        with pytest.raises(KafkaException) as behind:
            cluster.leader.manager.offset_lookup.fetch_offset_for_timestamp(T, timestamp, -1)
        assert behind.value.error is Errors.OFFSET_NOT_AVAILABLE
    for _ in range(2):
        cluster.fetch(2)
    found = cluster.leader.manager.offset_lookup.fetch_offset_for_timestamp(T, -1, -1)
    assert found is not None
    assert found.offset == 1
