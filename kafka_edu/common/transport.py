"""Interfaces for connections: sockets in real time, or memory in simulated time.

The code that uses a connection works with both. Only `connect` is awaited. Everything else is a
plain call: the owner writes to a `Wire`, and the wire calls its `WireReceiver`. Code that has to
wait uses its own queue or future.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_edu.common.files import Buffer, File


class FileRegion(NamedTuple):
    """`length` bytes of `file`, starting at `position`.

    If the file has a descriptor, they are sent with sendfile, so no record is copied (book §3.3).
    """

    file: File
    position: int
    length: int


class LazyPart:
    """`size` bytes that are made piece by piece while they are sent. Only one piece is in memory.

    `pieces` must yield exactly `size` bytes in total. If it raises OSError, the frame is incomplete
    and the connection is closed. A part can be sent only once.
    """

    __slots__ = ("pieces", "size")

    def __init__(self, size: int, pieces: Iterator[Buffer]) -> None:
        self.size = size
        self.pieces = pieces


Part = Buffer | FileRegion | LazyPart


def part_size(part: Part) -> int:
    """Return the number of bytes that are sent for `part`."""
    if type(part) is bytes or type(part) is memoryview:  # nearly always: half the time
        return len(part)
    if isinstance(part, FileRegion):
        return part.length
    return part.size if isinstance(part, LazyPart) else len(part)


def part_bytes(part: Part) -> Buffer:
    """Return the bytes that are sent for `part`. A region of a file is read into memory.

    Connections without sendfile use this function, and tests too.
    """
    if type(part) is bytes or type(part) is memoryview:
        return part
    if isinstance(part, FileRegion):
        return part.file.pread(part.length, part.position)
    return b"".join(part.pieces) if isinstance(part, LazyPart) else part


class Wire(Protocol):
    """One connection, as its owner sees it: the owner sends data on it and can close it."""

    @property
    def peer(self) -> str:
        """Address of the other side, as `host:port`."""
        ...

    @property
    def local(self) -> str:
        """Address of this side, as `host:port`."""
        ...

    @property
    def unsent(self) -> int:
        """Number of bytes that were given to `send` and are not sent yet."""
        ...

    @property
    def unread(self) -> int:
        """Number of bytes that have arrived and were not given to the receiver.

        The number is 0 on a closed connection. Reading the number costs a system call, so code that
        runs for every request must not use it.
        """
        ...

    def send(self, parts: Sequence[Part]) -> None:
        """Put `parts` at the end of the queue of data to send. Never blocks.

        When the queue is empty, the receiver's `all_sent` is called. On a closed connection, `send`
        does nothing.
        """
        ...

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        """Call `on_failure` if a bug appears while a queued part is made or sent.

        A bug is any exception other than OSError. After a bug, the connection sends nothing more.
        If this method was not called, the exception goes to the event loop's handler, which stops a
        broker.
        """
        ...

    def pause_reading(self) -> None:
        """Stop reading: `data_received` is not called until `resume_reading`.

        While reading is stopped, TCP's back pressure slows down the other side.
        """
        ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Close the connection at once. Data that is not sent yet is lost.

        The receiver's `connection_lost` is called once after that.
        """
        ...


class WireReceiver(Protocol):
    """The object that is called when data arrives on a connection, and when the connection ends."""

    def data_received(self, data: memoryview) -> None:
        """Handle data that has arrived.

        `data` is valid only during this call, because it is a part of the event loop's receive
        buffer. Copy the bytes that are needed later.
        """
        ...

    def all_sent(self) -> None:
        """Called when all queued data has been sent."""
        ...

    def connection_lost(self, reason: str) -> None:
        """Called once, when either side has closed the connection. No further call of this object
        follows.
        """
        ...


class Listener(Protocol):
    """A listening port."""

    @property
    def port(self) -> int:
        """Number of the port. If port 0 was requested, it is the free port that was chosen."""
        ...

    def pause_accepting(self) -> None: ...

    def resume_accepting(self) -> None: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """A way to open listeners and connections."""

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        """Listen on a port.

        For each accepted connection, `on_wire` returns the receiver of its data. Raises OSError,
        for example if the port is taken or the host does not exist.
        """
        ...

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        """Open a connection. `on_wire` returns the receiver of its data.

        Raises OSError if this fails (refused, unreachable), and TimeoutError after `timeout_ms`.
        """
        ...
