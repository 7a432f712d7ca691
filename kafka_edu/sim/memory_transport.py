"""Simulated network connections in memory (implements Transport).

A connection keeps the order of its data. Its latency comes from the random seed, and links between
processes can be cut.

Each end of a connection belongs to the process that opened or accepted it. If this process is
killed, the connection is reset, as a kernel does it. If the process is paused, data that is sent to
it waits.

A cut link loses no data at first. As with TCP, the data that was sent arrives when the link is
fixed, unless one side has closed the connection.

Data arrives in pieces of random size, so a receiver cannot assume that a piece is one message.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from kafka_edu.common.link_faults import WHOLE, LinkFault
from kafka_edu.common.transport import Listener, Part, Wire, WireReceiver, part_bytes
from kafka_edu.sim.sim_loop import WORLD, SimLoop, SimProcess, context_of, current_process

LATENCY_MS: Final = (0.05, 0.5)
FIRST_EPHEMERAL_PORT: Final = 40_000

Direction = tuple[str, str]
"""The names of two processes: data from the first one to the second one."""


class MemoryListener:
    """A listening port of the simulated network."""

    def __init__(
        self,
        network: "MemoryNetwork",
        host: str,
        port: int,
        on_wire: Callable[[Wire], WireReceiver],
        process: SimProcess,
    ) -> None:
        self._network = network
        self.host = host
        self.port = port
        self.on_wire = on_wire
        self.process = process
        self._accepting = True
        self._backlog: list[MemoryWire] = []

    def pause_accepting(self) -> None:
        self._accepting = False

    def resume_accepting(self) -> None:
        self._accepting = True
        backlog, self._backlog = self._backlog, []
        for wire in backlog:
            self.accept(wire)

    def accept(self, wire: "MemoryWire") -> None:
        """Accept a connection. This code runs as the listening process."""
        if self._accepting:
            wire.attach(self.on_wire)
        else:
            self._backlog.append(wire)

    def close(self) -> None:
        self._network.closed(self)


class MemoryWire:
    """One end of a connection. `other` is the far end of the same connection."""

    def __init__(
        self, network: "MemoryNetwork", process: SimProcess, local: str, peer: str
    ) -> None:
        self._network = network
        self.process = process
        self.local = local
        self.peer = peer
        self.unsent = 0
        self.last_arrival_ns = 0
        """When the last data that was sent to this end arrives here, in ns of virtual time."""
        self.other: MemoryWire | None = None
        self.open = True
        self._receiver: WireReceiver | None = None
        self._arrived: deque[bytes] = deque()
        self._lost_because = ""
        self._paused = False

    def attach(self, on_wire: Callable[[Wire], WireReceiver]) -> None:
        self._receiver = on_wire(self)
        self._deliver()

    def send(self, parts: Sequence[Part]) -> None:
        if not self.open:
            return
        try:
            data = b"".join(map(part_bytes, parts))
        # A file that is part of the data cannot be read. So the far end gets an incomplete frame,
        # as with sendfile.
        except OSError as error:
            if self.other is not None:
                self._network.carry_end(self, self.other)
            self.lost(error.strerror or str(error))
            return
        if self.other is not None and data:
            self._network.carry(self, self.other, data)
        if self._receiver is not None:
            self._receiver.all_sent()

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        """Do nothing, because `send` sends everything at once and raises every error itself."""

    @property
    def unread(self) -> int:
        return sum(map(len, self._arrived))

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        if not self._paused:
            return  # nothing waits
        self._paused = False
        self._network.loop.run_in(self.process, self._deliver)

    def arrive(self, data: bytes) -> None:
        """Receive data from the far end. This code runs as the receiving process."""
        if self.other is not None and not self.other.open:
            self._network.late_ms.setdefault(self.other.process.name, []).append(
                self._network.loop.now_ns // 1_000_000
            )
        self._arrived.append(data)
        self._deliver()

    def _deliver(self) -> None:
        while self._arrived and not self._paused and self.open and self._receiver is not None:
            self._receiver.data_received(memoryview(self._arrived.popleft()))
        if self._lost_because and not self._arrived and not self._paused:
            self.lost(self._lost_because)

    def end_of_stream(self) -> None:
        """Note that the other side has closed. The receiver first gets the data that arrived
        before.
        """
        self._lost_because = "closed by the other side"
        self._deliver()

    def lost(self, reason: str) -> None:
        if not self.open:
            return
        self.open = False
        self._arrived.clear()
        self._network.gone(self)
        if self._receiver is not None:
            self._network.loop.run_in(self.process, self._receiver.connection_lost, reason)

    def close(self) -> None:
        if not self.open:
            return
        if self.other is not None:
            self._network.carry_end(self, self.other)
        self.lost("closed here")


class MemoryNetwork:
    """The simulated network: listening ports, connections, and slow and cut links. It belongs to no
    simulated process.

    The network owns the faults of its links. `faults` returns the state of the links, and
    `on_fault` is called for each change of this state. So nobody has to derive the state from the
    calls that caused it.
    """

    def __init__(
        self, loop: SimLoop, rng: random.Random, latency_ms: tuple[float, float] = LATENCY_MS
    ) -> None:
        self.loop = loop
        self._random = rng
        self.latency_ms = latency_ms
        """The shortest and the longest time that data takes on a link that is not slow."""
        self._listeners: dict[tuple[str, int], MemoryListener] = {}
        self._wires: list[MemoryWire] = []
        self._next_port = FIRST_EPHEMERAL_PORT
        self._cut: dict[Direction, set[object]] = {}
        """The cuts of each direction in which no data passes. Each cut has an owner, and the
        direction is open again when none of them is left.
        """
        self._held: dict[Direction, list[tuple[SimProcess, Callable[[], None]]]] = {}
        self._slow: dict[Direction, tuple[float, float]] = {}
        self.late_ms: dict[str, list[int]] = {}
        """Name of a process → when data arrived from it, on a connection that it had given up
        before. Virtual ms, in ascending order. O(arrivals).
        """
        self.on_fault: Callable[[Direction, LinkFault], None] = lambda ends, fault: None
        """Gets the names of the two processes of a link and its new state, when it has changed."""

    def fault(self, ends: Direction) -> LinkFault:
        """Return the state of the link between two processes. A link is cut if data is held up in
        one direction or in both. Its delay is the longest latency.
        """
        a, b = ends
        cut = (a, b) in self._cut or (b, a) in self._cut
        return LinkFault(round(self._slow[ends][1]) if ends in self._slow else 0, cut)

    def faults(self) -> dict[Direction, LinkFault]:
        """Return the state of all links that are slow or cut. Each link is there once."""
        links = {(min(ends), max(ends)) for ends in (*self._cut, *self._slow)}
        return {ends: fault for ends in sorted(links) if (fault := self.fault(ends)) != WHOLE}

    @contextmanager
    def _changes(self, a: SimProcess, b: SimProcess) -> Iterator[None]:
        """Call `on_fault` after the block, if the block has changed the state of the link."""
        ends = min(a.name, b.name), max(a.name, b.name)
        before = self.fault(ends)
        yield
        if (after := self.fault(ends)) != before:
            self.on_fault(ends, after)

    def transport(self) -> "MemoryTransport":
        return MemoryTransport(self)

    def port(self) -> int:
        self._next_port += 1
        return self._next_port

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        port = port or self.port()
        if (host, port) in self._listeners:
            raise OSError(98, f"cannot listen on {host}:{port}: Address already in use")
        listener = MemoryListener(self, host, port, on_wire, current_process())
        self._listeners[host, port] = listener
        return listener

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        process = current_process()
        answered = self.loop.create_future()
        listener = self._listeners.get((host, port))
        local, peer = f"127.0.0.1:{self.port()}", f"{host}:{port}"
        to = listener.process if listener else process
        there_and_back = (process.name, to.name), (to.name, process.name)

        def arrive() -> None:
            if answered.done():
                return
            there = self._listeners.get((host, port))
            if there is None:
                answered.set_exception(ConnectionRefusedError(111, f"connection to {peer} refused"))
                return
            near, far = (
                MemoryWire(self, process, local, peer),
                MemoryWire(self, there.process, peer, local),
            )
            near.other, far.other = far, near
            self._wires += [near, far]
            near.attach(on_wire)
            self.loop.run_in(there.process, there.accept, far)
            answered.set_result(near)

        def travel() -> None:
            latency_s = self._latency_s(there_and_back[0])
            self.loop.call_later(latency_s, self.loop.call_in, process, arrive)

        def answer() -> None:
            self._when_whole(there_and_back[1], to, travel)

        def give_up() -> None:
            if not answered.done():
                answered.set_exception(TimeoutError(f"connection to {peer} timed out"))

        self._when_whole(there_and_back[0], process, answer)
        timer = self.loop.call_later(timeout_ms / 1000, give_up)
        try:
            wire: Wire = await answered
        finally:
            timer.cancel()
        return wire

    def carry(self, sender: MemoryWire, receiver: MemoryWire, data: bytes) -> None:
        """Transport `data` to the far end, in order and in pieces."""
        if self._random.random() < 0.25:
            cut = self._random.randint(1, len(data))
            self._travel(sender, receiver, receiver.arrive, data[:cut])
            data = data[cut:]
        if data:
            self._travel(sender, receiver, receiver.arrive, data)

    def carry_end(self, sender: MemoryWire, receiver: MemoryWire) -> None:
        self._travel(sender, receiver, receiver.end_of_stream)

    def _travel(
        self, sender: MemoryWire, receiver: MemoryWire, deliver: Callable[..., None], *data: bytes
    ) -> None:
        direction = sender.process.name, receiver.process.name
        if direction in self._cut:
            go = partial(self._depart, direction, receiver, deliver, data)
            self._when_whole(direction, sender.process, go)
        else:
            self._depart(direction, receiver, deliver, data)

    def _depart(
        self,
        direction: Direction,
        receiver: MemoryWire,
        deliver: Callable[..., None],
        data: tuple[bytes, ...],
    ) -> None:
        """Let data arrive after the latency, but after all data that was sent before it."""
        loop = self.loop
        due_ns = loop.now_ns + round(self._latency_s(direction) * 1e9)
        if due_ns <= receiver.last_arrival_ns:
            due_ns = receiver.last_arrival_ns + 1
        receiver.last_arrival_ns = due_ns
        # Data is lost if its sender ends before it arrives, as with a reset. The end of the
        # connection is not lost. Without it, the far end would wait for a response forever.
        context = None if data else context_of(WORLD)
        loop.call_at_ns(due_ns, loop.call_in, (receiver.process, deliver, *data), context)

    def _latency_s(self, direction: Direction) -> float:
        low, high = self._slow.get(direction, self.latency_ms) if self._slow else self.latency_ms
        return self._random.uniform(low, high) / 1000

    def _when_whole(self, direction: Direction, sender: SimProcess, go: Callable[[], None]) -> None:
        if direction in self._cut:
            self._held.setdefault(direction, []).append((sender, go))
        else:
            go()

    def cut(self, a: SimProcess, b: SimProcess, *, one_way: bool = False) -> Callable[[], None]:
        """Cut the link between two processes. With `one_way`, only data from `a` to `b` is held up.

        Return the function that ends this cut. Data passes again when all cuts of the link have
        ended, or after `mend`.
        """
        cut = object()
        with self._changes(a, b):
            self._cut.setdefault((a.name, b.name), set()).add(cut)
            if not one_way:
                self._cut.setdefault((b.name, a.name), set()).add(cut)
        return partial(self._end_cuts, a, b, cut)

    def mend(self, a: SimProcess, b: SimProcess) -> None:
        """End all cuts of the link, in both directions. A slow link stays slow."""
        self._end_cuts(a, b)

    def _end_cuts(self, a: SimProcess, b: SimProcess, only: object | None = None) -> None:
        """End all cuts of a link, or only the cut `only`. If a direction is open then, send the
        data that was held up in it.
        """
        with self._changes(a, b):
            for direction in ((a.name, b.name), (b.name, a.name)):
                cuts = self._cut.get(direction, set())
                cuts.discard(only)
                if not cuts or only is None:
                    self._cut.pop(direction, None)
                    for _, go in self._held.pop(direction, []):
                        go()

    def slow_down(self, a: SimProcess, b: SimProcess, latency_ms: tuple[float, float]) -> None:
        """Set the link's shortest and longest latency in ms, for both directions."""
        with self._changes(a, b):
            self._slow[a.name, b.name] = self._slow[b.name, a.name] = latency_ms

    def speed_up(self, a: SimProcess, b: SimProcess) -> None:
        """Give the link the usual latency again."""
        with self._changes(a, b):
            self._slow.pop((a.name, b.name), None)
            self._slow.pop((b.name, a.name), None)

    def process_died(self, process: SimProcess) -> None:
        """Close the ports of a process that has died and reset its connections, as a kernel does.

        If a link of this process is cut, its whole machine counts as lost. Data that could not pass
        the cut link is then lost too.
        """
        self._held = {
            direction: [(sender, go) for sender, go in held if sender is not process]
            for direction, held in self._held.items()
        }
        self._listeners = {
            at: listener
            for at, listener in self._listeners.items()
            if listener.process is not process
        }
        for wire in [w for w in self._wires if w.process is process]:
            wire.open = False
            self.gone(wire)
            if wire.other is not None:
                self.carry_end(wire, wire.other)

    def reset(self, process: SimProcess) -> None:
        """Reset all connections of a process that continues."""
        for wire in [w for w in self._wires if w.process is process]:
            if wire.other is not None:
                self.carry_end(wire, wire.other)
            wire.lost("Connection reset by peer")

    def reset_between(self, a: SimProcess, b: SimProcess) -> None:
        """Reset all connections between two processes. Both processes continue, and each of them
        notices.
        """
        for wire in [w for w in self._wires if w.process is a]:
            if wire.other is not None and wire.other.process is b:
                wire.other.lost("Connection reset by peer")
                wire.lost("Connection reset by peer")

    def closed(self, listener: MemoryListener) -> None:
        if self._listeners.get((listener.host, listener.port)) is listener:
            del self._listeners[listener.host, listener.port]

    def gone(self, wire: MemoryWire) -> None:
        if wire in self._wires:
            self._wires.remove(wire)


class MemoryTransport:
    """The simulated network from the view of one process: it can listen and connect."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        return await self._network.listen(host, port, on_wire)

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        return await self._network.connect(host, port, on_wire, timeout_ms)
