"""Markers are written into the logs that this broker leads."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.coordinator.transaction.marker_writer import MarkerWriter, TxnMarker
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.sim.stepped_cluster import SteppedCluster, T

Results = dict[TopicPartition, Errors]
Completed = list[tuple[int, list[int], bool]]


def written(
    cluster: SteppedCluster, *partitions: TopicPartition, committed: bool = True
) -> tuple[list[Results], Completed]:
    results: list[Results] = []
    completed: Completed = []
    manager = cluster.leader.manager
    writer = MarkerWriter(
        manager.partitions,
        manager.append,
        cluster.time,
        30_000,
        lambda producer, offsets, commit: completed.append((producer, offsets, commit)),
    )
    writer.write(TxnMarker(9, 0, 4, committed, partitions), results.append)
    return results, completed


def test_a_marker_has_the_producer_and_the_epoch_of_its_coordinator() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    (result,), completed = written(cluster, T, committed=False)
    assert result == {T: Errors.NONE}
    assert completed == [], "no offsets were committed there"
    data = part_bytes(cluster.leader.log.read(0, 1 << 20).records)
    ((_, header),) = list(iter_headers(data))
    assert (header.producer_id, header.is_control, header.is_transactional) == (9, True, True)
    marker = read_end_transaction_marker(memoryview(data))
    assert marker is not None
    assert (marker.type, marker.coordinator_epoch) == (ControlRecordType.ABORT, 4)


def test_a_partition_that_is_not_here_is_unknown_and_the_others_get_their_marker() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    elsewhere = TopicPartition(GROUP_METADATA_TOPIC_NAME, 3)
    (result,), completed = written(cluster, T, elsewhere)
    assert result == {T: Errors.NONE, elsewhere: Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert completed == []
    assert cluster.leader.leo == 1


def test_without_any_partition_here_the_answer_comes_at_once() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    nowhere = TopicPartition("nowhere", 0)
    assert written(cluster, nowhere)[0] == [{nowhere: Errors.UNKNOWN_TOPIC_OR_PARTITION}]


def test_the_answer_waits_until_the_followers_have_the_marker() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    results, _ = written(cluster, T)
    assert results == []
    cluster.fetch(1)
    cluster.fetch(1)
    assert results == [{T: Errors.NONE}]
