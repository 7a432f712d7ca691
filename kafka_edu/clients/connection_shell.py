"""Performs a client's connection effects with a transport: sockets, or the simulated network.

(Kafka: Selector.java.) The shell makes no decisions. It reports to `ClientConnections` what
happened.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections, Close, Connect, Send
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport, Wire
from kafka_edu.common.words import cause_of
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive

MAX_RESPONSE_BYTES: Final = 1 << 30


class _Receiver:
    """Collects the bytes of one connection into frames."""

    def __init__(self, shell: "ConnectionShell", node: int) -> None:
        self._shell = shell
        self._node = node
        self._frames = FrameReceiver(MAX_RESPONSE_BYTES)
        self.ended = False
        """True once the connection is closed here. Nothing is reported after that."""

    def data_received(self, data: memoryview) -> None:
        if self.ended:
            return
        try:
            frames = self._frames.feed(data)
        except InvalidReceive as error:
            self._shell.on_lost(self._node, self, f"a response cannot be read: {error}")
            return
        for frame in frames:
            if self.ended:
                return
            self._shell.on_frame(self._node, frame)
        if frames:  # a part of a large response changes nothing yet
            self._shell.changed()

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        if not self.ended:
            self._shell.on_lost(self._node, self, reason)


class ConnectionShell:
    """The open connections of one client. Call `perform` after each decision of the core."""

    def __init__(
        self,
        connections: ClientConnections,
        transport: Transport,
        time: Time,
        changed: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._transport = transport
        self._time = time
        self.changed = changed
        """Called after each report, because the core may have something to do."""
        self._wires: dict[int, tuple[Wire, _Receiver]] = {}
        self._opening: dict[int, asyncio.Task[None]] = {}

    def perform(self) -> None:
        """Perform the effects that the core has decided on."""
        while effects := self._connections.take_effects():
            for effect in effects:
                match effect:
                    case Send(node, parts):
                        if node in self._wires:
                            self._wires[node][0].send(parts)
                    case Connect():
                        self._opening[effect.node] = asyncio.ensure_future(self._connect(effect))
                    case Close(node):
                        self._close(node)

    def _close(self, node: int) -> None:
        opening = self._opening.pop(node, None)
        if opening is not None:
            opening.cancel()
        if node in self._wires:
            wire, receiver = self._wires.pop(node)
            receiver.ended = True
            wire.close()

    async def _connect(self, effect: Connect) -> None:
        receiver = _Receiver(self, effect.node)
        try:
            wire = await self._transport.connect(
                effect.host, effect.port, lambda _: receiver, effect.timeout_ms
            )
        except OSError as error:
            self._opening.pop(effect.node, None)
            self._connections.disconnected(
                effect.node,
                f"cannot connect to {effect.host}:{effect.port}:"
                f" {cause_of(error) or 'no answer in time'}",
                self._time.hi_res_clock_ms(),
            )
        else:
            self._opening.pop(effect.node, None)
            now = self._time.hi_res_clock_ms()
            if receiver.ended:  # the connection was lost before this line
                self._connections.disconnected(effect.node, "closed by the other side", now)
            else:
                self._wires[effect.node] = wire, receiver
                self._connections.connected(effect.node, wire.local, now)
        self.changed()

    def on_frame(self, node: int, frame: bytes) -> None:
        self._connections.received(node, frame, self._time.hi_res_clock_ms())
        self.perform()

    def on_lost(self, node: int, receiver: _Receiver, reason: str) -> None:
        receiver.ended = True
        known = self._wires.get(node)
        if known is not None and known[1] is receiver:
            del self._wires[node]
            known[0].close()
            self._connections.disconnected(node, reason, self._time.hi_res_clock_ms())
            self.changed()

    async def close(self) -> None:
        """Close everything at once."""
        opening = list(self._opening.values())
        for node in [*self._opening, *self._wires]:
            self._close(node)
        if opening:
            await asyncio.gather(*opening, return_exceptions=True)
