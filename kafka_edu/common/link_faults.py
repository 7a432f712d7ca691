"""Slow, cut and reset links: a transport that delays, holds or ends the connections that it opens.

The faults are those of the simulator's network (kafka_edu/sim/memory_transport.py). A slow link
keeps the order of the bytes. A cut link loses nothing at first: as with TCP, the bytes that were
sent arrive when the link is healed, unless one side has closed the connection before. The end of a
connection is delayed and held in the same way, and arrives after the bytes that were sent before
it.

A fault affects only connections that this transport opens. Each connection between two brokers is
opened by one of the two. So if both brokers get the same fault, all connections of the link have
this fault.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.transport import Listener, Part, Transport, Wire, WireReceiver, part_size
from kafka_edu.common.wire_around import WireAround


class LinkFault(NamedTuple):
    """The state of a link. A link without a fault (`WHOLE`) is not cut and has no delay."""

    delay_ms: int = 0
    cut: bool = False

    def __str__(self) -> str:
        return "cut" if self.cut else f"slow by {self.delay_ms} ms" if self.delay_ms else "whole"


WHOLE: Final = LinkFault()

#: The links of a broker that do not lead to another broker: name → the other end as text.
RELAYED_SIDES: Final = {"zookeeper": "ZooKeeper", "clients": "its clients"}


def link_ends(broker: object, other: object, side: str = "") -> str:
    """Return a text that names both ends of a link.

    `side` is a name in RELAYED_SIDES. If it is empty, the other end is the broker `other`.
    """
    if side:
        return f"between broker {broker} and {RELAYED_SIDES.get(side, side)}"
    return f"between brokers {broker} and {other}"


class Link(NamedTuple):
    """A link from a broker to another broker, or over a relay to a side in RELAYED_SIDES."""

    broker: int
    other: int = -1
    """Id of the other broker, or -1 if `side` names the other end."""
    side: str = ""
    """A name in RELAYED_SIDES. Empty if the other end is a broker."""

    def __str__(self) -> str:
        return link_ends(self.broker, self.other, self.side)


class _Held:
    """The pieces of data that are delayed in one direction.

    The pieces are delivered in order, each at its time.
    """

    def __init__(self, link: "_LinkState") -> None:
        self._link = link
        self._pieces: deque[tuple[float, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def empty(self) -> bool:
        return not self._pieces

    def hold(self, deliver: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._pieces.append((loop.time() + self._link.fault.delay_ms / 1000, deliver))
        self._wake()

    def fault_changed(self) -> None:
        """Deliver the data that the new state of the link no longer delays."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._link.fault.delay_ms and not self._link.fault.cut:
            while self._pieces:
                self._pieces.popleft()[1]()
        else:
            self._wake()

    def drop(self) -> None:
        """Drop all data, because the connection is closed."""
        self._pieces.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        if self._link.fault.cut or self._timer is not None or not self._pieces:
            return
        due = self._pieces[0][0]
        self._timer = asyncio.get_running_loop().call_at(due, self._due, due)

    def _due(self, due: float) -> None:
        """Deliver the data whose time is `due` or earlier.

        The event loop may call this slightly before `due`, because its clock is rounded. So this
        method compares with `due` and not with the clock. Otherwise it would set the same timer
        again.
        """
        self._timer = None
        while self._pieces and not self._link.fault.cut and self._pieces[0][0] <= due:
            self._pieces.popleft()[1]()
        self._wake()


class _LinkState:
    """The state of the link to one port: its fault, and the open connections on this link."""

    def __init__(self) -> None:
        self.fault = WHOLE
        self.wires: dict[_FaultyWire, None] = {}
        self.changed = asyncio.Event()


class _FaultyWire(WireAround):
    """One connection with the faults of its link. It delays the data in both directions."""

    def __init__(self, link: _LinkState, wire: Wire, on_wire: Callable[[Wire], WireReceiver]):
        self._link = link
        self._out, self._in = _Held(link), _Held(link)
        self._unsent = 0
        self._closed = False
        self._end: str | None = None
        """Why the real connection has ended. None while it is open."""
        link.wires[self] = None
        super().__init__(wire, on_wire)

    @property
    def unsent(self) -> int:
        return self._unsent + self._wire.unsent

    def send(self, parts: Sequence[Part]) -> None:
        if self._link.fault == WHOLE and self._out.empty:
            self._wire.send(parts)
            return
        size = sum(map(part_size, parts))
        self._unsent += size

        def go() -> None:
            self._unsent -= size
            self._wire.send(parts)

        self._out.hold(go)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._out.drop()
        self._in.drop()
        if self._end is None:
            self._wire.close()
        else:
            asyncio.get_running_loop().call_soon(self._lost, self._end)

    def data_received(self, data: memoryview) -> None:
        if self._link.fault == WHOLE and self._in.empty:
            self._receiver.data_received(data)
            return
        kept = bytes(data)
        self._in.hold(lambda: self._receiver.data_received(memoryview(kept)))

    def all_sent(self) -> None:
        if self._out.empty:
            self._receiver.all_sent()

    def connection_lost(self, reason: str) -> None:
        self._end = reason
        self._out.drop()
        if self._closed or (self._link.fault == WHOLE and self._in.empty):
            self._lost(reason)
        else:
            self._in.hold(lambda: self._lost(reason))

    def _lost(self, reason: str) -> None:
        self._closed = True
        self._link.wires.pop(self, None)
        self._receiver.connection_lost(reason)

    def fault_changed(self) -> None:
        self._out.fault_changed()
        self._in.fault_changed()


class FaultyTransport:
    """A transport whose connections to some ports can be slowed, cut and healed."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._links: dict[int, _LinkState] = {}

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        return await self._transport.listen(host, port, on_wire)

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        link = self._links.setdefault(port, _LinkState())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        try:
            async with asyncio.timeout_at(deadline):
                while link.fault.cut:
                    link.changed.clear()
                    await link.changed.wait()
        except TimeoutError:
            raise TimeoutError(f"connection to {host}:{port} timed out: the link is cut") from None
        made: list[_FaultyWire] = []

        def interpose(wire: Wire) -> WireReceiver:
            made.append(_FaultyWire(link, wire, on_wire))
            return made[0]

        await self._transport.connect(
            host, port, interpose, max((deadline - loop.time()) * 1000, 1)
        )
        return made[0]

    def set_fault(self, port: int, fault: LinkFault) -> None:
        """Set the fault of the link to a port, including open connections. O(connections)."""
        link = self._links.setdefault(port, _LinkState())
        link.fault = fault
        link.changed.set()
        for wire in tuple(link.wires):
            wire.fault_changed()

    def reset(self, port: int) -> int:
        """Close every open connection to a port, as after a TCP reset. Return how many were closed.

        Data that has not arrived yet is lost. New connections can be opened at once.
        O(connections).
        """
        link = self._links.get(port)
        wires = tuple(link.wires) if link is not None else ()
        for wire in wires:
            wire.close()
        return len(wires)

    def faults(self) -> dict[int, LinkFault]:
        """Return port → fault, for all links that are slow or cut."""
        return {port: link.fault for port, link in self._links.items() if link.fault != WHOLE}
