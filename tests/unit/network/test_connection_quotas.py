"""max.connections, max.connections.per.ip and their overrides, on real sockets (KIP-402)."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.network.connection_quotas import ConnectionLimits, ConnectionQuotas
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import SocketServer
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.trace.event import Event, Level, Source
from kafka_edu.trace.events.network import (
    AcceptingPaused,
    AcceptingResumed,
    ConnectionClosed,
    ConnectionRefused,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import CONNECTION_DEFAULTS, NETWORK_DEFAULTS

INSIDE, OUTSIDE = "INSIDE", "OUTSIDE"
PATIENCE_MS = 30_000


class Server:
    """A SocketServer on loopback that answers every request at once."""

    def __init__(self, limits: ConnectionLimits, listeners: tuple[str, ...] = (OUTSIDE,)) -> None:
        time = SystemTime()
        tracer = Tracer(Source.of_broker(0), time)
        self._ring = RingSink()
        tracer.add_sink(self._ring)
        self._told = asyncio.Event()
        tracer.add_sink(_Notes(self._told))
        self.channel = RequestChannel(time, NETWORK_DEFAULTS.queued_max_requests)
        self.server = SocketServer(
            [EndPoint("127.0.0.1", 0, name, "PLAINTEXT") for name in listeners],
            SocketTransport(),
            time,
            self.channel,
            tracer,
            NETWORK_DEFAULTS._replace(num_network_threads=2, connection_limits=limits),
            inter_broker_listener=INSIDE,
        )

    async def __aenter__(self) -> "Server":
        await self.server.bind()
        self.server.start_processing()
        self._serving = asyncio.create_task(self._serve())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._serving.cancel()
        self.server.shutdown()

    async def _serve(self) -> None:
        while True:
            request = await self.channel.receive_request()
            header = request.header
            answer = encode_response(
                ApiKey.API_VERSIONS,
                header.api_version,
                header.correlation_id,
                ApiVersionsResponse(api_keys=[]),
            )
            self.channel.send_response(request, answer)

    def events(self, kind: type[Event]) -> list[Event]:
        return [e.event for e in self._ring.events if isinstance(e.event, kind)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for an event after which the condition holds."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while not condition():
                self._told.clear()
                await self._told.wait()

    async def client(self, listener: str = OUTSIDE, ask: bool = True) -> NetworkClient:
        client = NetworkClient(SocketTransport(), "test")
        await client.connect("127.0.0.1", self.server.bound_port(listener), PATIENCE_MS)
        if ask:
            await self.ask(client)
        return client

    @staticmethod
    async def ask(client: NetworkClient) -> None:
        await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse, PATIENCE_MS)

    def limit(self, limits: ConnectionLimits) -> None:
        self.server.limit_connections(limits)

    def make_silent(self, client: NetworkClient) -> None:
        """Make this client's connection the one that was silent for the longest time."""
        for processor in self.server.processors:
            for connection_id, channel in processor.channels.items():
                if connection_id.split("-")[1] == client.local:
                    channel.last_active_ms -= 1000

    @property
    def connections(self) -> int:
        return sum(len(processor.channels) for processor in self.server.processors)


class _Notes:
    """Sets an asyncio event for each trace event."""

    def __init__(self, told: asyncio.Event) -> None:
        self.level = Level.STATE
        self._told = told

    def accept(self, _: object) -> None:
        self._told.set()


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def body() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(body())


def test_one_too_many_waits_until_another_goes() -> None:
    async def main() -> None:
        async with Server(CONNECTION_DEFAULTS._replace(max_connections=2)) as server:
            first, second = await server.client(), await server.client()
            # the kernel has accepted it, but the broker has not
            third = await server.client(ask=False)
            waiting = asyncio.create_task(server.ask(third))
            await server.until(lambda: bool(server.events(AcceptingPaused)))
            assert server.connections == 2
            await server.ask(first)
            assert not waiting.done()
            second.close()
            await waiting
            assert server.events(AcceptingResumed) != []
            assert server.connections == 2
            assert server.events(ConnectionRefused) == []

    run(main)


def test_a_burst_never_passes_the_limit() -> None:
    """All connections are in the kernel's queue before the first one is accepted. So one turn of
    the loop could accept them all.
    """

    async def main() -> None:
        async with Server(CONNECTION_DEFAULTS._replace(max_connections=3)) as server:
            port = server.server.bound_port(OUTSIDE)
            sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
            await server.until(lambda: bool(server.events(AcceptingPaused)))
            assert server.connections == 3
            for sock in sockets:
                sock.close()
            await server.until(lambda: len(server.events(ConnectionClosed)) == 10)
            assert server.connections == 0

    run(main)


def test_a_listener_has_a_limit_of_its_own() -> None:
    async def main() -> None:
        limits = CONNECTION_DEFAULTS._replace(max_per_listener={OUTSIDE: 1})
        async with Server(limits, (INSIDE, OUTSIDE)) as server:
            await server.client()
            late = await server.client(ask=False)
            waiting = asyncio.create_task(server.ask(late))
            await server.until(lambda: bool(server.events(AcceptingPaused)))
            for _ in range(3):
                await server.client(INSIDE)
            assert not waiting.done()
            assert server.connections == 4
            late.close()
            with pytest.raises(ConnectionError):
                await waiting

    run(main)


def test_the_brokers_listener_is_served_above_the_limit_and_the_longest_silent_client_goes() -> (
    None
):
    async def main() -> None:
        async with Server(
            CONNECTION_DEFAULTS._replace(max_connections=2, max_per_listener={INSIDE: 10}),
            (INSIDE, OUTSIDE),
        ) as server:
            silent, active = await server.client(), await server.client()
            address = silent.local
            server.make_silent(silent)
            await server.client(INSIDE)
            await server.until(lambda: bool(server.events(ConnectionClosed)))
            (closed,) = server.events(ConnectionClosed)
            assert isinstance(closed, ConnectionClosed)
            assert closed.connection_id.split("-")[1] == address
            assert "max.connections" in closed.reason
            await server.ask(active)
            assert server.connections == 2

    run(main)


def test_a_lower_limit_closes_the_longest_silent_and_a_higher_one_accepts_waiting_clients() -> None:
    async def main() -> None:
        async with Server(CONNECTION_DEFAULTS) as server:
            clients = [await server.client() for _ in range(4)]
            server.limit(CONNECTION_DEFAULTS._replace(max_connections=1))
            await server.until(lambda: len(server.events(ConnectionClosed)) == 3)
            assert server.connections == 1
            late = await server.client(ask=False)
            waiting = asyncio.create_task(server.ask(late))
            server.limit(CONNECTION_DEFAULTS._replace(max_connections=2))
            await waiting
            assert len(clients) == 4

    run(main)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (
            CONNECTION_DEFAULTS._replace(max_per_ip=1),
            "1 connections from 127.0.0.1 (max.connections.per.ip)",
        ),
        (
            CONNECTION_DEFAULTS._replace(max_per_ip=9, per_ip_overrides={"127.0.0.1": 1}),
            "1 connections from 127.0.0.1 (max.connections.per.ip.overrides)",
        ),
    ],
)
def test_one_too_many_from_an_address_is_closed_at_once_on_whatever_listener(
    limits: ConnectionLimits, says: str
) -> None:
    async def main() -> None:
        async with Server(limits, (INSIDE, OUTSIDE)) as server:
            first = await server.client(INSIDE)
            refused = await server.client(OUTSIDE, ask=False)
            with pytest.raises(ConnectionError):
                await server.ask(refused)
            (event,) = server.events(ConnectionRefused)
            assert isinstance(event, ConnectionRefused)
            assert event.reason == says
            first.close()
            await server.until(lambda: bool(server.events(ConnectionClosed)))
            await server.client(OUTSIDE)

    run(main)


def test_an_address_of_the_overrides_has_only_its_own_limit() -> None:
    quotas = ConnectionQuotas(
        CONNECTION_DEFAULTS._replace(max_per_ip=0, per_ip_overrides={"10.0.0.1": 2}), [OUTSIDE]
    )
    assert quotas.take(OUTSIDE, "10.0.0.2") != ""
    assert [quotas.take(OUTSIDE, "10.0.0.1") for _ in range(2)] == ["", ""]
    assert quotas.take(OUTSIDE, "10.0.0.1") != ""
    quotas.release(OUTSIDE, "10.0.0.1")
    assert quotas.take(OUTSIDE, "10.0.0.1") == ""
    assert quotas.total == 2


def test_a_single_listener_is_not_protected() -> None:
    """As in Kafka: protection needs a listener of its own."""
    quotas = ConnectionQuotas(CONNECTION_DEFAULTS._replace(max_connections=1), [INSIDE], INSIDE)
    assert quotas.take(INSIDE, "a") == ""
    assert not quotas.slot_available(INSIDE)
