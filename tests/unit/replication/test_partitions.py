"""All partitions that have a replica on a broker."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.turns import at_once
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from kafka_edu.trace.events.replication import PartitionProgress
from tests.unit.replication.test_controller_orders import stop


def test_a_failed_disk_takes_only_its_partition_offline() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    produced = cluster.produce("a")
    broker = cluster.leader
    broker.manager.partitions.take_offline(T)
    assert produced.error() is Errors.KAFKA_STORAGE_ERROR
    assert cluster.produce("b").error() is Errors.KAFKA_STORAGE_ERROR
    cluster.elect(0, (0, 1))
    assert broker.manager.partitions.get(T) is None
    stopped = at_once(broker.manager.controller_orders.stop_replicas(stop(2, delete=True), 2))
    assert stopped.errors == {T: Errors.KAFKA_STORAGE_ERROR}
    assert stopped.deleted == []
    assert not broker.manager.partitions.is_offline(T)


def test_snapshots_and_gauges_tell_what_a_dashboard_shows() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", "b", acks=1)
    cluster.time.advance(10)
    cluster.fetch(1)
    now_ms = cluster.time.hi_res_clock_ms()
    progress = PartitionProgress(
        log_start=0,
        hw=0,
        leo=2,
        remote_leos=((1, 0),),
        min_isr=1,
        remote_times=((1, now_ms, now_ms - 10),),
        last_stable=0,
    )
    [snapshot] = [e.event for e in cluster.leader.trace.snapshot() if e.name == "PartitionSnapshot"]
    assert snapshot == ("t", 0, 0, 0, (0, 1), (0, 1), progress, 1, (), ())
    [gauge] = [e.event for e in cluster.leader.trace.gauges() if e.name == "PartitionOffsets"]
    assert gauge == ("t", 0, progress)
