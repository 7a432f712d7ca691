"""Throttled replication between real brokers takes as long as the throttle says.

The lower bound of that time is exact, whatever the machine. A broker sends throttled records only
while their rate is within the bound. So within a window of 11 s, N bytes need at least (N - one
fetch) / bound seconds from the first fetch on. Simulator tests show the upper bound.
"""

import io
import json
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.tools import reassign_partitions
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.replication import (
    FetcherConnected,
    IsrExpanded,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
from tests.cluster.watcher import Watcher
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

BYTES = 3_000_000
BOUND = 500_000
ONE_FETCH = 100_000
LEAST_S = (BYTES - ONE_FETCH) / BOUND
RECORD = 10_000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(brokers=2, props={"replica.fetch.max.bytes": str(ONE_FETCH)}) as cluster:
        yield cluster


@pytest.fixture
def watcher(cluster: Cluster) -> Iterator[Watcher]:
    watcher = Watcher(cluster.folder)
    yield watcher
    watcher.close()


def admin_of(cluster: Cluster) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            # Refresh the metadata often. Otherwise the client requests metadata once when a broker
            # goes, may get the old controller, and then may wait for it for minutes.
            "topic.metadata.refresh.interval.ms": 500,
            "log_level": 0,
        }
    )


def write(cluster: Cluster, topic: str) -> None:
    """Write BYTES in batches of one record."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": 1,
            "batch.num.messages": 1,
            "log_level": 0,
        }
    )
    for _ in range(BYTES // RECORD):
        producer.produce(topic, b"x" * RECORD, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def set_configs(admin: AdminClient, kind: ResourceType, name: str, configs: dict[str, str]) -> None:
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in configs.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def is_of(cls: type, broker: int):
    return lambda e: isinstance(e.event, cls) and e.source == Source.of_broker(broker)


def copied_in_s(watcher: Watcher, since_us: int, topic: str) -> float:
    """Return the time, in seconds, from the follower's connection to its entry into the ISR. The
    follower connects just before its first fetch.
    """
    connected = watcher.wait(is_of(FetcherConnected, 1), "the follower connects", since_us)

    def grew(e: Envelope) -> bool:
        return isinstance(e.event, IsrExpanded) and e.event.topic == topic

    return (watcher.wait(grew, "the follower is in sync", since_us).mono_us - connected.mono_us) / (
        1_000_000
    )


def test_a_stopped_follower_catches_up_at_the_throttled_rate(
    cluster: Cluster, watcher: Watcher
) -> None:
    admin = admin_of(cluster)
    made = NewTopic("slow", 1, replica_assignment=[[0, 1]])
    admin.create_topics([made])["slow"].result(PATIENCE_S)
    cluster.stop(1)
    write(cluster, "slow")
    set_configs(admin, ResourceType.TOPIC, "slow", {"leader.replication.throttled.replicas": "0:0"})
    set_configs(admin, ResourceType.BROKER, "0", {"leader.replication.throttled.rate": str(BOUND)})
    since_us = time.monotonic_ns() // 1000
    cluster.start(1)
    assert copied_in_s(watcher, since_us, "slow") >= LEAST_S
    began = watcher.wait(is_of(ReplicationThrottleBegan, 0), "the leader throttles").event
    assert isinstance(began, ReplicationThrottleBegan)
    assert (began.side, began.bound, began.topic) == ("leader", BOUND, "slow")
    assert cluster.replica(1, "slow", 0).joinpath(f"{0:020}.log").stat().st_size > BYTES


def test_a_reassignment_is_throttled_until_verify_removes_the_throttle(
    cluster: Cluster, watcher: Watcher, tmp_path: Path
) -> None:
    admin = admin_of(cluster)
    admin.create_topics([NewTopic("moved", 1, replica_assignment=[[0]])])["moved"].result(
        PATIENCE_S
    )
    write(cluster, "moved")
    plan = tmp_path / "move.json"
    plan.write_text(
        json.dumps(
            {
                "version": 1,
                "partitions": [{"topic": "moved", "partition": 0, "replicas": [1]}],
            }
        )
    )

    def reassign(*words: str) -> str:
        told = io.StringIO()
        with redirect_stdout(told), redirect_stderr(told):
            reassign_partitions.main(
                [
                    "--bootstrap-server",
                    cluster.bootstrap_servers,
                    "--reassignment-json-file",
                    str(plan),
                    *words,
                ]
            )
        return told.getvalue()

    since_us = time.monotonic_ns() // 1000
    started = reassign("--execute", "--throttle", str(BOUND))
    assert "no effect" not in started
    assert copied_in_s(watcher, since_us, "moved") >= LEAST_S
    wait_for(lambda: "is complete" in reassign("--verify"), "the move is complete")
    # the follower holds itself back before the leader has to
    began = watcher.wait(is_of(ReplicationThrottleBegan, 1), "the follower throttles").event
    assert isinstance(began, ReplicationThrottleBegan)
    assert (began.side, began.bound, began.topic) == ("follower", BOUND, "moved")
    ended = watcher.wait(is_of(ReplicationThrottleEnded, 1), "the throttle is removed").event
    assert isinstance(ended, ReplicationThrottleEnded)
    assert ended.reason in ("its rate was removed", "no replica is throttled any more")
    assert ended.bytes > BYTES - BOUND - ONE_FETCH
