"""A replication-offset-checkpoint that cannot be read is noticed before the broker is ready."""

import pytest

from kafka_edu.replication.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME
from kafka_edu.server.kafka_server import StartupError
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.log import LogDirFailed
from kafka_edu.trace.events.server import ServerStarted


def damaged(log_dirs: str) -> SimCluster:
    cluster = SimCluster(3, (1,), {"log.dirs": log_dirs})
    cluster.start_all()
    cluster.stop(1)
    disk = cluster.brokers[1].file_system
    disk.write_atomically(f"/a/{HIGH_WATERMARK_FILENAME}", b"nonsense\n")
    cluster.sink.events.clear()
    return cluster


def test_its_log_dir_is_offline_before_the_broker_has_started() -> None:
    cluster = damaged("/a,/b")
    cluster.start_all()
    failed, started = cluster.facts(LogDirFailed, ServerStarted)
    assert isinstance(failed.event, LogDirFailed)
    assert failed.event.log_dir == "/a"
    assert f"/a/{HIGH_WATERMARK_FILENAME} has a line" in failed.event.reason
    assert isinstance(started.event, ServerStarted)
    cluster.close()


def test_a_broker_with_no_other_dir_does_not_start_and_says_why() -> None:
    cluster = damaged("/a")
    with pytest.raises(StartupError, match=f"/a/{HIGH_WATERMARK_FILENAME} has a line"):
        cluster.start(1)
    assert cluster.facts(ServerStarted) == []
    cluster.close()
