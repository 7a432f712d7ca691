"""A network that damages one request, or loses one response, and counts Produce requests.

The faults depend on the bytes only, never on time. So the same program has the same fault each
time, on every machine. A response is lost because its connection breaks as it arrives: then the
broker has certainly done what the request wanted.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.transport import Listener, Part, Transport, Wire, WireReceiver, part_bytes
from kafka_edu.protocol.api_keys import ApiKey

_LENGTH_BYTES: Final = 4


class FaultyNetwork:
    """A transport around another one. Each fault happens once."""

    def __init__(self, inner: Transport, *, damage: bytes = b"", lose: bytes = b"") -> None:
        """Damage the first request with the bytes `damage`, and lose the response to the first
        request with the bytes `lose`. Empty: no such fault.
        """
        self._inner = inner
        self._damage = damage
        self._lose = lose
        self.requests = 0
        """The number of Produce requests that were sent."""
        self.bytes = 0
        """The bytes of these requests."""

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        return await self._inner.listen(host, port, on_wire)

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        ears: list[_Ear] = []

        def listening(wire: Wire) -> WireReceiver:
            ears.append(_Ear(wire, on_wire(wire)))
            return ears[0]

        wire = await self._inner.connect(host, port, listening, timeout_ms)
        return _FaultyWire(wire, ears[0], self)

    def passed(self, frame: bytes, ear: "_Ear") -> bytes:
        """Return the request as it arrives, and let its response be lost if it must be."""
        key = int.from_bytes(frame[_LENGTH_BYTES : _LENGTH_BYTES + 2])
        if key == ApiKey.PRODUCE:
            self.requests += 1
            self.bytes += len(frame)
        if self._damage and self._damage in frame:
            wrong = self._damage[:-1] + bytes([self._damage[-1] ^ 1])
            frame = frame.replace(self._damage, wrong, 1)
            self._damage = b""
        if self._lose and self._lose in frame:
            ear.breaks = True
            self._lose = b""
        return frame


class _Ear:
    """The receiver of one connection. Once `breaks` is set, the next bytes end the connection."""

    def __init__(self, wire: Wire, receiver: WireReceiver) -> None:
        self._wire = wire
        self._receiver = receiver
        self.breaks = False

    def data_received(self, data: memoryview) -> None:
        if self.breaks:
            self._wire.close()
        else:
            self._receiver.data_received(data)

    def all_sent(self) -> None:
        self._receiver.all_sent()

    def connection_lost(self, reason: str) -> None:
        self._receiver.connection_lost(reason)


class _FaultyWire:
    """One connection through the faulty network."""

    def __init__(self, wire: Wire, ear: _Ear, network: FaultyNetwork) -> None:
        self._wire = wire
        self._ear = ear
        self._network = network

    @property
    def peer(self) -> str:
        return self._wire.peer

    @property
    def local(self) -> str:
        return self._wire.local

    @property
    def unsent(self) -> int:
        return self._wire.unsent

    @property
    def unread(self) -> int:
        return self._wire.unread

    def send(self, parts: Sequence[Part]) -> None:
        """Send one request. A client of ours gives each request as a whole."""
        frame = b"".join(bytes(part_bytes(part)) for part in parts)
        self._wire.send([self._network.passed(frame, self._ear)])

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        self._wire.guard_sends(on_failure)

    def pause_reading(self) -> None:
        self._wire.pause_reading()

    def resume_reading(self) -> None:
        self._wire.resume_reading()

    def close(self) -> None:
        self._wire.close()
