"""A fetch reads as far as its replica id and isolation level allow."""

from kafka_edu.common.errors import Errors
from kafka_edu.sim.stepped_cluster import SteppedCluster, batch


def test_from_v11_on_a_follower_serves_consumers_up_to_its_own_mark() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    for _ in range(2):
        cluster.produce("a", acks=1)
        cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.line() == "HW 2, LEO 2, remote 2 | HW 1, LEO 2"
    cluster.state = cluster.state._replace(leader=1)  # ask broker 1 without its being the leader
    [old] = cluster.consume(0, api_version=10)
    assert old.error is Errors.NOT_LEADER_OR_FOLLOWER
    [new] = cluster.consume(0, api_version=11)
    assert (new.error, new.size_in_bytes) == (Errors.NONE, len(batch("a")))
