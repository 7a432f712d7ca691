"""The wire is handed in: sockets in real time, memory in virtual time. The code above cannot tell
the difference.

Only opening a connection is awaited; everything else is a plain call. The owner writes to a `Wire`,
and the wire calls its `WireReceiver`. Code that needs to wait uses a queue or a future of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_edu.common.files import Buffer, File


class FileRegion(NamedTuple):
    """`length` bytes of `file` from `position`.

    They are sent by sendfile if the file has a descriptor, so no record is copied (book §3.3).
    """

    file: File
    position: int
    length: int


class LazyPart:
    """`size` bytes that are made while they are sent, so that memory holds only one piece at a
    time.

    `pieces` must give exactly `size` bytes. If it raises OSError, the frame is broken and the
    connection closes. A part is sent once.
    """

    __slots__ = ("pieces", "size")

    def __init__(self, size: int, pieces: Iterator[Buffer]) -> None:
        self.size = size
        self.pieces = pieces


Part = Buffer | FileRegion | LazyPart


def part_size(part: Part) -> int:
    """Return the number of bytes that `part` puts on the wire."""
    if isinstance(part, FileRegion):
        return part.length
    return part.size if isinstance(part, LazyPart) else len(part)


def part_bytes(part: Part) -> Buffer:
    """Return the bytes that `part` puts on the wire, read into memory.

    For a wire without sendfile, and for tests.
    """
    if isinstance(part, FileRegion):
        return part.file.pread(part.length, part.position)
    return b"".join(part.pieces) if isinstance(part, LazyPart) else part


class Wire(Protocol):
    """One connection, as its writer sees it."""

    @property
    def peer(self) -> str:
        """The other side, as `host:port`."""
        ...

    @property
    def local(self) -> str:
        """This side, as `host:port`."""
        ...

    @property
    def unsent(self) -> int:
        """The number of bytes given to `send` that have not left yet."""
        ...

    @property
    def unread(self) -> int:
        """The number of bytes that have arrived but were not given to the receiver; 0 on a closed
        wire.

        This costs a system call, so it is not for the hot path.
        """
        ...

    def send(self, parts: Sequence[Part]) -> None:
        """Queue `parts` in order behind the earlier ones. Never blocks.

        The receiver's `all_sent` is called when the queue is empty. On a closed wire nothing
        happens.
        """
        ...

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        """Call `on_failure` if making or sending a queued part raises anything but OSError, which
        is a bug.

        The wire sends nothing after that. Without this guard such an exception goes to the loop's
        handler, which stops a broker.
        """
        ...

    def pause_reading(self) -> None:
        """Mute the connection: no `data_received` until `resume_reading`. TCP's back pressure slows
        the other side down.
        """
        ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Close now. Unsent data is lost. `connection_lost` follows, once."""
        ...


class WireReceiver(Protocol):
    """One connection, as its receiver sees it."""

    def data_received(self, data: memoryview) -> None:
        """Take the data that arrived. `data` is valid during the call only, because it lies in the
        loop's one receive buffer. Copy the parts that you keep.
        """
        ...

    def all_sent(self) -> None:
        """Note that everything queued by `send` has left."""
        ...

    def connection_lost(self, reason: str) -> None:
        """Note that either side has closed the wire. This is the last call, and it comes once."""
        ...


class Listener(Protocol):
    """A listening port."""

    @property
    def port(self) -> int:
        """The port: the requested one, or the free one that was picked for 0."""
        ...

    def pause_accepting(self) -> None: ...

    def resume_accepting(self) -> None: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Opens listeners and connections."""

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        """Listen. For each accepted connection `on_wire` returns the receiver of its data.

        Raises OSError (port taken, no such host).
        """
        ...

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        """Connect, or raise OSError (refused, unreachable) or TimeoutError after `timeout_ms`."""
        ...
