"""The request path between a client and the request channel, on simulated wires.

The tests cover order, muting, back pressure and hostile bytes.
"""

import asyncio
import contextlib
import random
import struct
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.time import MockTime
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import DataPlaneRequestChannel, RequestChannel
from kafka_edu.network.socket_server import (
    CONTROL_PLANE_QUEUED_REQUESTS,
    ControlPlane,
    SocketServer,
)
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import RequestHeader, encode_request, encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryWire
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.trace.event import Level, Source
from kafka_edu.trace.events.network import ConnectionClosed, ConnectionRefused, ResponseSent
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import CONNECTION_DEFAULTS, NETWORK_DEFAULTS
from tests.without_collector import left_in_cycles

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


def test_many_requests_ahead_are_answered_in_order_one_at_a_time() -> None:
    bench = Bench()
    in_progress: list[int] = []
    order: list[int] = []

    async def slow(request: Request) -> None:
        in_progress.append(request.header.correlation_id)
        assert len(in_progress) == 1, "a muted channel gave a second request"
        await bench.time.sleep(5)
        in_progress.clear()
        order.append(request.header.correlation_id)
        await bench.answer(request)

    bench.start(slow, handlers=8)

    async def main() -> None:
        client = await bench.client()
        await asyncio.gather(*(client.send(ApiVersionsRequest(), 0, 10_000) for _ in range(50)))

    bench.loop.run_until_complete(main())
    assert order == list(range(50))
    assert bench.loop.errors == []
    split = bench.told(ResponseSent)
    assert len(split) == 50
    first = split[0]
    assert isinstance(first, ResponseSent)
    assert first.local_us == 5000
    assert first.total_us >= 5000


def test_connections_are_dealt_to_processors_in_turn() -> None:
    bench = Bench()
    bench.start(bench.answer)

    async def main() -> None:
        for _ in range(4):
            await (await bench.client()).send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    assert [len(p.channels) for p in bench.server.processors] == [2, 2]


def test_a_full_request_queue_holds_processors_back_and_loses_nothing() -> None:
    bench = Bench(capacity=3)
    bench.start(None)

    async def main() -> int:
        clients = [await bench.client() for _ in range(20)]
        waiting = [asyncio.create_task(c.send(ApiVersionsRequest(), 0, 60_000)) for c in clients]
        await bench.time.sleep(1000)
        full = bench.channel.queue_size
        for _ in clients:
            await bench.answer(await bench.channel.receive_request())
        await asyncio.gather(*waiting)
        return full

    assert bench.loop.run_until_complete(main()) == 3


def test_an_unanswered_request_closes_the_client() -> None:
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 500)
        assert not client.connected
        with pytest.raises(ConnectionError):
            await client.send(ApiVersionsRequest(), 0, 500)

    bench.loop.run_until_complete(main())


def test_each_request_has_a_deadline_of_its_own() -> None:
    """A connection has one alarm, set for its earliest deadline and set again when that request is
    answered.
    """
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        patient = asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 10_000))
        await asyncio.sleep(0)  # it is under way
        began = bench.time.hi_res_clock_ms()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 500)
        assert bench.time.hi_res_clock_ms() - began == 500
        with pytest.raises(ConnectionError):
            await patient

        client = await bench.client()
        answered = asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 500))
        for _ in range(2):  # the first was the patient client's
            request = await bench.channel.receive_request()
        await bench.answer(request)
        await answered
        began = bench.time.hi_res_clock_ms()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 2000)
        assert bench.time.hi_res_clock_ms() - began == 2000

    bench.loop.run_until_complete(main())


def test_whom_a_handler_answers_is_told_when_it_has_done_its_part() -> None:
    """All responses for one processor's connections leave together, at once.

    A response made when no handler works leaves with the loop's next turn.
    """
    bench = Bench()
    bench.start(None)

    def waiting() -> list[int]:
        return [processor.response_queue_size for processor in bench.server.processors]

    async def main() -> None:
        clients = [await bench.client() for _ in range(4)]  # two processors with two clients each
        answers = [
            asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 1000)) for client in clients
        ]
        requests = [await bench.channel.receive_request() for _ in clients]
        bench.channel.begin_handling()
        for request in requests[:3]:
            await bench.answer(request)
        await asyncio.sleep(0)
        assert sorted(waiting()) == [1, 2]
        bench.channel.end_handling()
        assert waiting() == [0, 0]
        await bench.answer(requests[3])
        assert sorted(waiting()) == [0, 1]
        await asyncio.sleep(0)
        assert waiting() == [0, 0]
        await asyncio.gather(*answers)

    bench.loop.run_until_complete(main())


@pytest.mark.parametrize(
    ("bytes_sent", "why"),
    [
        (struct.pack(">i", -1), "-1"),
        (struct.pack(">i", 0), "0"),
        (struct.pack(">i", (1 << 20) + 1), "1048577"),
        (struct.pack(">i", 3) + b"abc", "header"),
        (b"GET / HTTP/1.1\r\n\r\n", str(int.from_bytes(b"GET ", "big"))),
    ],
)
def test_a_hostile_frame_costs_its_connection_and_nothing_else(bytes_sent: bytes, why: str) -> None:
    bench = Bench()
    bench.start(bench.answer)

    async def main() -> None:
        bystander = await bench.client()
        hostile = await bench.client()
        assert hostile._wire is not None
        hostile._wire.send([bytes_sent])
        await bench.time.sleep(100)
        assert not hostile.connected
        await bystander.send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    (closed,) = bench.told(ConnectionClosed)
    assert isinstance(closed, ConnectionClosed)
    assert why in closed.reason


def test_a_frame_never_finished_is_idle_in_the_end_and_a_waiting_request_is_not() -> None:
    bench = Bench(max_idle_ms=10_000)

    async def late(request: Request) -> None:
        await bench.time.sleep(30_000)
        await bench.answer(request)

    bench.start(late, handlers=2)

    async def main() -> None:
        slow, patient = await bench.client(), await bench.client()
        assert slow._wire is not None
        slow._wire.send(
            [
                b"".join(
                    bytes(p)
                    for p in encode_request(ApiVersionsRequest(), 0, 1, "x")
                    if not isinstance(p, tuple)
                )[:9]
            ]
        )
        answer = asyncio.create_task(patient.send(ApiVersionsRequest(), 0, 60_000))
        await bench.time.sleep(20_000)
        assert not slow.connected
        await answer

    bench.loop.run_until_complete(main())


def test_a_frame_that_comes_byte_by_byte_must_be_complete_in_time() -> None:
    bench = Bench(max_idle_ms=10_000)
    bench.start(bench.answer)
    frame = b"".join(
        bytes(p)
        for p in encode_request(ApiVersionsRequest(), 0, 1, "x" * 100)
        if not isinstance(p, tuple)
    )

    async def main() -> None:
        clients = [await bench.client() for _ in range(3)]
        slow, slower, steady = (client._wire for client in clients)
        assert slow is not None
        assert slower is not None
        for at in range(20):
            slow.send(
                [frame[at * 10 : at * 10 + 10]]
            )  # complete after 8 s; the answer then matches no request of this client, so it leaves
            slower.send([frame[at : at + 1]])
            await clients[2].send(ApiVersionsRequest(), 0, 1000)
            await bench.time.sleep(700)
        assert clients[2]._wire is steady

    bench.loop.run_until_complete(main())
    reasons = [
        closed.reason
        for closed in bench.told(ConnectionClosed)
        if isinstance(closed, ConnectionClosed)
    ]
    assert reasons == ["closed by the other side", "idle for 10000 ms (connections.max.idle.ms)"]


def test_who_does_not_read_the_answer_is_closed_and_who_reads_slowly_is_not() -> None:
    bench = Bench(max_idle_ms=10_000)

    async def never(_: Request) -> None:
        await bench.time.sleep(1_000_000)

    bench.start(never, handlers=2)

    async def main() -> None:
        clients = [await bench.client() for _ in range(2)]
        for client in clients:
            bench.loop.create_task(client.send(ApiVersionsRequest(), 0, 1_000_000))
        await bench.time.sleep(100)
        channels = [
            channel
            for processor in bench.server.processors
            for channel in processor.channels.values()
        ]
        slow, stuck = (
            next(channel for channel in channels if channel.wire.peer == client.local)
            for client in clients
        )
        assert isinstance(slow.wire, MemoryWire)
        assert isinstance(stuck.wire, MemoryWire)
        slow.wire.unsent = stuck.wire.unsent = 1000  # as if the kernel accepted no more
        for _ in range(30):
            await bench.time.sleep(1000)
            slow.wire.unsent -= 1
        assert [client.connected for client in clients] == [True, False]
        bench.server.shutdown()

    bench.loop.run_until_complete(main())


def test_one_connection_too_many_is_refused() -> None:
    bench = Bench(max_connections_per_ip=2)
    bench.start(bench.answer)

    async def main() -> None:
        clients = [await bench.client() for _ in range(3)]
        await bench.time.sleep(10)
        assert [c.connected for c in clients] == [True, True, False]
        clients[0].close()
        await bench.time.sleep(10)
        await (await bench.client()).send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    assert len(bench.told(ConnectionRefused)) == 1


def test_the_control_plane_has_a_door_a_processor_and_a_queue_of_its_own() -> None:
    """The data plane's queue is full and nobody empties it. A request by the other listener does
    not wait behind it (KIP-291).
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


def test_a_request_that_is_not_answered_leaves_nothing_for_the_garbage_collector() -> None:
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        with contextlib.suppress(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 100)

    assert left_in_cycles(lambda: bench.loop.run_until_complete(main()), TimeoutError) == []


def test_where_there_is_a_control_plane_the_loop_turns_between_two_requests_of_the_data_plane() -> (
    None
):
    """Three handlers find twenty requests. Whatever became ready meanwhile runs after each, and no
    request is lost or out of order.
    """
    order: list[str] = []

    async def scenario(make: Callable[[MockTime, int], RequestChannel]) -> None:
        channel = make(MockTime(), 100)
        order.clear()
        for number in range(20):
            assert channel.try_send_request(
                Request(CONNECTION, RequestHeader(3, 0, number, None), b"", 0, 0)
            )

        async def handle() -> None:
            while True:
                order.append(str((await channel.receive_request()).header.correlation_id))

        async def others() -> None:
            for _ in range(30):
                order.append("turn")
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work) for work in (handle(), handle(), handle(), others())]
        for _ in range(100):
            await asyncio.sleep(0)
        late = Request(CONNECTION, RequestHeader(3, 0, 20, None), b"", 0, 0)
        assert channel.try_send_request(late)
        for _ in range(5):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    requests = [str(number) for number in range(21)]
    asyncio.run(scenario(RequestChannel))
    assert order[:20] == requests[:20]
    asyncio.run(scenario(DataPlaneRequestChannel))
    assert [each for each in order if each != "turn"] == requests
    gaps = "".join("." if each == "turn" else "R" for each in order[: order.index("14")])
    assert "RR" not in gaps
