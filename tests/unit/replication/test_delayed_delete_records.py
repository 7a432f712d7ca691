"""A deletion of records waits until the logs of all live replicas start behind the deleted
records.
"""

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.purgatory.delayed_operation import CompletedBy
from kafka_edu.replication.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsStatus
from kafka_edu.replication.delete_records import delete_records_on_leader
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from tests.unit.replication.test_delete_records import committed

Statuses = dict[TopicPartition, DeleteRecordsStatus]


class TwoAlive(MetadataCache):
    """Knows brokers 0 and 1 as alive."""

    def get_alive_brokers(self) -> list[object]:  # type: ignore[override]
        return [type("Broker", (), {"id": number})() for number in (0, 1)]


def waiting(cluster: SteppedCluster, offset: int) -> tuple[DelayedDeleteRecords, list[Statuses]]:
    """Return a deletion up to `offset`, and a list that gets its answer."""
    answers: list[Statuses] = []
    partition = cluster.leader.partition
    required = delete_records_on_leader(partition, offset)
    operation = DelayedDeleteRecords(
        30_000,
        {T: DeleteRecordsStatus.waiting(required)},
        cluster.leader.manager.partitions,
        TwoAlive(0),
        answers.append,
    )
    return operation, answers


def test_it_waits_for_the_follower_and_says_what_for() -> None:
    cluster = committed(5, brokers=2)
    operation, answers = waiting(cluster, 4)
    assert not operation.try_complete()
    assert answers == []
    (requirement,) = operation.why_waiting()
    assert requirement[:4] == ("t-0", "low watermark", 4, 0)
    cluster.fetch(1)  # its answer brings the leader's new start
    cluster.fetch(1)  # and this one brings the follower's own
    assert operation.try_complete()
    (answer,) = answers
    assert (answer[T].error, answer[T].low_watermark) == (Errors.NONE, 4)
    assert operation.why_waiting() == ()
    assert operation.ended_by(CompletedBy.EVENT, T) == "the last replica gave up the records"


def test_when_the_time_is_up_the_records_are_gone_all_the_same() -> None:
    cluster = committed(5, brokers=2)
    operation, answers = waiting(cluster, 4)
    operation.try_complete()
    operation.force_complete()
    (answer,) = answers
    assert answer[T].error is Errors.REQUEST_TIMED_OUT
    assert cluster.leader.log.log_start_offset == 4


def test_a_leader_that_is_deposed_ends_the_wait() -> None:
    cluster = committed(5, brokers=2)
    operation, answers = waiting(cluster, 4)
    leader = cluster.leader
    cluster.elect(1, (0, 1))
    assert not leader.partition.is_leader
    assert operation.try_complete()
    (answer,) = answers
    assert answer[T].error is Errors.NOT_LEADER_OR_FOLLOWER
    assert operation.ended_by(CompletedBy.EVENT, T) == "not leader any more"
