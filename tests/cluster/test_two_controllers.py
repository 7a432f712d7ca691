"""Who rules, on real processes and on both ZooKeepers, under a producer with acks=all: /controller
deleted, overwritten and spoilt by hand; a controller that sleeps (SIGSTOP) while another is
elected, with its session alive, and across the session's end; a broker whose session ends. Nothing
acked is lost.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from kafka_edu.cli.demo_kills import PARTITIONS, RECORD_BYTES, TOPIC
from kafka_edu.cli.demo_topic import BROKERS, create_topic, wait_until_in_sync
from kafka_edu.cli.numbered_clients import ConfluentProducer
from kafka_edu.cli.stored_records import compare, read_all
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
from tests.waiting import PATIENCE_S, wait_for

RATE = 400


class Ruled(NamedTuple):
    """What ZooKeeper says of who rules."""

    epoch: int
    broker: int


class World:
    def __init__(self, cluster: Cluster, recordings: dict[int, Path]) -> None:
        self.cluster = cluster
        self.recordings = recordings
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        self.zk = KazooClient(cluster.zookeeper_connect)
        self.zk.start()
        create_topic(self.admin, TOPIC, PARTITIONS)

    def ruled(self) -> Ruled | None:
        """None while /controller is not there, or names no broker of ours."""
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
        """Somebody (else than `but`) has been elected after epoch `after`."""

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
    """/controller as a hand writes it."""
    return json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"}).encode()


@pytest.mark.timeout(240)
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
    wait_until_in_sync(world.admin, TOPIC, PARTITIONS)

    # The controller sleeps for less than its session; it wakes with a topic to create, and does not
    # know that it was replaced.
    world.cluster.pause(asleep.broker)
    world.zk.create("/brokers/topics/slept", b'{"version":1,"partitions":{"0":[0,1,2]}}')
    world.zk.delete("/controller")
    awake = world.until_elected(asleep.epoch, but=asleep.broker)
    wait_for(
        lambda: world.zk.exists("/brokers/topics/slept/partitions/0/state"),
        "the new controller creates the topic",
    )
    world.cluster.resume(asleep.broker)
    wait_until_in_sync(world.admin, TOPIC, PARTITIONS)

    # The controller sleeps across the end of its session, and so does another broker, later.
    dead = awake.broker
    world.cluster.pause(dead)
    after = world.until_elected(awake.epoch, but=dead)
    wait_for(lambda: str(dead) not in world.zk.get_children("/brokers/ids"), "its session ends")
    world.cluster.resume(dead)
    wait_until_in_sync(world.admin, TOPIC, PARTITIONS)
    other = next(b for b in range(BROKERS) if b not in (dead, after.broker))
    world.cluster.pause(other)
    wait_for(lambda: str(other) not in world.zk.get_children("/brokers/ids"), "its session ends")
    world.cluster.resume(other)
    leaders = wait_until_in_sync(world.admin, TOPIC, PARTITIONS)
    producer.finish()

    assert not producer.refused
    found = compare(producer.acked, read_all(world.cluster, TOPIC, leaders, PATIENCE_S))
    assert (found.lost, found.duplicates, found.out_of_order) == (0, 0, 0)
    assert len(producer.acked) == producer.sent == found.consumed - found.sent_anew
    last = world.ruled()
    assert last == after, "the sleepers did not take the office back"
    for broker in range(BROKERS):
        world.cluster.stop(broker)  # by itself, so that its recording is whole
    events = [envelope for broker in range(BROKERS) for envelope in world.recorded(broker)]
    one_ruler_an_epoch(events)
    the_sleeper_was_fenced(events, asleep)
    registered_anew(events, dead)
    registered_anew(events, other)


def one_ruler_an_epoch(events: list[Envelope]) -> None:
    """And what one has written, no older one wrote over: in each state znode the epochs go up with
    the versions.
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
    """It woke with a topic to create. Either it tried, and ZooKeeper refused; or its connection had
    been given up, and the news of both came at once, its end first. (tests/unit/sim/test_fencing.py
    has the first for certain.) The topic was created once, by the other.
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
    """Each time that its session had ended: once by what is done here, and more often only on a
    machine that is very busy.
    """
    own = [e.event for e in events if e.broker == broker]
    epochs = [event.broker_epoch for event in own if isinstance(event, BrokerRegistered)]
    lost = sum(isinstance(event, SessionLost) for event in own)
    assert lost >= 1
    assert len(epochs) == 1 + lost
    assert epochs == sorted(set(epochs))
