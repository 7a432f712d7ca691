"""The pool of request handlers changes its size while it works: no request is lost, and the number
of handlers is right.
"""

import asyncio
import weakref
from types import SimpleNamespace

from kafka_edu.common.time import MockTime
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.headers import RequestHeader
from kafka_edu.server.kafka_request_handler_pool import KafkaRequestHandlerPool
from tests.defaults import NETWORK_DEFAULTS
from tests.without_collector import without_collector


class WatchedRequest(Request):
    """A request that a weak reference can watch."""

    __slots__ = ("__weakref__",)


CONNECTION = SimpleNamespace(
    connection_id="here-there-0", client_address="127.0.0.1", listener_name="PLAINTEXT"
)


class World:
    def __init__(self, size: int) -> None:
        self.channel = RequestChannel(MockTime(), NETWORK_DEFAULTS.queued_max_requests)
        self.taken: list[int] = []
        self.gate = asyncio.Event()
        self.failed: list[str] = []
        self.pool = KafkaRequestHandlerPool(
            self.channel,
            self.handle,
            MockTime(),
            None,
            num_io_threads=size,
            on_failure=lambda name, _: self.failed.append(name),
        )
        self.pool.start()

    def handle(self, request: Request):
        self.taken.append(request.header.correlation_id)
        return self.gate.wait()

    def send(self, number: int) -> None:
        assert self.channel.try_send_request(
            Request(CONNECTION, RequestHeader(3, 0, number, None), b"", 0, 0)
        )


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(scenario) -> None:
    async def body() -> None:
        await scenario()

    asyncio.run(body())


def test_grown_and_shrunk_in_one_breath_it_has_the_size_it_was_told_last() -> None:
    async def scenario() -> None:
        world = World(4)
        await turns()
        world.pool.resize(2)
        world.pool.resize(4)
        await turns()
        for number in range(6):
            world.send(number)
        await turns()
        assert world.pool.busy == 4
        assert world.taken == [0, 1, 2, 3]
        world.gate.set()
        await turns()
        assert world.taken == [0, 1, 2, 3, 4, 5]
        await world.pool.shutdown()
        assert world.failed == []

    run(scenario)


def test_who_is_at_work_ends_with_his_request() -> None:
    async def scenario() -> None:
        world = World(3)
        await turns()
        for number in range(3):
            world.send(number)
        await turns()
        world.pool.resize(1)
        for number in range(3, 6):
            world.send(number)
        await turns()
        assert world.pool.busy == 3
        world.gate.set()
        await turns()
        world.gate.clear()
        world.send(6)
        world.send(7)
        await turns()
        assert world.pool.busy == 1
        assert world.taken == list(range(7))
        await world.pool.shutdown()

    run(scenario)


def test_a_request_that_was_given_to_one_who_goes_is_given_to_another() -> None:
    async def scenario() -> None:
        world = World(2)
        await turns()
        world.send(0)  # both wait: the first gets it, but has not woken yet
        world.send(1)
        world.pool.resize(1)
        await turns()
        world.gate.set()
        await turns()
        assert sorted(world.taken) == [0, 1]
        await world.pool.shutdown()

    run(scenario)


def test_an_idle_handler_keeps_nothing_of_its_last_request() -> None:
    """Otherwise a request of 100 MB stays in memory until the same handler gets another one."""

    async def scenario() -> None:
        world = World(2)
        await turns()
        request = WatchedRequest(CONNECTION, RequestHeader(3, 0, 1, None), b"", 0, 0)
        gone = weakref.ref(request)
        assert world.channel.try_send_request(request)
        del request
        await turns()
        world.gate.set()
        with without_collector():
            await turns()
            assert world.pool.busy == 0
            assert gone() is None

    run(scenario)
