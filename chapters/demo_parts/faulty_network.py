"""A network that damages one request, or loses one response, and counts Produce requests.

The faults depend on the bytes only, never on time. So the same program has the same fault each
time, on every machine. A response is lost because its connection breaks when it arrives. So the
broker has certainly performed the request.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.transport import Listener, Part, Transport, Wire, WireReceiver, part_bytes
from kafka_edu.common.wire_around import WireAround
from kafka_edu.protocol.api_keys import ApiKey

_LENGTH_BYTES: Final = 4


class FaultyNetwork:
    """A transport that wraps another transport. Each fault happens once."""

    def __init__(self, inner: Transport, *, damage: bytes = b"", lose: bytes = b"") -> None:
        """Damage the first request with the bytes `damage`, and lose the response to the first
        request with the bytes `lose`. An empty argument causes no fault.
        """
        self._inner = inner
        self._damage = damage
        self._lose = lose
        self.requests = 0
        """The number of Produce requests that were sent."""
        self.bytes = 0
        """The bytes of these requests."""
        self.all_requests = 0
        """The number of requests of every kind."""

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        return await self._inner.listen(host, port, on_wire)

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        made: list[_FaultyWire] = []

        def interpose(wire: Wire) -> WireReceiver:
            made.append(_FaultyWire(self, wire, on_wire))
            return made[0]

        await self._inner.connect(host, port, interpose, timeout_ms)
        return made[0]

    def passed(self, frame: bytes, wire: "_FaultyWire") -> bytes:
        """Return the request as it arrives, and let its response be lost if it must be."""
        self.all_requests += 1
        key = int.from_bytes(frame[_LENGTH_BYTES : _LENGTH_BYTES + 2])
        if key == ApiKey.PRODUCE:
            self.requests += 1
            self.bytes += len(frame)
        if self._damage and self._damage in frame:
            wrong = self._damage[:-1] + bytes([self._damage[-1] ^ 1])
            frame = frame.replace(self._damage, wrong, 1)
            self._damage = b""
        if self._lose and self._lose in frame:
            wire.breaks = True
            self._lose = b""
        return frame


class _FaultyWire(WireAround):
    """One connection through the faulty network."""

    def __init__(
        self, network: FaultyNetwork, wire: Wire, on_wire: Callable[[Wire], WireReceiver]
    ) -> None:
        self._network = network
        self.breaks = False
        """Whether the next bytes that arrive end the connection."""
        super().__init__(wire, on_wire)

    def send(self, parts: Sequence[Part]) -> None:
        """Send one request. Our clients pass each request in one call."""
        frame = b"".join(bytes(part_bytes(part)) for part in parts)
        super().send([self._network.passed(frame, self)])

    def data_received(self, data: memoryview) -> None:
        if self.breaks:
            self.close()
        else:
            super().data_received(data)
