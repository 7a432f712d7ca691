"""queued.max.request.bytes: while the pool of memory is empty, no new request is read. Nobody waits
for ever.

`SIZE` is the size of a small request. A large request is the same with a long client id.
"""

import asyncio
import random
import tracemalloc
from collections.abc import Awaitable, Callable

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.network.memory_pool import SMALL_REQUEST_BYTES, MemoryPool
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import SocketServer
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import encode_request, encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from tests.defaults import NETWORK_DEFAULTS
from tests.without_collector import without_collector

REQUEST = b"".join(bytes(part) for part in encode_request(ApiVersionsRequest(), 0, 0, "test"))
SIZE = len(REQUEST) - 4


class Silent:
    """A client that does not listen."""

    def data_received(self, data: memoryview) -> None: ...

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class Bench:
    """A server whose requests a test answers by hand."""

    def __init__(self, pool_bytes: int, seed: int = 1, max_request_size: int = 1 << 20) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.network = MemoryNetwork(self.loop, random.Random(seed))
        self.channel = RequestChannel(self.time, NETWORK_DEFAULTS.queued_max_requests)
        end_point = EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT")
        self.server = SocketServer(
            [end_point],
            self.network.transport(),
            self.time,
            self.channel,
            None,
            NETWORK_DEFAULTS._replace(
                num_network_threads=2,
                socket_request_max_bytes=max_request_size,
                queued_max_request_bytes=pool_bytes,
            ),
            inter_broker_listener=None,
        )
        self.loop.run_until_complete(self.start())

    async def start(self) -> None:
        await self.server.bind()
        self.server.start_processing()

    @property
    def pool(self) -> MemoryPool:
        assert self.server.memory_pool is not None
        return self.server.memory_pool

    async def client(self) -> NetworkClient:
        client = NetworkClient(self.network.transport(), "test")
        await client.connect("127.0.0.1", 9092, 1000)
        return client

    async def answer(self, request: Request) -> None:
        """Do what a handler does."""
        version, number = request.header.api_version, request.header.correlation_id
        self.channel.send_response(
            request,
            encode_response(ApiKey.API_VERSIONS, version, number, ApiVersionsResponse(api_keys=[])),
        )
        request.release_memory()

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        async def body() -> None:
            await work()

        self.loop.run_until_complete(body())
        assert self.loop.errors == []


def test_with_the_pool_exhausted_no_request_begins_until_one_is_done() -> None:
    bench = Bench(2 * SIZE)

    async def main() -> None:
        clients = [await bench.client() for _ in range(5)]
        asked = [
            asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 60_000))
            for client in clients
        ]
        await bench.time.sleep(100)
        assert bench.channel.queue_size == 2
        assert bench.pool.available == 0
        assert bench.pool.waiting == 3
        for done in range(1, 6):
            await bench.answer(await bench.channel.receive_request())
            await bench.time.sleep(100)
            assert bench.channel.queue_size == min(2, 5 - done)
        await asyncio.gather(*asked)
        assert bench.pool.available == bench.pool.size

    bench.run(main)


def test_the_pool_is_not_strict_one_request_may_take_more_than_is_left() -> None:
    """As Kafka's SimpleMemoryPool with strict=false."""
    pool = MemoryPool(100)
    huge = SMALL_REQUEST_BYTES
    assert pool.try_allocate(99)
    assert pool.try_allocate(huge)
    assert not pool.try_allocate(huge)
    pool.release(huge)
    assert pool.available == 1


def test_a_small_request_waits_only_for_small_ones() -> None:
    pool = MemoryPool(100)
    huge = 100 * SMALL_REQUEST_BYTES
    assert pool.try_allocate(huge)
    assert pool.try_allocate(60)
    assert pool.try_allocate(60)
    assert not pool.try_allocate(1), "120 bytes of small requests are more than 100"
    pool.release(huge)
    assert not pool.try_allocate(1)
    pool.release(60)
    assert pool.try_allocate(1)
    pool.release(1)
    pool.release(60)
    assert pool.available == pool.available_to_small == 100


def test_a_large_request_waits_for_another_and_small_ones_pass_both() -> None:
    large = SMALL_REQUEST_BYTES + SIZE
    bench = Bench(large // 2, max_request_size=2 * large)
    announced = large.to_bytes(4, "big")

    async def main() -> None:
        transport = bench.network.transport()
        wires = [
            await transport.connect("127.0.0.1", 9092, lambda _: Silent(), 1000) for _ in range(2)
        ]
        for wire in wires:
            wire.send([announced + REQUEST[4:]])
        await bench.time.sleep(100)
        assert bench.pool.available < 0
        assert bench.pool.waiting == 1
        small = await bench.client()
        asked = asyncio.ensure_future(small.send(ApiVersionsRequest(), 0, 60_000))
        await bench.answer(await bench.channel.receive_request())
        await asked
        for wire in wires:
            wire.send([bytes(large - SIZE)])
            await bench.time.sleep(100)
            request = await bench.channel.receive_request()
            assert len(request.frame) == large
            await bench.answer(request)
            await bench.time.sleep(100)
        assert bench.pool.waiting == 0
        assert bench.pool.available == bench.pool.available_to_small == bench.pool.size

    bench.run(main)


def test_large_requests_that_a_client_sends_ahead_take_no_memory_before_their_turn() -> None:
    large = SMALL_REQUEST_BYTES + SIZE
    bench = Bench(3 * large, max_request_size=large)
    request = large.to_bytes(4, "big") + REQUEST[4:] + bytes(large - SIZE)

    async def main() -> None:
        wire = await bench.network.transport().connect("127.0.0.1", 9092, lambda _: Silent(), 1000)
        wire.send([request] * 3)
        await bench.time.sleep(100)
        for _ in range(3):
            assert bench.pool.available == 2 * large
            await bench.answer(await bench.channel.receive_request())
            await bench.time.sleep(100)
        assert bench.pool.available == bench.pool.size

    bench.run(main)


def test_a_connection_that_goes_gives_back_what_it_held() -> None:
    """One connection is in the middle of a request, one waits for memory, and one announces a size
    that is too large.
    """
    bench = Bench(SIZE, max_request_size=SIZE)

    async def main() -> None:
        transport = bench.network.transport()
        begun = await transport.connect("127.0.0.1", 9092, lambda _: Silent(), 1000)
        begun.send([REQUEST[:10]])
        await bench.time.sleep(100)
        assert bench.pool.available == 0
        waits = await transport.connect("127.0.0.1", 9092, lambda _: Silent(), 1000)
        waits.send([REQUEST])
        last = await bench.client()
        asked = asyncio.ensure_future(last.send(ApiVersionsRequest(), 0, 60_000))
        await bench.time.sleep(100)
        assert bench.pool.waiting == 2
        waits.close()  # not noticed before it is read again, as with every paused connection
        begun.close()
        while not asked.done():
            await bench.answer(await bench.channel.receive_request())
            await bench.time.sleep(100)
        assert bench.pool.available == bench.pool.size
        broken = await transport.connect("127.0.0.1", 9092, lambda _: Silent(), 1000)
        broken.send([REQUEST + b"\x7f\xff\xff\xff"])
        await bench.time.sleep(100)
        if bench.channel.queue_size:
            await bench.answer(await bench.channel.receive_request())
        await bench.time.sleep(100)
        assert bench.pool.available == bench.pool.size

    bench.run(main)


def test_a_client_that_goes_in_the_middle_of_a_large_request_leaves_no_memory_behind() -> None:
    """The memory of the bytes that have arrived is freed at once, without the garbage collector."""
    large = 16 << 20
    bench = Bench(2 * large, max_request_size=large)
    half = bytes(large // 2)

    async def main() -> None:
        for _ in range(3):
            wire = await bench.network.transport().connect("127.0.0.1", 9092, lambda _: Silent(), 9)
            wire.send([large.to_bytes(4, "big"), half])
            await bench.time.sleep(100)
            assert bench.pool.available == large
            wire.close()
            await bench.time.sleep(100)
            assert bench.pool.available == bench.pool.size

    with without_collector():
        tracemalloc.start()
        try:
            bench.run(main)
            left, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak > len(half)
    assert left < len(half) // 8


def test_every_request_is_answered_in_order_and_all_memory_comes_back_whatever_the_cuts() -> None:
    for seed in range(20):
        bench = Bench(3 * SIZE, seed)

        async def serve(bench: Bench = bench) -> None:
            while True:
                request = await bench.channel.receive_request()
                await bench.time.sleep(1)
                await bench.answer(request)

        async def main(bench: Bench = bench) -> None:
            clients = [await bench.client() for _ in range(6)]
            await asyncio.gather(
                *(
                    client.send(ApiVersionsRequest(), 0, 600_000)
                    for _ in range(30)
                    for client in clients
                )
            )
            assert bench.pool.available == bench.pool.size
            assert bench.pool.waiting == 0

        for _ in range(2):
            bench.loop.create_task(serve())
        bench.run(main)


def test_a_frame_that_may_not_begin_is_held_with_its_size_and_can_be_fed_again() -> None:
    allowed = [False]
    for cut in range(1, len(REQUEST)):
        receiver = FrameReceiver(1 << 20, lambda _: allowed[0])
        allowed[0] = False
        fed = [memoryview(REQUEST[:cut]), memoryview(REQUEST[cut:])]
        frames = receiver.feed(fed[0])
        if receiver.held is None:
            frames += receiver.feed(fed[1])
            rest = b""
        else:
            rest = bytes(fed[1])
        assert frames == []
        assert receiver.held is not None
        allowed[0] = True
        again, receiver.held = bytes(receiver.held) + rest, None
        assert receiver.feed(memoryview(again)) == [REQUEST[4:]]
