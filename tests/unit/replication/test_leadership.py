"""A listener learns when this broker begins and ceases to lead a partition of the listener's
topic.
"""

from kafka_edu.common.turns import at_once
from kafka_edu.protocol.messages.stop_replica import StopReplicaPartitionV0, StopReplicaRequest
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from tests.unit.replication.logs import in_loop


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[str, int, int | None]] = []

    def on_election(self, partition: int, leader_epoch: int) -> None:
        self.told.append(("elected", partition, leader_epoch))

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        self.told.append(("resigned", partition, leader_epoch))


@in_loop
def test_elected_once_resigned_and_removed() -> None:
    cluster = SteppedCluster()
    listener, other = Listener(), Listener()
    manager = cluster.brokers[0].manager
    manager.leadership.listen(T.topic, listener)
    manager.leadership.listen("another", other)
    cluster.elect(0, (0, 1))
    assert listener.told == [("elected", 0, 0)]
    cluster.elect(0, (0, 1))
    assert listener.told == [("elected", 0, 0)], "it leads already"
    cluster.elect(1, (0, 1))
    assert listener.told[1:] == [("resigned", 0, 2)]
    stop = StopReplicaRequest(
        controller_epoch=9,
        delete_partitions=True,
        ungrouped_partitions=[
            StopReplicaPartitionV0(topic_name=T.topic, partition_index=T.partition)
        ],
    )
    at_once(manager.controller_orders.stop_replicas(stop, 0))
    assert listener.told[2:] == [("resigned", 0, None)]
    assert other.told == []
