"""The wire is handed in: sockets in real time, memory in virtual time; whoever sits above cannot
tell.

Everything is a call, nothing is awaited but opening: a `Wire` is written to, a `WireReceiver` is
told. Whoever needs to wait does so on a queue or future of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_edu.common.files import Buffer, File


class FileRegion(NamedTuple):
    """`length` bytes of `file` from `position`: sent by sendfile where the file has a descriptor:
    no record is copied (book §3.3).
    """

    file: File
    position: int
    length: int


class LazyPart:
    """`size` bytes that are made while they are sent, so that one piece lies in memory and not all.

    `pieces` must give exactly `size` bytes; it may raise OSError, which breaks the frame, so the
    connection goes. Sent once.
    """

    __slots__ = ("pieces", "size")

    def __init__(self, size: int, pieces: Iterator[Buffer]) -> None:
        self.size = size
        self.pieces = pieces


Part = Buffer | FileRegion | LazyPart


def part_size(part: Part) -> int:
    """Bytes that `part` puts on the wire."""
    if isinstance(part, FileRegion):
        return part.length
    return part.size if isinstance(part, LazyPart) else len(part)


def part_bytes(part: Part) -> Buffer:
    """What `part` puts on the wire, read into memory if it lies in a file: for a wire without
    sendfile, and for tests.
    """
    if isinstance(part, FileRegion):
        return part.file.pread(part.length, part.position)
    return b"".join(part.pieces) if isinstance(part, LazyPart) else part


class Wire(Protocol):
    """One connection, as seen by the one who writes on it."""

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
        """Bytes handed to `send` that have not left yet."""
        ...

    @property
    def unread(self) -> int:
        """Bytes that have come and were not given to the receiver; 0 on a closed wire. A system
        call: not for the hot path.
        """
        ...

    def send(self, parts: Sequence[Part]) -> None:
        """Queue `parts`, in order, behind what is queued; never blocks.

        The receiver's `all_sent` tells when the queue is empty. On a closed wire nothing happens.
        """
        ...

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        """Have `on_failure` told when making or sending a queued part raises what is no OSError: a
        bug. The wire does not send any more.

        Without it such an exception goes to the loop's handler, which stops a broker.
        """
        ...

    def pause_reading(self) -> None:
        """Mute: no `data_received` until `resume_reading`. The other side feels TCP's back
        pressure.
        """
        ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Close now; what is unsent is lost; `connection_lost` follows, once."""
        ...


class WireReceiver(Protocol):
    """One connection, as seen by the one who is told."""

    def data_received(self, data: memoryview) -> None:
        """`data` is valid during the call only (it lies in the loop's one receive buffer): copy
        what you keep.
        """
        ...

    def all_sent(self) -> None:
        """All that was queued by `send` has left."""
        ...

    def connection_lost(self, reason: str) -> None:
        """The wire is closed, by either side; called once, and nothing after it."""
        ...


class Listener(Protocol):
    """An open door."""

    @property
    def port(self) -> int:
        """The port it listens on: the one asked for, or the free one that was picked for 0."""
        ...

    def pause_accepting(self) -> None: ...

    def resume_accepting(self) -> None: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Opens doors and wires."""

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        """Listen; each accepted connection is given to `on_wire`, which answers with who is to be
        told. Raises OSError (port taken, no such host).
        """
        ...

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        """Connect, or raise OSError (refused, unreachable) or TimeoutError after `timeout_ms`."""
        ...
