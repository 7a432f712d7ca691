"""ZooKeeper's servers killed and paused under an acks=all producer (spec Z1).

No acked record is lost, and no broker loses its session. In Apache's ensemble of three servers, the
leader is killed or paused, and another server becomes the leader. The single embedded server starts
again with the content of its log.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from chapters.ch10_replication.kills import PARTITIONS, TOPIC
from chapters.demo_parts.numbered_clients import ConfluentProducer
from chapters.demo_parts.stored_records import compare, read_all
from kafka_edu.cli.demo_topic import create_topic, wait_until_in_sync
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import ZOOKEEPER, Source, SourceKind
from kafka_edu.trace.events.supervisor import ZooKeeperModeChanged
from kafka_edu.trace.trace_client import TraceClient
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed
from tests.cluster.processes import start_all
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.faults

RATE = 400


class Registration(NamedTuple):
    """The session behind a broker's or the controller's znode."""

    session: int
    created: int


@pytest.fixture(scope="module", params=["apache", "embedded"])
def shared(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    kind: str = request.param
    if kind == "apache":
        try:
            check_installed()
        except ApacheZooKeeperError as error:
            pytest.skip(str(error))
    with running_cluster(
        "zk-faults", zookeeper=kind, zookeepers=3 if kind == "apache" else None
    ) as cluster:
        create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """Return the cluster with all servers and brokers running, whatever an earlier test did."""
    start_all(shared)
    return shared


@pytest.fixture(scope="module")
def producer(shared: Cluster) -> Iterator[ConfluentProducer]:
    """Produce during the whole test."""
    producer = ConfluentProducer(shared.bootstrap_servers, TOPIC, PARTITIONS, RATE, 100)
    producer.start()
    yield producer
    start_all(shared)
    producer.finish()
    assert len(producer.acked) == producer.sent
    leaders = wait_until_in_sync(shared.bootstrap_servers, TOPIC, PARTITIONS)
    found = compare(producer.acked, read_all(shared, TOPIC, leaders))
    assert (found.lost, found.duplicates, found.out_of_order) == (0, 0, 0)


def registrations(cluster: Cluster) -> dict[str, Registration]:
    """Ask by a client of its own, when ZooKeeper serves again."""
    zk = KazooClient(cluster.zookeeper_connect)
    zk.start(PATIENCE_S)
    try:
        paths = ["/controller", *(f"/brokers/ids/{broker_id}" for broker_id in cluster.broker_ids)]
        stats = {path: zk.get(path)[1] for path in paths}
    finally:
        zk.stop()
        zk.close()
    return {path: Registration(stat.ephemeralOwner, stat.czxid) for path, stat in stats.items()}


def acked_after(producer: ConfluentProducer, moment: float) -> bool:
    """Return whether a record of each partition was acknowledged after `moment`."""
    return all(
        times and times[-1] > moment
        for times in [producer.ack_times[partition] for partition in range(PARTITIONS)]
    )


def create(cluster: Cluster, topic: str) -> None:
    """Create a topic, so that the broker and the controller write to ZooKeeper in their present
    sessions.
    """
    make_topic(cluster.bootstrap_servers, topic, 1, 3)


@pytest.mark.parametrize("act", ["kill", "pause"])
def test_no_acked_record_and_no_session_is_lost(
    cluster: Cluster, producer: ConfluentProducer, act: str
) -> None:
    wait_for(lambda: acked_after(producer, 0), "nothing is acked at all")
    before = registrations(cluster)
    leader = cluster.status().zookeeper_leader
    victim = ZOOKEEPER if leader is None else Source(SourceKind.ZOOKEEPER, leader)
    with TraceClient(cluster.supervisor_events_address()) as events:
        cluster.act(act, victim)
        gone = time.monotonic()
        wait_for(lambda: acked_after(producer, gone), "nothing is acked while the server is away")
        if leader is not None:
            told = events.wait_for(
                lambda envelope: (
                    isinstance(envelope.event, ZooKeeperModeChanged)
                    and envelope.event.mode == "leader"
                ),
                PATIENCE_S,
            )
            assert isinstance(told.event, ZooKeeperModeChanged)
            assert told.event.child != victim
            assert cluster.status().zookeeper_leader == told.event.child.id
            assert registrations(cluster) == before, (
                "the servers that are left know the brokers' sessions"
            )
            create(cluster, f"without-the-leader-{act}")
    cluster.act("start" if act == "kill" else "resume", victim)
    cluster.wait_ready()
    assert registrations(cluster) == before
    create(cluster, f"after-{act}")
    back = time.monotonic()
    wait_for(lambda: acked_after(producer, back), "nothing is acked any more")
