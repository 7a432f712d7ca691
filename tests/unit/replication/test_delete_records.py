"""Records below an offset are given up: by the leader at once, then by its followers (KIP-107)."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.delayed_delete_records import DeleteRecordsStatus
from kafka_edu.sim.stepped_cluster import SteppedCluster, T

Statuses = dict[TopicPartition, DeleteRecordsStatus]


def committed(records: int, brokers: int = 1) -> SteppedCluster:
    """A cluster whose partition has that many committed records."""
    cluster = SteppedCluster(brokers)
    cluster.elect(0, range(brokers))
    for number in range(records):
        cluster.produce(str(number), acks=1)
    for _ in range(3):
        cluster.fetch(*range(1, brokers))
    return cluster


def deleted(cluster: SteppedCluster, offsets: dict[TopicPartition, int]) -> list[Statuses]:
    """Return a list that gets the answer."""
    answers: list[Statuses] = []
    cluster.leader.manager.delete_records.delete_records(30_000, offsets, answers.append)
    return answers


def test_a_leader_without_followers_answers_at_once_with_its_new_start() -> None:
    cluster = committed(5)
    (answer,) = deleted(cluster, {T: 3})
    assert (answer[T].error, answer[T].low_watermark) == (Errors.NONE, 3)
    assert cluster.leader.log.log_start_offset == 3


def test_minus_one_stands_for_the_high_watermark() -> None:
    cluster = committed(5)
    (answer,) = deleted(cluster, {T: -1})
    assert (answer[T].error, answer[T].low_watermark) == (Errors.NONE, 5)


def test_an_offset_above_the_high_watermark_is_out_of_range_and_deletes_nothing() -> None:
    cluster = committed(5)
    (answer,) = deleted(cluster, {T: 6})
    assert answer[T].error is Errors.OFFSET_OUT_OF_RANGE
    assert cluster.leader.log.log_start_offset == 0


def test_one_partition_in_error_leaves_the_others_alone() -> None:
    cluster = committed(5)
    unknown, internal = TopicPartition("nowhere", 0), TopicPartition("__consumer_offsets", 0)
    (answer,) = deleted(cluster, {unknown: 1, internal: 1, T: 2})
    assert answer[unknown].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert answer[internal].error is Errors.INVALID_TOPIC_EXCEPTION
    assert (answer[T].error, answer[T].low_watermark) == (Errors.NONE, 2)


def test_nothing_to_delete_is_answered_at_once() -> None:
    assert deleted(committed(1), {}) == [{}]
