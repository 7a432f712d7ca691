"""Read one partition's log: up to the reader's limit, with fencing, and at the end of an epoch."""

from functools import partial

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.fetch_params import FetchIsolation
from kafka_edu.replication.log_read_result import NO_VERSION, LogReadResult
from kafka_edu.replication.partition_reads import (
    end_for,
    may_skip,
    reaches,
    read_elsewhere,
    read_records,
    readable_bytes,
)
from kafka_edu.sim.stepped_cluster import SteppedCluster

#: A read of a follower, up to the log's end.
read_as_follower = partial(
    read_records,
    only_from_leader=True,
    isolation=FetchIsolation.LOG_END,
    min_one_message=True,
    hard_limit=False,
)


def two_records_of_which_one_is_committed() -> SteppedCluster:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("b", acks=1)
    return cluster


def test_fetch_v12_tells_where_the_logs_part_and_gives_no_records() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    for i in range(3):
        cluster.produce(str(i), acks=1)
    cluster.elect(0, (0,))
    cluster.produce("3", acks=1)
    read = partial(read_as_follower, cluster.leader.partition)
    past_the_end = read(9, 1000, current_leader_epoch=1, last_fetched_epoch=0)
    assert (past_the_end.error, past_the_end.diverging_epoch, past_the_end.size_in_bytes) == (
        Errors.NONE,
        (0, 3),
        0,
    )
    assert read(3, 1000, current_leader_epoch=1, last_fetched_epoch=0).diverging_epoch is None
    assert read(4, 1000, current_leader_epoch=1, last_fetched_epoch=1).diverging_epoch is None
    with pytest.raises(KafkaException) as newer:
        read(4, 1000, current_leader_epoch=1, last_fetched_epoch=5)
    assert newer.value.error is Errors.OFFSET_OUT_OF_RANGE


def test_a_consumer_reads_to_the_high_watermark_and_a_follower_to_the_log_end() -> None:
    cluster = two_records_of_which_one_is_committed()
    leader, follower = (broker.partition for broker in cluster.brokers)
    ends = [end_for(leader, isolation).message_offset for isolation in FetchIsolation]
    assert dict(zip(FetchIsolation, ends, strict=True)) == {
        FetchIsolation.LOG_END: 2,
        FetchIsolation.HIGH_WATERMARK: 1,
        FetchIsolation.TXN_COMMITTED: 1,
    }
    # a follower receives only the offset of the high watermark: the read looks its place up
    assert follower.local_log().high_watermark_metadata.message_offset_only
    place = end_for(follower, FetchIsolation.HIGH_WATERMARK)
    assert (place.message_offset, place.message_offset_only) == (1, False)
    assert follower.local_log().high_watermark_metadata == place


def test_readable_bytes_end_where_the_reader_must_stop() -> None:
    leader = two_records_of_which_one_is_committed().leader.partition
    start = LogOffsetMetadata(0, 0, 0)
    committed = readable_bytes(leader, start, -1, True, FetchIsolation.HIGH_WATERMARK)
    stored = readable_bytes(leader, start, -1, True, FetchIsolation.LOG_END)
    assert committed is not None
    assert stored is not None
    assert 0 < committed < stored == leader.local_log().size
    at_end = end_for(leader, FetchIsolation.HIGH_WATERMARK)
    assert readable_bytes(leader, at_end, -1, True, FetchIsolation.HIGH_WATERMARK) == 0
    elsewhere = LogOffsetMetadata(0, 7, 0)
    assert readable_bytes(leader, elsewhere, -1, True, FetchIsolation.LOG_END) is None
    with pytest.raises(KafkaException) as unknown:
        readable_bytes(leader, start, 9, True, FetchIsolation.LOG_END)
    assert unknown.value.error is Errors.UNKNOWN_LEADER_EPOCH
    assert [reaches(leader, LogOffsetMetadata(offset)) for offset in (2, 3)] == [True, False]


def test_a_session_may_skip_what_its_reader_has_read_to_the_end() -> None:
    cluster = two_records_of_which_one_is_committed()
    leader = cluster.leader.partition

    def read_at(offset: int) -> LogReadResult:
        return read_as_follower(
            leader, offset, 1_000, current_leader_epoch=0, last_fetched_epoch=-1
        )

    assert read_at(2).version == NO_VERSION, "the high watermark is not at the log's end"
    assert not may_skip(leader, 1, read_at(2))
    for _ in range(2):
        cluster.fetch(1)
    at_end = read_at(2)
    assert at_end.version == leader.version.value
    assert may_skip(leader, -1, at_end)
    assert may_skip(leader, 1, at_end)
    assert not may_skip(leader, 9, at_end), "no replica is assigned to broker 9"


def test_a_consumer_sent_elsewhere_gets_offsets_and_no_records() -> None:
    leader = two_records_of_which_one_is_committed().leader.partition
    read = read_elsewhere(leader, 0, 1)
    assert (read.preferred_read_replica, read.size_in_bytes) == (1, 0)
    assert (read.high_watermark, read.log_end_offset) == (1, 2)
