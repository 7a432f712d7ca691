"""When a producer is answered, and with what (spec R3; book 000 §6.3, figures 6-9 to 6-12)."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.stepped_cluster import Produced, SteppedCluster, T, batch
from kafka_edu.trace.events.purgatory import OperationsEndedSampled


@pytest.mark.parametrize(
    ("acks", "at_once", "after_followers"),
    [
        (0, Errors.NONE, Errors.NONE),
        (1, Errors.NONE, Errors.NONE),
        (-1, None, Errors.NONE),
        (2, Errors.INVALID_REQUIRED_ACKS, Errors.INVALID_REQUIRED_ACKS),
    ],
)
def test_the_table_of_acks(acks: int, at_once: Errors | None, after_followers: Errors) -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    answer = cluster.produce("a", acks=acks)
    assert answer.error() == at_once
    for _ in range(2):
        cluster.fetch(1, 2)
    assert answer.error() is after_followers
    assert cluster.leader.leo == (0 if acks == 2 else 1)


def test_below_min_insync_replicas_nothing_is_written_for_acks_all() -> None:
    cluster = SteppedCluster(3, min_isr=2)
    cluster.elect(0, (0,))
    assert cluster.produce("a").error() is Errors.NOT_ENOUGH_REPLICAS
    assert cluster.leader.leo == 0
    assert cluster.produce("a", acks=1).error() is Errors.NONE
    assert cluster.leader.leo == 1


def test_one_partition_in_error_leaves_the_others_alone() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = Produced()
    unknown = TopicPartition("nowhere", 0)
    cluster.leader.manager.append.append_records(
        30_000, -1, {unknown: batch("x"), T: batch("a")}, answer
    )
    assert answer.error() is None
    for _ in range(2):
        cluster.fetch(1)
    assert answer.error() is Errors.NONE
    assert answer.statuses is not None
    assert answer.statuses[unknown].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert list(answer.statuses) == [unknown, T]


def causes(cluster: SteppedCluster) -> list[str]:
    """Return the causes that ended operations of the leader's purgatories, counted since somebody
    watches the purgatories.
    """
    return [
        one.cause
        for envelope in cluster.leader.trace.gauges()
        if isinstance(envelope.event, OperationsEndedSampled)
        for one in envelope.event.state.ended
    ]
