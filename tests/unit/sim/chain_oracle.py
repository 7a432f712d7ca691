"""The true causes of events in the simulator, found without the links in the events' fields.

The oracle watches what is handed over between two processes. A notification is the very object that
ZooKeeper made for one watch. A request to a broker is the very bytes that the controller encoded. A
write is identified by the request of one session, and by the context of the task that made it. So
the oracle knows which fact of one process led to which fact of another, whatever their fields say.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from unittest import mock

import kafka_edu.network.network_client as network_client
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.processor import Processor
from kafka_edu.protocol.schema import Message
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryConnection
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.controller import ControllerRequestSent, ZkWatchFired
from kafka_edu.trace.events.network import RequestReceived
from kafka_edu.trace.events.zk import WatchFired, ZnodeChanged, ZnodeCreated
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.zookeeper_server import Effect, Notify, ZooKeeperServer

#: The fact within which code runs. Unlike `Tracer.cause`, it is inherited by the tasks that the
#: code creates.
_within: ContextVar[int] = ContextVar("within", default=0)

Place = tuple[Source, int]
"""(source, number). In the simulator a broker's numbers continue when it is started again."""


class ChainOracle:
    """Watches one cluster from its beginning. Use it within `watching`."""

    def __init__(self) -> None:
        self.watches: dict[Place, Place] = {}
        """ZkWatchFired → WatchFired"""
        self.requests: dict[Place, Place] = {}
        """RequestReceived → ControllerRequestSent"""
        self.writes: dict[Place, Place] = {}
        """ZnodeCreated, ZnodeChanged → the fact within which the write was requested"""
        self._told: list[Envelope] = []
        self._notifications: dict[int, tuple[Notify, Place]] = {}
        self._frames: dict[bytes, Place] = {}
        self._asked: dict[tuple[int, int], Place] = {}
        self._cluster: SimCluster | None = None

    def watch(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        cluster.sink.listeners.append(self._told.append)

    def _since(self, at: int, kind: type | tuple[type, ...]) -> list[Place]:
        return [(e.source, e.seq) for e in self._told[at:] if isinstance(e.event, kind)]

    @contextmanager
    def watching(self) -> Iterator["ChainOracle"]:
        notify, receive = ZooKeeperServer._notify, MemoryZkClient.receive
        encode, on_frame = network_client.encode_request, Processor.on_frame
        post, request, because = MemoryZkClient._post, ZooKeeperServer.request, Tracer.because
        oracle = self

        def notified(server: ZooKeeperServer, cnxn_id: int, event: object) -> None:
            notify(server, cnxn_id, event)
            effect = server._effects[-1]
            assert isinstance(effect, Notify)
            if oracle._told and isinstance(oracle._told[-1].event, WatchFired):
                oracle._notifications[id(effect)] = (
                    effect,
                    (oracle._told[-1].source, oracle._told[-1].seq),
                )

        def received(client: MemoryZkClient, connection: MemoryConnection, effect: Effect) -> None:
            at = len(oracle._told)
            receive(client, connection, effect)
            known = oracle._notifications.get(id(effect))
            if known is not None:
                for place in oracle._since(at, ZkWatchFired):
                    oracle.watches[place] = known[1]

        def encoded(
            request: Message, version: int, correlation_id: int, client_id: str | None
        ) -> object:
            parts = encode(request, version, correlation_id, client_id)
            last = oracle._told[-1] if oracle._told else None
            # Between the event and its request a fetcher of the same moment may send its own.
            if (
                last is not None
                and isinstance(last.event, ControllerRequestSent)
                and (last.event.api_key, last.event.correlation_id) == (request.KEY, correlation_id)
            ):
                oracle._frames[_bytes(parts)[4:]] = last.source, last.seq
            return parts

        def framed(processor: Processor, channel: KafkaChannel, frame: bytes) -> None:
            at = len(oracle._told)
            sent = oracle._frames.get(bytes(frame))
            on_frame(processor, channel, frame)
            if sent is not None:
                for place in oracle._since(at, RequestReceived)[:1]:
                    oracle.requests[place] = sent

        def posted(client: MemoryZkClient, asked: object, path: str = "") -> object:
            future = post(client, asked, path)
            broker = oracle._broker_of(client)
            if broker is not None and broker[1]:
                oracle._asked[client.session_id, client._last_xid] = broker
            return future

        def requested(server: ZooKeeperServer, cnxn_id: int, xid: int, *rest: object) -> object:
            at = len(oracle._told)
            cnxn = server.cnxns.get(cnxn_id)
            asked = oracle._asked.get((cnxn.session_id, xid)) if cnxn is not None else None
            effects = request(server, cnxn_id, xid, *rest)
            if asked is not None:
                for place in oracle._since(at, (ZnodeCreated, ZnodeChanged)):
                    oracle.writes[place] = asked
            return effects

        @contextmanager
        def remembered(trace: Tracer, seq: int) -> Iterator[None]:
            token = _within.set(seq)
            try:
                with because(trace, seq):
                    yield
            finally:
                _within.reset(token)

        with (
            mock.patch.object(Tracer, "because", remembered),
            mock.patch.object(ZooKeeperServer, "_notify", notified),
            mock.patch.object(MemoryZkClient, "receive", received),
            mock.patch.object(network_client, "encode_request", encoded),
            mock.patch.object(Processor, "on_frame", framed),
            mock.patch.object(MemoryZkClient, "_post", posted),
            mock.patch.object(ZooKeeperServer, "request", requested),
        ):
            yield self

    def _broker_of(self, client: MemoryZkClient) -> Place | None:
        if self._cluster is None:
            return None
        for broker in self._cluster.brokers.values():
            if broker.zk_client is client and broker.tracer is not None:
                return Source.of_broker(broker.id), _within.get()
        return None


def _bytes(parts: object) -> bytes:
    if isinstance(parts, bytes | bytearray | memoryview):
        return bytes(parts)
    assert isinstance(parts, list | tuple)
    return b"".join(bytes(part) for part in parts)
