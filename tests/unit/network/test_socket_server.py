"""The request path between a client and the request channel, on simulated wires.

The tests cover order, muting, back pressure and hostile bytes.
"""

import random
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import (
    CONTROL_PLANE_QUEUED_REQUESTS,
    ControlPlane,
    SocketServer,
)
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.trace.event import Level, Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import CONNECTION_DEFAULTS, NETWORK_DEFAULTS

CONNECTION = SimpleNamespace(
    connection_id="here-there-0", client_address="127.0.0.1", listener_name="PLAINTEXT"
)


class Bench:
    """A server with one listener in a simulation, and the handler that a test gives it."""

    def __init__(
        self,
        *,
        capacity: int = 500,
        max_connections_per_ip: int = 100,
        max_idle_ms: int = 600_000,
        max_request_size: int = 1 << 20,
    ) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.network = MemoryNetwork(self.loop, random.Random(7))
        self.tracer = Tracer(Source.of_broker(0), self.time)
        self.ring = RingSink(level=Level.ALL)
        self.tracer.add_sink(self.ring)
        self.channel = RequestChannel(self.time, capacity)
        self.server = SocketServer(
            [EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT")],
            self.network.transport(),
            self.time,
            self.channel,
            self.tracer,
            NETWORK_DEFAULTS._replace(
                num_network_threads=2,
                connection_limits=CONNECTION_DEFAULTS._replace(max_per_ip=max_connections_per_ip),
                connections_max_idle_ms=max_idle_ms,
                socket_request_max_bytes=max_request_size,
            ),
            inter_broker_listener=None,
        )

    def start(
        self, handler: Callable[[Request], Awaitable[None]] | None, handlers: int = 1
    ) -> None:
        async def begin() -> None:
            await self.server.bind()
            self.server.start_processing()

        async def serve() -> None:
            assert handler is not None
            while True:
                await handler(await self.channel.receive_request())

        self.loop.run_until_complete(begin())
        if handler is not None:
            for _ in range(handlers):
                self.loop.create_task(serve())

    async def answer(self, request: Request) -> None:
        self.channel.send_response(
            request,
            encode_response(
                ApiKey.API_VERSIONS,
                request.header.api_version,
                request.header.correlation_id,
                ApiVersionsResponse(api_keys=[]),
            ),
        )

    async def client(self) -> NetworkClient:
        client = NetworkClient(self.network.transport(), "test")
        await client.connect("127.0.0.1", 9092, 1000)
        return client

    def told(self, kind: type) -> list[object]:
        return [e.event for e in self.ring.events if isinstance(e.event, kind)]


def test_the_control_plane_has_a_door_a_processor_and_a_queue_of_its_own() -> None:
    """The data plane's queue is full and nobody empties it. A request to the control plane's
    listener does not wait for that queue (KIP-291).
    """
    loop = SimLoop()
    time = SimTime(loop)
    network = MemoryNetwork(loop, random.Random(7))
    data, control = RequestChannel(time, 1), RequestChannel(time, CONTROL_PLANE_QUEUED_REQUESTS)
    end_points = [
        EndPoint("127.0.0.1", port, name, "PLAINTEXT")
        for port, name in ((9092, "PLAINTEXT"), (9093, "CONTROL"))
    ]
    plane = ControlPlane("CONTROL", control)
    server = SocketServer(
        end_points,
        network.transport(),
        time,
        data,
        None,
        NETWORK_DEFAULTS._replace(num_network_threads=2),
        inter_broker_listener=None,
        control_plane=plane,
    )
    assert [len(server.acceptors[name].processors) for name in ("PLAINTEXT", "CONTROL")] == [2, 1]
    server.resize_processors(5)
    assert [len(server.acceptors[name].processors) for name in ("PLAINTEXT", "CONTROL")] == [5, 1]

    async def send(port: int) -> None:
        client = NetworkClient(network.transport(), "test")
        await client.connect("127.0.0.1", port, 1000)
        loop.create_task(client.send(ApiVersionsRequest(), 0, 10_000))

    async def scenario() -> None:
        await server.bind()
        server.start_processing()
        for port in (9092, 9092, 9092, 9093):
            await send(port)

    loop.run_until_complete(scenario())
    loop.advance(100)
    assert (data.queue_size, control.queue_size) == (1, 1)
    assert control.capacity == 20
    server.shutdown()
