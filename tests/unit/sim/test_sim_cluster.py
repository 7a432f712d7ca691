"""A simulated cluster as a whole: what its end does."""

from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.supervisor import ProcessPaused

PAUSED = ProcessPaused(process="broker-1", child=Source.of_broker(1), pid=0)


def test_nobody_hears_of_a_cluster_that_is_closed() -> None:
    cluster = SimCluster(1)
    heard: list[Envelope] = []
    cluster.sink.listeners.append(heard.append)
    cluster.supervisor(PAUSED)
    assert [one.event for one in heard] == [PAUSED]
    kept = list(cluster.sink.events)
    assert kept[-1] == heard[0]
    cluster.close()
    cluster.supervisor(PAUSED)
    assert len(heard) == 1
    assert list(cluster.sink.events) == kept
