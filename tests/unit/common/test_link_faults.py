"""Slow and cut links, in virtual time: order, delay, and what waits behind a cut."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from kafka_edu.common.link_faults import WHOLE, FaultyTransport, LinkFault
from kafka_edu.common.transport import Wire
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop

HOST, PORT = "127.0.0.1", 9092


class Heard:
    """Keeps what arrives and when (ms), and may answer it."""

    def __init__(self, loop: SimLoop, answer: bytes = b"") -> None:
        self.pieces: list[tuple[int, bytes]] = []
        self.lost = ""
        self.wires: list[Wire] = []
        self._loop, self._answer = loop, answer

    def __call__(self, wire: Wire) -> "Heard":
        self.wires.append(wire)
        return self

    def data_received(self, data: memoryview) -> None:
        self.pieces.append((self._loop.now_ns // 1_000_000, bytes(data)))
        if self._answer:
            self.wires[-1].send([self._answer])

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.lost = reason

    @property
    def text(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)

    @property
    def last_ms(self) -> int:
        return self.pieces[-1][0]


class World:
    """A client behind a faulty transport, and a server that answers each piece with `.`."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        network = MemoryNetwork(self.loop, random.Random(7), (0.0, 0.0))
        self.plain = network.transport()
        self.transport = FaultyTransport(self.plain)
        self.server, self.client = Heard(self.loop, b"."), Heard(self.loop)

    async def connect(self, timeout_ms: float = 1000) -> Wire:
        return await self.transport.connect(HOST, PORT, self.client, timeout_ms)

    def fault(self, fault: LinkFault) -> None:
        self.transport.set_fault(PORT, fault)


def run(story: Callable[[World], Awaitable[None]]) -> None:
    world = World()

    async def play() -> None:
        await world.plain.listen(HOST, PORT, world.server)
        await story(world)

    world.loop.run_until_complete(play())


def test_a_whole_link_passes_everything_at_once() -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        wire.send([b"one", b"two"])
        await asyncio.sleep(0.001)
        assert world.server.text == b"onetwo"
        assert world.client.text.startswith(b".")
        assert world.transport.faults() == {}

    run(story)


def test_a_piece_is_delivered_though_the_clock_rounds_its_time_down() -> None:
    """0.11 s + 0.1 s is 0.21000000000000002 s as a float. But at that moment the loop's clock shows
    0.21 s.
    """

    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(100))
        await asyncio.sleep(0.11)
        assert world.loop.time() + 0.1 > 0.21
        wire.send([b"one"])
        await asyncio.sleep(0.2)
        assert world.server.text == b"one"

    run(story)


def test_a_slow_link_delays_both_directions_and_keeps_the_order() -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(200))
        began = world.loop.now_ns // 1_000_000
        wire.send([b"one"])
        await asyncio.sleep(0.05)
        wire.send([b"two"])
        assert wire.unsent == 6
        await asyncio.sleep(0.1)
        assert world.server.text == b""
        await asyncio.sleep(0.06)
        assert world.server.text == b"one"
        await asyncio.sleep(1)
        assert world.server.text == b"onetwo"
        assert world.server.last_ms - began == 250
        assert world.client.last_ms - began == 450, "and 200 ms back"
        assert wire.unsent == 0
        assert world.transport.faults() == {PORT: LinkFault(200)}

    run(story)


def test_a_cut_link_holds_what_was_sent_until_it_is_healed() -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(cut=True))
        wire.send([b"one"])
        await asyncio.sleep(30)
        assert (world.server.text, world.client.lost) == (b"", ""), "neither side gets an error"
        world.fault(WHOLE)
        wire.send([b"two"])
        await asyncio.sleep(0.001)
        assert world.server.text == b"onetwo"

    run(story)


def test_nobody_connects_over_a_cut_link_until_it_is_healed() -> None:
    async def story(world: World) -> None:
        world.fault(LinkFault(cut=True))
        began = world.loop.now_ns
        with pytest.raises(TimeoutError, match="the link is cut"):
            await world.connect(timeout_ms=1000)
        assert (world.loop.now_ns - began) // 1_000_000 == 1000
        connecting = asyncio.ensure_future(world.connect(timeout_ms=1000))
        await asyncio.sleep(0.5)
        assert not connecting.done()
        world.fault(WHOLE)
        await connecting

    run(story)


def test_what_waits_goes_with_the_connection() -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(500))
        wire.send([b"one"])
        wire.close()
        world.fault(WHOLE)
        await asyncio.sleep(1)
        assert world.server.text == b""
        assert world.client.lost

    run(story)


def test_a_link_that_becomes_whole_delivers_at_once_and_in_order() -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(5000))
        for number in range(10):
            wire.send([b"%d" % number])
        world.fault(WHOLE)
        wire.send([b"!"])
        await asyncio.sleep(0.01)
        assert world.server.text == b"0123456789!"

    run(story)


def test_a_reset_ends_what_is_open_and_new_connections_pass() -> None:
    async def story(world: World) -> None:
        assert world.transport.reset(PORT) == 0
        await world.connect()
        world.fault(LinkFault(200))
        world.client.wires[0].send([b"lost"])
        assert world.transport.reset(PORT) == 1
        await asyncio.sleep(0.5)
        assert world.client.lost
        assert world.server.lost
        assert world.server.text == b""
        assert world.transport.faults() == {PORT: LinkFault(200)}, "a reset is no state"
        world.fault(WHOLE)
        wire = await world.connect()
        wire.send([b"again"])
        await asyncio.sleep(0.001)
        assert world.server.text == b"again"

    run(story)


def test_the_end_of_a_connection_arrives_behind_what_a_slow_link_holds() -> None:
    async def story(world: World) -> None:
        await world.connect()
        world.fault(LinkFault(200))
        world.server.wires[0].send([b"last words"])
        world.server.wires[0].close()
        await asyncio.sleep(0.15)
        assert (world.client.text, world.client.lost) == (b"", "")
        await asyncio.sleep(0.15)
        assert world.client.text == b"last words"
        assert world.client.lost == "closed by the other side"

    run(story)


def test_nobody_hears_of_an_end_behind_a_cut_until_it_is_healed() -> None:
    async def story(world: World) -> None:
        await world.connect()
        world.fault(LinkFault(cut=True))
        world.server.wires[0].send([b"last words"])
        world.server.wires[0].close()
        await asyncio.sleep(30)
        assert (world.client.text, world.client.lost) == (b"", "")
        world.fault(WHOLE)
        assert world.client.text == b"last words"
        assert world.client.lost

    run(story)


@pytest.mark.parametrize("server_first", [False, True])
def test_whoever_closes_a_cut_connection_hears_of_its_end_at_once(server_first: bool) -> None:
    async def story(world: World) -> None:
        wire = await world.connect()
        world.fault(LinkFault(cut=True))
        if server_first:
            world.server.wires[0].close()
            await asyncio.sleep(0.01)
        wire.close()
        await asyncio.sleep(0.001)
        assert world.client.lost
        world.client.lost = ""
        world.fault(WHOLE)
        await asyncio.sleep(0.01)
        assert not world.client.lost, "an end is reported once"

    run(story)
