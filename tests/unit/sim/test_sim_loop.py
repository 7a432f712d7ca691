"""The virtual clock: time jumps, the order is fixed, and processes are killed and paused as by
signals.
"""

import asyncio
import gc
import inspect
import random
import weakref
from contextlib import suppress
from functools import partial

import pytest

from kafka_edu.common.transport import Wire
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import (
    WORLD,
    Passage,
    SimLoop,
    SimProcess,
    SimTime,
    SimulationStalledError,
    context_of,
    current_process,
)


def test_time_jumps_to_the_next_timer() -> None:
    loop = SimLoop()
    time = SimTime(loop)
    loop.run_until_complete(time.sleep(3_600_000))
    assert loop.now_ns == 3_600_000 * 1_000_000
    assert time.milliseconds() == 1_600_000_000_000 + 3_600_000


def test_timers_of_one_instant_run_in_the_order_they_were_set() -> None:
    loop = SimLoop()
    order: list[int] = []
    for i in range(5):
        loop.call_later(1, order.append, i)
    loop.call_later(0.5, order.append, 99)
    loop.advance(1000)
    assert order == [99, 0, 1, 2, 3, 4]


def test_what_cannot_run_now_does_not_move_the_clock_beyond_the_time_that_passes() -> None:
    """A timer of a paused process is put aside, and a cancelled callback is dropped. The timer
    after them is due later, so it has to wait.
    """
    loop = SimLoop()
    process = SimProcess("broker")
    seen: list[float] = []
    loop.call_later(0.001, seen.append, 1, context=context_of(process))
    loop.call_later(0.020, lambda: seen.append(loop.time()))
    loop.pause(process)
    loop.call_soon(seen.append, 2).cancel()
    loop.advance(10)
    assert (seen, loop.time()) == ([], 0.010)
    loop.advance(15)
    assert (seen, loop.time()) == ([0.020], 0.025)
    loop.resume(process)
    loop.advance(0)
    assert seen == [0.020, 1]


class Argument:
    """An argument of a timer. A timer that was dropped must not keep it alive."""


def test_cancelled_timers_are_dropped_as_soon_as_they_are_more_than_half() -> None:
    loop, order = SimLoop(), list[int]()
    for number in range(200):
        loop.call_later(60 - number % 7, order.append, number)
    kept = sorted(range(200), key=lambda number: (60 - number % 7, number))
    handles, arguments = [], list[weakref.ref[Argument]]()
    for number in range(201):
        argument = Argument()
        arguments.append(weakref.ref(argument))
        handles.append(loop.call_later(30 + number % 5, order.append, argument))
    del argument
    while handles:
        assert sum(one() is None for one in arguments) == 0, "half of them are cancelled, or less"
        handle = handles.pop()
        handle.cancel()
        handle.cancel()  # twice is once
        del handle
    assert sum(one() is None for one in arguments) == 201
    loop.advance(100_000)
    assert order == kept


def test_a_timer_that_was_cancelled_too_late_does_not_count_as_one_that_waits() -> None:
    loop, ran = SimLoop(), list[int]()
    late = [loop.call_later(0.001, ran.append, number) for number in range(300)]
    loop.advance(1)
    argument = Argument()
    held = weakref.ref(argument)
    waiting = loop.call_later(1, ran.append, argument)
    for number in range(200):
        loop.call_later(2, ran.append, number)
    del argument
    waiting.cancel()
    del waiting
    for handle in late:
        handle.cancel()
    assert held() is not None, "one of 201 timers is cancelled"
    loop.advance(1_000)
    assert held() is None
    assert len(ran) == 300
    loop.advance(1_000)
    assert len(ran) == 500


def test_a_loop_that_is_closed_ends_every_coroutine_and_nobody_hears_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, process = SimLoop(), SimProcess("broker")
    said, ended = list[object](), list[str]()
    monkeypatch.setattr("sys.unraisablehook", said.append)

    async def waits(name: str) -> None:
        try:
            await asyncio.sleep(1)
        finally:
            for _ in range(3):
                with suppress(RuntimeError):
                    async with asyncio.timeout(1):  # it needs the loop
                        await asyncio.sleep(1)
                await loop.create_future()
            ended.append(name)

    async def fails() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            raise KeyError("here")

    tasks = [loop.spawn(process, waits("first"))]
    killed = SimProcess("killed")
    tasks.append(loop.spawn(killed, waits("killed")))
    tasks.append(loop.spawn(process, fails()))
    loop.advance(500)
    loop.kill(killed)
    tasks.append(loop.spawn(process, waits("has not begun")))
    loop.close()
    coroutines = [coro for task in tasks if inspect.iscoroutine(coro := task.get_coro())]
    states = {inspect.getcoroutinestate(coro) for coro in coroutines}
    assert len(coroutines) == len(tasks)
    assert states == {inspect.CORO_CLOSED}
    tasks.clear()
    coroutines.clear()
    gc.collect()
    assert said == []
    assert ended == [], "a coroutine that awaits again is closed again"


def test_asyncio_primitives_work_in_virtual_time() -> None:
    loop = SimLoop()

    async def main() -> str:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await queue.get()
        return f"{loop.time():g}"

    assert loop.run_until_complete(main()) == "5"


def test_a_killed_process_runs_no_line_more_not_even_finally() -> None:
    loop = SimLoop()
    process = SimProcess("broker")
    seen: list[str] = []

    async def body() -> None:
        try:
            while True:
                seen.append("tick")
                await asyncio.sleep(1)
        finally:
            seen.append("finally")

    task = loop.spawn(process, body())
    loop.advance(2500)
    loop.kill(process)
    task.cancel()
    loop.advance(10_000)
    assert seen == ["tick", "tick", "tick"]


def test_a_paused_process_catches_up_when_resumed() -> None:
    loop = SimLoop()
    process = SimProcess("broker")
    seen: list[float] = []

    async def body() -> None:
        while True:
            seen.append(loop.time())
            await asyncio.sleep(1)

    loop.spawn(process, body())
    loop.advance(1500)
    loop.pause(process)
    loop.advance(5000)
    assert seen == [0, 1]
    loop.resume(process)
    loop.advance(1)
    assert seen == [0, 1, 6.5]


def test_time_never_goes_back_when_a_paused_process_has_a_timer_that_is_due() -> None:
    """The timer after the paused one is due after the end of the advance, so it must wait."""
    loop, paused = SimLoop(), SimProcess("paused")
    ran_ms: list[float] = []

    async def sleep(ms: int) -> None:
        await asyncio.sleep(ms / 1000)
        ran_ms.append(loop.now_ns / 1e6)

    loop.spawn(paused, sleep(5))
    loop.spawn(WORLD, sleep(30))
    loop.advance(1)
    loop.pause(paused)
    loop.advance(9)
    assert (loop.now_ns / 1e6, ran_ms) == (10, [])
    loop.advance(20)
    assert (loop.now_ns / 1e6, ran_ms) == (30, [30])
    loop.resume(paused)
    loop.advance(1)
    assert ran_ms == [30, 30], "what became due during the pause runs now"
    loop.close()


def test_call_in_runs_at_once_unless_another_callback_is_ready_or_the_process_cannot_run() -> None:
    loop, process = SimLoop(), SimProcess("broker")
    seen: list[str] = []

    def note(what: str) -> None:
        seen.append(f"{what} in {current_process().name}")

    loop.call_in(process, note, "at once")
    assert seen == ["at once in broker"]
    loop.call_soon(note, "ready")
    loop.call_in(process, note, "second")
    loop.advance(0)
    assert seen[1:] == ["ready in world", "second in broker"]
    loop.pause(process)
    loop.call_in(process, note, "resumed")
    loop.advance(0)
    assert len(seen) == 3
    loop.resume(process)
    loop.advance(0)
    assert seen[3:] == ["resumed in broker"]
    loop.kill(process)
    loop.call_in(process, note, "killed")
    loop.advance(0)
    assert len(seen) == 4
    loop.close()


def test_there_is_a_turn_before_each_callback_and_before_each_move_of_the_clock() -> None:
    loop = SimLoop()
    loop.call_later(0.002, lambda: None)
    turns = [(loop.now_ns, next_ns) for next_ns in loop.turns(Passage(3))]
    assert turns == [(0, 2_000_000), (2_000_000, 3_000_000)]
    assert loop.now_ns == 3_000_000
    task = loop.spawn(SimProcess("a"), SimTime(loop).sleep(4))
    assert list(loop.turns(Passage(9, task)))[-1] == 7_000_000
    assert task.done()
    assert loop.now_ns == 7_000_000, "the rest of the passage is left out"
    other = loop.spawn(SimProcess("b"), SimTime(loop).sleep(4))
    assert list(loop.at_once(Passage(9, other))) == []
    assert (other.done(), loop.now_ns) == (True, 11_000_000), "the same without turns"
    loop.close()


def test_waiting_for_what_can_never_be_is_an_error() -> None:
    loop = SimLoop()

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(SimulationStalledError, match="nothing is left to happen"):
        loop.run_until_complete(main())


class Ear:
    """Collects the calls it gets."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.data = b""
        self.lost: list[str] = []

    def data_received(self, data: memoryview) -> None:
        self.data += bytes(data)

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.lost.append(reason)


def test_wires_keep_order_hold_while_cut_and_are_reset_by_death() -> None:
    loop = SimLoop()
    network = MemoryNetwork(loop, random.Random(1))
    server, client = SimProcess("server"), SimProcess("client")
    ears: list[Ear] = []

    def on_wire(wire: Wire) -> Ear:
        ears.append(Ear(wire))
        return ears[-1]

    loop.run_until_complete(loop.spawn(server, network.listen("127.0.0.1", 9092, on_wire)))
    mine: list[Ear] = []

    async def connect() -> Wire:
        def take(wire: Wire) -> Ear:
            mine.append(Ear(wire))
            return mine[-1]

        return await network.connect("127.0.0.1", 9092, take, 1000)

    wire = loop.run_until_complete(loop.spawn(client, connect()))
    for i in range(100):
        wire.send([f"{i:03}".encode()])
    loop.advance(100)
    assert ears[0].data == b"".join(f"{i:03}".encode() for i in range(100))
    network.cut(server, client)
    wire.send([b"held"])
    loop.advance(10_000)
    assert not ears[0].data.endswith(b"held")
    network.mend(server, client)
    loop.advance(10)
    assert ears[0].data.endswith(b"held")
    loop.kill(server)
    network.process_died(server)
    loop.advance(10)
    assert mine[0].lost == ["closed by the other side"]
    with pytest.raises(ConnectionRefusedError):
        loop.run_until_complete(loop.spawn(client, connect()))
    assert loop.errors == []


def test_the_far_end_notices_a_connection_that_an_ended_process_had_closed() -> None:
    loop = SimLoop()
    network = MemoryNetwork(loop, random.Random(1))
    server, client = SimProcess("server"), SimProcess("client")
    accepted: list[Ear] = []
    mine: list[Ear] = []

    def take(ears: list[Ear], wire: Wire) -> Ear:
        ears.append(Ear(wire))
        return ears[-1]

    listening = network.listen("127.0.0.1", 9092, partial(take, accepted))
    loop.run_until_complete(loop.spawn(server, listening))
    connecting = network.connect("127.0.0.1", 9092, partial(take, mine), 1000)
    loop.run_until_complete(loop.spawn(client, connecting))
    loop.advance(10)
    loop.run_in(server, accepted[0].wire.close)
    loop.advance(0)
    loop.kill(server)
    network.process_died(server)
    loop.advance(10)
    assert mine[0].lost == ["closed by the other side"]
