"""A real cluster --with-relays: faults in its links to clients and to ZooKeeper, and the death of
the relay.

It has a control plane too, so every broker has all four kinds of connections.
"""

import os
import signal
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.instruments.trace_feed import now_us
from kafka_edu.supervisor.act_table import RELAYED_ACTS
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import PROXY
from kafka_edu.trace.events import controller, replication, server, supervisor
from tests.cluster.watcher import Watcher
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

SLOW_MS = 150
PROPS = {
    "zookeeper.session.timeout.ms": "4000",
    "auto.leader.rebalance.enable": "false",
    "control.plane.listener.name": "CONTROL",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("relayed", brokers=2, props=PROPS, with_relays=True) as cluster:
        make_assigned_topic(cluster.bootstrap_servers, "t", {0: [0, 1], 1: [1, 0]})
        yield cluster


@pytest.fixture(scope="module")
def watcher(cluster: Cluster) -> Iterator[Watcher]:
    watcher = Watcher(cluster.folder)
    try:
        yield watcher
    finally:
        watcher.close()


def links(cluster: Cluster) -> list[str]:
    return [str(link) for link in cluster.status().links]


class Writer:
    """An unmodified client that writes numbers to both partitions, and keeps what was acked."""

    def __init__(self, cluster: Cluster) -> None:
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
        )
        self.next = 0
        self.acked: dict[int, set[int]] = {0: set(), 1: set()}
        self.errors: list[object] = []

    def write(self, count: int = 20) -> range:
        """Write `count` numbers to each partition. Return the numbers."""
        numbers = range(self.next, self.next + count)
        self.next += count
        for number in numbers:
            for partition in self.acked:
                self._producer.produce(
                    "t", str(number).encode(), partition=partition, on_delivery=self._delivered
                )
            self.poll()
        return numbers

    def poll(self) -> None:
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            value = message.value()
            assert value is not None
            self.acked[message.partition() or 0].add(int(value))

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0
        assert self.errors == []

    def wait_acked(self, partition: int, numbers: range) -> None:
        def arrived() -> bool:
            self.poll()
            return self.acked[partition] >= set(numbers)

        wait_for(arrived, lambda: f"not acked in t-{partition}: {self.errors}")


def read(cluster: Cluster, partition: int, count: int) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition("t", partition, 0)])
    numbers: list[int] = []

    def take() -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            numbers.append(int(message.value() or b""))
        return len(numbers) >= count

    try:
        wait_for(take, lambda: f"read {len(numbers)} of {count}")
    finally:
        consumer.close()
    return numbers


def test_no_acked_record_is_lost_when_a_link_to_clients_is_cut_and_healed(
    cluster: Cluster, watcher: Watcher
) -> None:
    writer = Writer(cluster)
    before = writer.write()
    writer.wait_acked(0, before)
    assert (
        cluster.perform("cut-clients", {"broker": 0})
        == "the link between broker 0 and its clients is cut"
    )
    assert links(cluster) == ["the link between broker 0 and its clients is cut"]
    behind = writer.write()
    writer.wait_acked(1, behind)
    assert not writer.acked[0] & set(behind), "broker 0 leads t-0, and nobody hears of it"
    message = cluster.perform("topic-config", {"topic": "t", "setting": "retention.ms=600000"})
    assert "is 600000" in message, "acts do not pass the relay"
    writer.poll()
    assert not writer.acked[0] & set(behind)

    cluster.perform("heal-clients", {"broker": 0})
    assert links(cluster) == []
    writer.write()
    writer.flush()
    for partition, acked in writer.acked.items():
        assert sorted(acked) == list(range(writer.next))
        assert read(cluster, partition, writer.next) == list(range(writer.next))


def test_a_broker_whose_clients_are_cut_off_is_started_all_the_same(
    cluster: Cluster, watcher: Watcher
) -> None:
    cluster.perform("cut-clients", {"broker": 0})
    cluster.stop(0)
    started = now_us()
    cluster.start(0)
    assert links(cluster) == ["the link between broker 0 and its clients is cut"]
    cluster.perform("heal-clients", {"broker": 0})
    watcher.wait(
        lambda e: (
            isinstance(e.event, replication.IsrExpanded)
            and (e.event.topic, e.event.partition, 0 in e.event.after) == ("t", 0, True)
        ),
        "broker 0 is back in the ISR of t-0",
        started,
    )
    cluster.perform("elect-preferred", {"partition": "t-0"})


def test_a_link_to_zookeeper_is_cut_until_the_session_expires_and_healed(
    cluster: Cluster, watcher: Watcher
) -> None:
    since = now_us()
    cluster.perform("cut-zookeeper", {"broker": 0})
    elected = watcher.wait(
        lambda e: (
            isinstance(e.event, controller.LeaderElected)
            and (e.event.topic, e.event.partition, e.event.new_leader) == ("t", 0, 1)
        ),
        "broker 1 leads t-0 after the session of broker 0 has expired",
        since,
    )
    assert links(cluster) == ["the link between broker 0 and ZooKeeper is cut"]

    healed = now_us()
    cluster.perform("heal-zookeeper", {"broker": 0})
    lost = watcher.wait(
        lambda e: isinstance(e.event, server.SessionLost) and e.event.broker_id == 0,
        "broker 0 learns that its session is lost",
        since,
    )
    assert lost.mono_us > healed > elected.mono_us, "it did not know before the link was healed"
    watcher.wait(
        lambda e: isinstance(e.event, server.BrokerRegistered) and e.event.broker_id == 0,
        "broker 0 registers again, in a new session",
        healed,
    )
    watcher.wait(
        lambda e: (
            isinstance(e.event, replication.IsrExpanded)
            and (e.event.topic, e.event.partition, 0 in e.event.after) == ("t", 0, True)
        ),
        "broker 0 is back in the ISR of t-0",
        healed,
    )
    cluster.wait_ready()
    cluster.perform("elect-preferred", {"partition": "t-0"})
    writer = Writer(cluster)
    writer.write()
    writer.flush()


def test_slow_and_reset_links(cluster: Cluster, watcher: Watcher) -> None:
    writer = Writer(cluster)
    writer.wait_acked(0, writer.write())
    cluster.perform("slow-clients", {"broker": 0, "delay_ms": SLOW_MS})
    cluster.perform("slow-zookeeper", {"broker": 1, "delay_ms": 5})
    assert links(cluster) == [
        f"the link between broker 0 and its clients is slow by {SLOW_MS} ms",
        "the link between broker 1 and ZooKeeper is slow by 5 ms",
    ]
    began = time.monotonic()
    writer.wait_acked(0, writer.write(1))
    assert time.monotonic() - began >= 2 * SLOW_MS / 1000, "to the broker and back"
    cluster.perform("heal-clients", {"broker": 0})
    cluster.perform("heal-zookeeper", {"broker": 1})

    since = now_us()
    cluster.perform("slow-link", {"broker": 0, "other": 1, "delay_ms": 5})
    slowed = [
        watcher.wait(
            lambda e, of=broker: isinstance(e.event, server.LinkFaultChanged) and e.broker == of,
            "the broker's link is slow",
            since,
        )
        for broker in (0, 1)
    ]
    ports = [e.event.ports for e in slowed if isinstance(e.event, server.LinkFaultChanged)]
    assert [len(each) for each in ports] == [4, 4], (
        "clients, directly and by the relay; brokers; control plane"
    )
    cluster.perform("heal-link", {"broker": 0, "other": 1})

    done = cluster.perform("reset-zookeeper", {"broker": 0})
    assert done == "1 connection between broker 0 and ZooKeeper ended"
    assert "0 connections" not in cluster.perform("reset-clients", {"broker": 0})
    writer.write()
    writer.flush()
    assert links(cluster) == []


def test_a_relay_that_dies_is_started_again_and_its_faults_are_gone(
    cluster: Cluster, watcher: Watcher
) -> None:
    writer = Writer(cluster)
    writer.wait_acked(1, writer.write())
    cluster.perform("cut-clients", {"broker": 1})
    since = now_us()
    (relay,) = [process for process in cluster.status().processes if process.source == PROXY]
    os.kill(relay.pid, signal.SIGKILL)
    ended = watcher.wait(
        lambda e: isinstance(e.event, supervisor.ProcessEnded) and e.event.child == PROXY,
        "the relay has ended",
        since,
    )
    healed = watcher.wait(
        lambda e: (
            e.event
            == supervisor.LinkChanged(broker=1, other=-1, delay_ms=0, cut=False, side="clients")
        ),
        "the link is whole, because the next relay knows of no fault",
        ended.mono_us,
    )
    started = watcher.wait(
        lambda e: isinstance(e.event, supervisor.ProcessStarted) and e.event.child == PROXY,
        "the next relay",
        ended.mono_us,
    )
    assert [healed.cause, started.cause] == [ended.seq, ended.seq]
    assert links(cluster) == []
    writer.write()
    writer.flush()
    assert cluster.perform("heal-clients", {"broker": 1}).endswith("is whole")


def test_each_act_on_links_over_the_relay_was_asked_for_in_words_and_done(
    watcher: Watcher,
) -> None:
    """Runs last, like its sister in test_acts."""
    asked = watcher.done(RELAYED_ACTS)
    assert asked["cut-zookeeper"] == "cut the link between broker 0 and ZooKeeper"
