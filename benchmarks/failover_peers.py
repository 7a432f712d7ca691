"""The two clusters of `bench failover`, kafka-edu's and Apache Kafka's, with the same interface.

Both use the same version of Apache ZooKeeper and the same settings.
"""

import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.protocol.states import EventType, WatchedEvent  # type: ignore[import-untyped]  # nor here

from kafka_edu.common.errors import Errors
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.supervisor.cluster_spec import HOST
from kafka_edu.zk.apache import ApacheZooKeeper

from .apache_kafka import ApacheKafka, apache_kafka
from .failover_probes import Addresses

BROKERS: Final = 3
TICK_TIME_MS: Final = 500
SESSION_TIMEOUT_MS: Final = 6_000
ZOOKEEPER_HEAP_MB: Final = 256
#: The settings of both clusters. With them, leaders move only when a broker is stopped or killed.
SETTINGS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "5",
}
_LOOK_EVERY_S: Final = 0.1
_SETTLE_TIMEOUT_S: Final = 300.0
_ANSWER_TIMEOUT_MS: Final = 10_000
_METADATA_VERSION: Final = 7

Partitions = Sequence[MetadataResponsePartition]


class Peer(Protocol):
    """A cluster of three brokers with the ids 0 to 2."""

    name: str
    bootstrap: str
    addresses: Addresses
    zookeeper: str
    """Address of the cluster's ZooKeeper, as host:port/chroot."""

    def kill(self, broker: int) -> None:
        """Kill a broker with SIGKILL. Return when the process has ended."""
        ...

    def stop(self, broker: int) -> None:
        """Stop a broker with SIGTERM. Return when the process has ended."""
        ...

    def start(self, broker: int) -> None:
        """Start a broker. Return when every broker lists it."""
        ...


class OurPeer:
    name = "ours"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.bootstrap = cluster.bootstrap_servers
        self.addresses: Addresses = {
            broker: (HOST, cluster.port(broker)) for broker in cluster.broker_ids
        }
        self.zookeeper = cluster.zookeeper_connect
        self.kill = cluster.kill
        self.stop = cluster.stop

    def start(self, broker: int) -> None:
        self._cluster.start(broker)


class ApachePeer:
    name = "kafka"

    def __init__(self, kafka: ApacheKafka) -> None:
        self._kafka = kafka
        self.bootstrap = kafka.bootstrap
        self.addresses: Addresses = {
            broker: (HOST, port) for broker, port in enumerate(kafka.ports)
        }
        self.zookeeper = kafka.zookeeper
        self.kill = kafka.kill
        self.stop = kafka.stop

    def start(self, broker: int) -> None:
        self._kafka.start(broker)
        self._kafka.await_listening(broker)
        self._kafka.wait_until_listed()


@contextlib.contextmanager
def running_peer(name: str, jars: Path) -> Iterator[Peer]:
    """Run a new cluster and a new ZooKeeper during the block.

    Raises ClusterError, PeerMissing or ApacheZooKeeperError if they do not start.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="kafka-edu-bench-", ignore_cleanup_errors=True)
        )
        zookeeper = ApacheZooKeeper(
            Path(folder), tick_time_ms=TICK_TIME_MS, heap_mb=ZOOKEEPER_HEAP_MB
        )
        zookeeper.start()
        stack.callback(zookeeper.stop)
        connect = f"{zookeeper.connect_string}/{name}"
        if name == OurPeer.name:
            yield OurPeer(
                stack.enter_context(
                    running_cluster(
                        "bench-failover", brokers=BROKERS, props=SETTINGS, zookeeper=connect
                    )
                )
            )
        else:
            lines = [f"{key}={value}" for key, value in SETTINGS.items()]
            yield ApachePeer(stack.enter_context(apache_kafka(jars, BROKERS, lines, connect)))


# Requests for the brokers' Metadata.


async def _describe(
    client: NetworkClient, address: tuple[str, int], topic: str
) -> MetadataResponse | None:
    """Return one broker's Metadata of one topic, or None if the broker does not answer now."""
    try:
        if not client.connected:
            await client.connect(*address, _ANSWER_TIMEOUT_MS)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        return await client.ask(request, _METADATA_VERSION, MetadataResponse, _ANSWER_TIMEOUT_MS)
    except (OSError, ProtocolError):
        client.close()
        return None


async def _wait_for_each(
    addresses: Addresses, topic: str, wanted: Callable[[Partitions], bool], timeout_s: float
) -> None:
    transport = SocketTransport()

    async def wait_for(address: tuple[str, int]) -> None:
        client = NetworkClient(transport, "bench-failover")
        try:
            while True:
                answer = await _describe(client, address, topic)
                if answer is not None and wanted(answer.topics[0].partitions):
                    return
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            client.close()

    async with asyncio.timeout(timeout_s):
        await asyncio.gather(*(wait_for(address) for address in addresses.values()))


def wait_for_each(
    addresses: Addresses,
    topic: str,
    wanted: Callable[[Partitions], bool],
    timeout_s: float = _SETTLE_TIMEOUT_S,
) -> None:
    """Wait until `wanted` is true for the topic's Metadata from each broker in `addresses`.

    The Metadata is requested every 100 ms. Raises TimeoutError.
    """
    asyncio.run(_wait_for_each(addresses, topic, wanted, timeout_s))


def describe(peer: Peer, topic: str) -> MetadataResponse:
    """Return the Metadata of the topic from any broker. It also names the controller.

    Raises TimeoutError if no broker answers.
    """

    async def ask() -> MetadataResponse:
        transport = SocketTransport()
        async with asyncio.timeout(_SETTLE_TIMEOUT_S):
            while True:
                for address in peer.addresses.values():
                    client = NetworkClient(transport, "bench-failover")
                    answer = await _describe(client, address, topic)
                    client.close()
                    if answer is not None and answer.controller_id >= 0:
                        return answer
                await asyncio.sleep(_LOOK_EVERY_S)

    return asyncio.run(ask())


def all_in_sync(count: int) -> Callable[[Partitions], bool]:
    """Return a check: all `count` partitions exist, each with a leader and a full ISR."""
    return _all_are(
        count,
        lambda p: p.error_code == Errors.NONE and p.leader_id >= 0 and len(p.isr_nodes) == BROKERS,
    )


def all_led_by_others(count: int, victim: int) -> Callable[[Partitions], bool]:
    """Return a check: all `count` partitions exist, and each has a leader other than the victim."""
    return _all_are(count, lambda p: p.leader_id not in (-1, victim))


def all_led_by_preferred(count: int) -> Callable[[Partitions], bool]:
    """Return a check: all `count` partitions exist, and each is led by its preferred replica."""
    return _all_are(count, lambda p: p.leader_id == p.replica_nodes[0])


def _all_are(
    count: int, as_wanted: Callable[[MetadataResponsePartition], bool]
) -> Callable[[Partitions], bool]:
    """Turn a check of one partition into a check of all `count` partitions of a topic.

    A broker that does not know all partitions of the topic fails the check.
    """
    return lambda partitions: len(partitions) == count and all(map(as_wanted, partitions))


# Changes of the cluster.


def create_topic(peer: Peer, topic: str, partitions: int) -> float:
    """Create a topic with RF 3, and wait until it is complete. Return the seconds that this took.

    It is complete when each broker's Metadata shows every partition with a full ISR. A broker gets
    its leader and follower roles before it gets the Metadata, so all logs exist by then.
    """
    admin = AdminClient({"bootstrap.servers": peer.bootstrap, "log_level": 0})
    began = time.monotonic()
    for future in admin.create_topics(
        [NewTopic(topic, partitions, BROKERS)], request_timeout=_SETTLE_TIMEOUT_S
    ).values():
        future.result()
    wait_for_each(peer.addresses, topic, all_in_sync(partitions))
    return time.monotonic() - began


def settle(peer: Peer, topic: str, partitions: int) -> dict[int, list[int]]:
    """Wait until all replicas are in sync. Make each partition's preferred replica its leader.

    Return broker → the partitions that it leads.
    """
    wait_for_each(peer.addresses, topic, all_in_sync(partitions))
    admin = AdminClient({"bootstrap.servers": peer.bootstrap, "log_level": 0})
    everything = [TopicPartition(topic, partition) for partition in range(partitions)]
    admin.elect_leaders(ElectionType.PREFERRED, everything).result()
    wait_for_each(peer.addresses, topic, all_led_by_preferred(partitions))
    led: dict[int, list[int]] = {}
    for partition in describe(peer, topic).topics[0].partitions:
        led.setdefault(partition.leader_id, []).append(partition.partition_index)
    return {broker: sorted(led[broker]) for broker in sorted(led)}


class Disturbed(Exception):
    """An unexpected event has disturbed a measurement, so its result is not valid."""


class ZnodeGone:
    """Records when the znode of one broker is deleted, in s of the monotonic clock.

    Use it as `with ZnodeGone(…) as znode: …; znode.wait(since, 60)`.
    """

    def __init__(self, zookeeper: str, broker: int) -> None:
        self._client = KazooClient(zookeeper)
        self._path = f"/brokers/ids/{broker}"
        self._gone = threading.Event()
        self._when = 0.0

    def __enter__(self) -> "ZnodeGone":
        self._client.start()
        self._client.exists(self._path, watch=self._fired)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()

    def _fired(self, event: WatchedEvent) -> None:
        if (
            event.type == EventType.DELETED
        ):  # kazoo also calls every watch when our own session ends.
            self._when = time.monotonic()
            self._gone.set()

    def wait(self, since: float, timeout_s: float) -> float:
        """Wait until the znode is deleted, and return when that was.

        Raises TimeoutError. Raises Disturbed if the znode was deleted before `since`, because the
        broker then lost its session for a reason other than the kill or stop.
        """
        if not self._gone.wait(timeout_s):
            raise TimeoutError(f"{self._path} is still there after {timeout_s:g} s")
        if self._when < since:
            raise Disturbed(
                f"{self._path} went {since - self._when:.2f} s before the broker was killed"
            )
        return self._when
