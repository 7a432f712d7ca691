"""Events of a process for a subscriber in the same process, without a socket.

A web page has no sockets. There `MemoryPipes` is the transport of the event server and the address
of its subscribers at once: the same lines go from one to the other in memory.
"""

import asyncio
from collections.abc import Callable, Sequence

from kafka_edu.common.transport import Listener, Part, Wire, WireReceiver, part_bytes


class MemoryPipes:
    """Connections to one listener in the same process (implements Transport and EventsSource)."""

    def __init__(self) -> None:
        self.token = ""
        """The token of the event server. Its owner sets it."""
        self._on_wire: Callable[[Wire], WireReceiver] | None = None
        self._ends: list[PipeEnd] = []

    @property
    def port(self) -> int:
        return 0

    def pause_accepting(self) -> None:
        """Do nothing: connections are made by calls."""

    def resume_accepting(self) -> None:
        """Do nothing, as `pause_accepting`."""

    def close(self) -> None:
        """Stop listening, and end all connections."""
        self._on_wire = None
        ends, self._ends = self._ends, []
        for end in ends:
            end.close()

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        """Listen. There is one port, so `host` and `port` say nothing."""
        self._on_wire = on_wire
        return self

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        """Raise OSError: subscribers connect by `open`."""
        raise ConnectionRefusedError("nothing connects from here")

    async def open(self) -> "tuple[PipeEnd, PipeEnd]":
        """Return both directions of a new connection. Raises OSError if nothing listens."""
        if self._on_wire is None:
            raise ConnectionRefusedError("nothing listens")
        end = PipeEnd()
        end.receiver = self._on_wire(end.wire)
        self._ends.append(end)
        return end, end


class PipeEnd:
    """The subscriber's end of a connection."""

    def __init__(self) -> None:
        self.receiver: WireReceiver | None = None
        self.wire = PipeWire(self)
        self.arrived = bytearray()
        self._news = asyncio.Event()
        self.ended = False

    def feed(self, data: bytes) -> None:
        """Take data from the other end."""
        self.arrived += data
        self._news.set()

    async def read(self, most: int) -> bytes:
        """Return at most `most` bytes when some have arrived; b"" at the end."""
        while not self.arrived and not self.ended:
            self._news.clear()
            await self._news.wait()
        data = bytes(self.arrived[:most])
        del self.arrived[:most]
        return data

    def write(self, data: bytes) -> None:
        """Give data to the other end."""
        if self.receiver is not None and not self.ended:
            self.receiver.data_received(memoryview(data))

    def close(self) -> None:
        """End the connection, and notify both ends."""
        if not self.ended:
            self.ended = True
            self._news.set()
            if self.receiver is not None:
                self.receiver.connection_lost("closed")


class PipeWire:
    """The event server's end of a connection (implements Wire)."""

    peer = local = "this page"
    unread = 0

    def __init__(self, end: PipeEnd) -> None:
        self._end = end

    @property
    def unsent(self) -> int:
        return len(self._end.arrived)

    def send(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self._end.feed(bytes(part_bytes(part)))

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        """Do nothing: `send` sends at once, and raises every error itself."""

    def pause_reading(self) -> None:
        """Do nothing: a subscriber writes only short lines."""

    def resume_reading(self) -> None:
        """Do nothing, as `pause_reading`."""

    def close(self) -> None:
        self._end.close()
