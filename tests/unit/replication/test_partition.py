"""One partition on one broker: it leads, it follows, it waits."""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.turns import at_once
from kafka_edu.sim.stepped_cluster import SteppedCluster
from tests.unit.replication.logs import in_loop
from tests.unit.replication.test_controller_orders import stop


def test_leader_then_follower_then_leader() -> None:
    cluster = SteppedCluster()
    broker = cluster.brokers[0]
    cluster.elect(0, (0, 1))
    assert broker.partition.is_leader
    assert broker.fetchers.by_leader == {}
    cluster.elect(1, (0, 1))
    assert not broker.partition.is_leader
    assert len(broker.fetchers.by_leader[1]) == 1
    assert broker.partition.isr == ()
    cluster.elect(0, (0, 1))
    assert broker.partition.is_leader
    assert broker.fetchers.by_leader == {}
    names = [envelope.name for envelope in broker.ring.events]
    assert [n for n in names if n.startswith("Became")] == [
        "BecameLeader",
        "BecameFollower",
        "BecameLeader",
    ]


def test_a_partition_without_a_leader_waits() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.state = cluster.state._replace(leader=-1, leader_epoch=1)
    cluster.tell(0)
    assert cluster.brokers[0].partition.leader == -1
    with pytest.raises(KafkaException) as gone:
        cluster.brokers[0].partition.log_for_request(-1, only_from_leader=True)
    assert gone.value.error is Errors.NOT_LEADER_OR_FOLLOWER


@in_loop
def test_a_deleted_leader_answers_who_waits() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    produced = cluster.produce("a")
    fetched = cluster.consume(0, max_wait_ms=500)
    at_once(cluster.leader.manager.controller_orders.stop_replicas(stop(2, delete=True), 2))
    assert produced.error() is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert [read.error for read in fetched] == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
