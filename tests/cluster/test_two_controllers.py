"""Which broker is the controller, under a producer with acks=all, on real processes and both
ZooKeepers.

/controller is deleted, overwritten and corrupted by hand. A controller is stopped by SIGSTOP while
another broker is elected: once its session survives, once its session expires. A broker's session
ends. No acked record is lost.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from chapters.ch10_replication.kills import PARTITIONS, RECORD_BYTES, TOPIC
from chapters.demo_parts.numbered_clients import ConfluentProducer
from chapters.demo_parts.stored_records import compare, read_all
from kafka_edu.cli.demo_topic import BROKERS, create_topic, wait_until_in_sync
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControllerElected,
    ControllerEventProcessed,
    ControllerResigned,
    LeaderElected,
    ReplicaRemovedFromIsr,
)
from kafka_edu.trace.events.server import BrokerRegistered, SessionLost
from kafka_edu.trace.reader import open_recording
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

RATE = 400


class Ruled(NamedTuple):
    """ZooKeeper's view of the controller."""

    epoch: int
    broker: int


class World:
    def __init__(self, cluster: Cluster, recordings: dict[int, Path]) -> None:
        self.cluster = cluster
        self.recordings = recordings
        self.zk = KazooClient(cluster.zookeeper_connect)
        self.zk.start()
        create_topic(cluster.bootstrap_servers, TOPIC, PARTITIONS)

    def ruled(self) -> Ruled | None:
        """Return the controller and its epoch, or None if /controller does not exist or names no
        broker of this cluster.
        """
        try:
            broker = json.loads(self.zk.get("/controller")[0])["brokerid"]
        except (LookupError, ValueError, TypeError, KazooException):
            return None
        return (
            Ruled(int(self.zk.get("/controller_epoch")[0]), broker)
            if broker in range(BROKERS)
            else None
        )

    def until_elected(self, after: int, *, but: int | None = None) -> Ruled:
        """Wait until a broker other than `but` has been elected after epoch `after`."""

        def elected() -> Ruled | None:
            now = self.ruled()
            return now if now is not None and now.epoch > after and now.broker != but else None

        found = wait_for(elected, f"nobody was elected after epoch {after}")
        assert found is not None
        return found

    def recorded(self, broker: int) -> list[Envelope]:
        return list(open_recording(str(self.recordings[broker])))


@pytest.fixture
def world(tmp_path: Path, zookeeper: str) -> Iterator[World]:
    recordings = {broker: tmp_path / f"events-{broker}" for broker in range(BROKERS)}
    props = {"auto.leader.rebalance.enable": "false"}
    with running_cluster(
        "rule",
        brokers=BROKERS,
        zookeeper=zookeeper,
        props=props,
        broker_props={b: {"edu.record.file": str(p)} for b, p in recordings.items()},
    ) as cluster:
        world = World(cluster, recordings)
        yield world
        world.zk.stop()
        world.zk.close()


def named(broker: int) -> bytes:
    """Return /controller as someone would write it by hand."""
    return json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"}).encode()


def test_there_is_one_ruler_and_nothing_acked_is_lost(world: World) -> None:
    producer = ConfluentProducer(
        world.cluster.bootstrap_servers, TOPIC, PARTITIONS, RATE, RECORD_BYTES
    )
    producer.start()
    ruler = world.until_elected(0)
    world.zk.delete("/controller")
    spoilt_by: tuple[Callable[[Ruled], bytes], ...] = (
        lambda _: named(77),
        lambda ruler: named((ruler.broker + 1) % BROKERS),
        lambda _: b'{"version":1,"brok',
    )
    for spoilt in spoilt_by:
        ruler = world.until_elected(ruler.epoch)
        world.zk.set("/controller", spoilt(ruler))
    asleep = world.until_elected(ruler.epoch)
    wait_until_in_sync(world.cluster.bootstrap_servers, TOPIC, PARTITIONS)

    # The controller is paused for less than its session time-out. When it wakes, it must handle a
    # new topic, and does not know yet that another broker is the controller.
    world.cluster.pause(asleep.broker)
    world.zk.create("/brokers/topics/slept", b'{"version":1,"partitions":{"0":[0,1,2]}}')
    world.zk.delete("/controller")
    awake = world.until_elected(asleep.epoch, but=asleep.broker)
    wait_for(
        lambda: world.zk.exists("/brokers/topics/slept/partitions/0/state"),
        "the new controller creates the topic",
    )
    world.cluster.resume(asleep.broker)
    wait_until_in_sync(world.cluster.bootstrap_servers, TOPIC, PARTITIONS)

    # The controller sleeps across the end of its session. Later another broker does too.
    dead = awake.broker
    world.cluster.pause(dead)
    after = world.until_elected(awake.epoch, but=dead)
    wait_for(lambda: str(dead) not in world.zk.get_children("/brokers/ids"), "its session ends")
    world.cluster.resume(dead)
    wait_until_in_sync(world.cluster.bootstrap_servers, TOPIC, PARTITIONS)
    other = next(b for b in range(BROKERS) if b not in (dead, after.broker))
    world.cluster.pause(other)
    wait_for(lambda: str(other) not in world.zk.get_children("/brokers/ids"), "its session ends")
    world.cluster.resume(other)
    leaders = wait_until_in_sync(world.cluster.bootstrap_servers, TOPIC, PARTITIONS)
    producer.finish()

    assert not producer.refused
    found = compare(producer.acked, read_all(world.cluster, TOPIC, leaders))
    assert (found.lost, found.duplicates, found.out_of_order) == (0, 0, 0)
    assert len(producer.acked) == producer.sent == found.consumed - found.sent_anew
    last = world.ruled()
    assert last == after, "the sleepers did not take the office back"
    for broker in range(BROKERS):
        world.cluster.stop(broker)  # alone, so that its recording is complete
    events = [envelope for broker in range(BROKERS) for envelope in world.recorded(broker)]
    one_ruler_an_epoch(events)
    the_sleeper_was_fenced(events, asleep)
    registered_anew(events, dead)
    registered_anew(events, other)


def one_ruler_an_epoch(events: list[Envelope]) -> None:
    """Check that no older controller overwrote the state of a newer controller: in each state
    znode, a later version never has a lower controller epoch.
    """
    elected = [e.event.epoch for e in events if isinstance(e.event, ControllerElected)]
    assert sorted(elected) == list(range(1, len(elected) + 1))
    assert len([e for e in events if isinstance(e.event, ControllerResigned)]) == len(elected), (
        "each term ended, the last with its broker"
    )
    written: dict[str, list[tuple[int, int]]] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, LeaderElected):
            written.setdefault(event.zk_path, []).append((event.zk_version, event.controller_epoch))
    assert len(written) == PARTITIONS + 1
    for writes in written.values():
        epochs = [epoch for _, epoch in sorted(writes)]
        assert epochs == sorted(epochs)
    removed = [e for e in events if isinstance(e.event, ReplicaRemovedFromIsr)]
    assert removed, "followers of sleepers left the ISR"


def the_sleeper_was_fenced(events: list[Envelope], asleep: Ruled) -> None:
    """A controller was paused, and woke when a new topic had to be handled. Check that it was
    fenced.

    There are two possible cases. The controller tried to create the topic's partitions, and
    ZooKeeper refused the write. Or its connection had been closed, and it heard of the end of its
    session before it heard of the topic. (tests/unit/sim/test_fencing.py always plays the first
    case.) The topic's partitions were created once, by the new controller.
    """
    done = [
        e.event
        for e in events
        if e.broker == asleep.broker and isinstance(e.event, ControllerEventProcessed)
    ]
    refused = [event.name for event in done if "moved on" in event.error]
    assert refused in (["TopicChange"], [])
    creations = sorted(
        (e.event.controller_epoch, e.broker)
        for e in events
        if isinstance(e.event, LeaderElected) and e.event.topic == "slept"
    )
    assert creations[0][0] == asleep.epoch + 1
    assert creations[0][1] != asleep.broker
    resigned = [
        e.event.epoch
        for e in events
        if e.broker == asleep.broker and isinstance(e.event, ControllerResigned)
    ]
    assert asleep.epoch in resigned


def registered_anew(events: list[Envelope], broker: int) -> None:
    """Check that the broker registered again each time its session had expired.

    The test makes the session expire once. On a very busy machine it may expire more often.
    """
    own = [e.event for e in events if e.broker == broker]
    epochs = [event.broker_epoch for event in own if isinstance(event, BrokerRegistered)]
    lost = sum(isinstance(event, SessionLost) for event in own)
    assert lost >= 1
    assert len(epochs) == 1 + lost
    assert epochs == sorted(set(epochs))
