"""Real connections: non-blocking TCP sockets with asyncio's selector event loop.

Kafka: Selector.java, PlaintextTransportLayer.java.

Each event loop has one receive buffer. When a socket has data, the data is read into this buffer,
and the receiver is called at once. So a client that announces a large request does not make the
broker allocate memory. Data is written directly to the socket. Only data that the kernel does not
accept at once waits in a queue.

Regions of files are sent with sendfile: records go from the page cache to the socket without
entering this process (book 002 §3.3, "zero copy"). Only small regions are read into the process. A
region is small or large according to its length when `send` gets it. If the kernel accepts only a
part of a large region, the rest is sent with sendfile too. `SocketTransport.file_bytes` counts the
bytes of both ways.
"""

import asyncio
import errno
import fcntl
import os
import socket
import sys
import termios
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.files import Buffer
from kafka_edu.common.transport import (
    FileRegion,
    LazyPart,
    Listener,
    Part,
    Wire,
    WireReceiver,
    part_size,
)

RECEIVE_BUFFER_BYTES: Final = 256 * 1024
MAX_BYTES_A_TURN: Final = 2 * 1024 * 1024
"""The maximum number of bytes that one connection sends before the other connections get their
turn.
"""
MAX_VECTOR: Final = 512
SMALL_REGION_BYTES: Final = 72 * 1024
"""A region of a file of at most this many bytes is read, and sent with the data around it.

This is the size of one producer batch of 64 KiB and some headers. To copy so few bytes costs less
than three system calls. It also costs less than waking the reading client twice, once for the first
part and once for the last (docs/performance.md).
"""
MAX_READ_A_CALL: Final = 1024 * 1024
"""The maximum number of bytes of small regions that are collected for one system call.

The kernel rarely accepts more, and the bytes that it does not accept must be read again.
"""
ACCEPT_BACK_OFF_S: Final = 1.0
_MORE: Final = getattr(socket, "MSG_MORE", 0)
_NO_SENDFILE: Final = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.ENOTSOCK}


class FileBytes:
    """Count the bytes of files that one transport has sent: by sendfile or by reading (spec S6)."""

    __slots__ = ("by_sendfile", "read")

    def __init__(self) -> None:
        self.by_sendfile = 0
        """Bytes that went from the page cache to a socket without entering this process."""
        self.read = 0
        """Bytes that were read into this process and then sent.

        If the kernel does not accept a small region, it is read and counted again.
        """


class RestOfRegion(FileRegion):
    """The rest of a large region, after the kernel has accepted a part of it.

    The rest still counts as a large region, even if it is short.
    """


class SocketTransport:
    """Open sockets on the running event loop. Each event loop has one such object.

    The object owns the receive buffer of the loop and the count of file bytes.
    """

    def __init__(self, receive_buffer_bytes: int = RECEIVE_BUFFER_BYTES) -> None:
        self._buffer = memoryview(bytearray(receive_buffer_bytes))
        self.file_bytes = FileBytes()

    async def listen(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver]
    ) -> Listener:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(1024)
            sock.setblocking(False)
        except OSError as error:
            sock.close()
            raise OSError(
                error.errno, f"cannot listen on {host}:{port}: {error.strerror}"
            ) from error
        return SocketListener(
            asyncio.get_running_loop(), sock, self._buffer, self.file_bytes, on_wire
        )

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> Wire:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_ms / 1000):
            infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            refused: OSError | None = None
            try:
                for family, kind, protocol, _, address in infos:
                    sock = socket.socket(family, kind, protocol)
                    sock.setblocking(False)
                    try:
                        await loop.sock_connect(sock, address)
                    except OSError as error:
                        sock.close()
                        refused = error
                    except BaseException:
                        sock.close()
                        raise
                    else:
                        return SocketWire(loop, sock, self._buffer, self.file_bytes, on_wire)
                raise refused or OSError(f"{host} has no address")
            finally:
                # The error's traceback refers to this frame. Without `del` there would be a cycle,
                # which only the garbage collector could free.
                del refused


class SocketListener:
    """A listening socket. It accepts connections while it is not paused."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        buffer: memoryview,
        file_bytes: FileBytes,
        on_wire: Callable[[Wire], WireReceiver],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._buffer = buffer
        self._file_bytes = file_bytes
        self._on_wire = on_wire
        self._back_off: asyncio.TimerHandle | None = None
        self._closed = False
        self._accepting = False
        self.resume_accepting()

    @property
    def port(self) -> int:
        port: int = self._sock.getsockname()[1]
        return port

    def pause_accepting(self) -> None:
        self._accepting = False
        if not self._closed:
            self._loop.remove_reader(self._sock)

    def resume_accepting(self) -> None:
        self._accepting = True
        if not self._closed and self._back_off is None:
            self._loop.add_reader(self._sock, self._accept)

    def _end_back_off(self) -> None:
        self._back_off = None
        if self._accepting:
            self.resume_accepting()

    def close(self) -> None:
        if self._closed:
            return
        self.pause_accepting()
        self._closed = True
        if self._back_off:
            self._back_off.cancel()
        self._sock.close()

    def _accept(self) -> None:
        for _ in range(64):
            if not self._accepting:  # the last connection took the last slot
                return
            try:
                sock, _ = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                self._loop.remove_reader(
                    self._sock
                )  # no descriptor is free: waiting connections keep waiting, and we do not spin
                self._back_off = self._loop.call_later(ACCEPT_BACK_OFF_S, self._end_back_off)
                return
            sock.setblocking(False)
            SocketWire(self._loop, sock, self._buffer, self._file_bytes, self._on_wire)


def _too_short(region: FileRegion) -> OSError:
    return OSError(
        errno.EIO, f"{region.file.path} ends before byte {region.position + region.length}"
    )


def is_small(region: FileRegion) -> bool:
    """Return whether a region is small: it is read into the process, and is not sent with sendfile.

    The rest of a large region never counts as small.
    """
    return region.length <= SMALL_REGION_BYTES and not isinstance(region, RestOfRegion)


def _address(name: tuple[str, int] | tuple[str, int, int, int]) -> str:
    return f"{name[0]}:{name[1]}"


class SocketWire:
    """One connected socket.

    `pause_reading` only sets a flag. The socket leaves the selector only when data arrives on a
    paused connection. Kafka's processors pause a connection while one of its requests is handled.
    Such a pause costs no system call.

    `resume_reading` first reads, and then registers the socket with the selector. The socket has
    left the selector because data had arrived, so there is data to read. A client that sends many
    requests without waiting is paused hundreds of times a second. If the socket left the selector
    at each pause, each pause would cost two changes of the selector. And the selector would have to
    report data that had arrived before the socket was registered again.
    """

    __slots__ = (
        "_armed",
        "_buffer",
        "_closed",
        "_fd",
        "_file_bytes",
        "_loop",
        "_on_send_failure",
        "_paused",
        "_queue",
        "_reads_soon",
        "_receiver",
        "_sock",
        "_writing",
        "local",
        "peer",
        "unsent",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        buffer: memoryview,
        file_bytes: FileBytes,
        on_wire: Callable[[Wire], WireReceiver],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._fd = sock.fileno()
        self._buffer = buffer
        self._file_bytes = file_bytes
        self._queue: deque[Part] = deque()
        self.unsent = 0
        self._paused = False
        self._reads_soon = False
        """True if a read without the selector has been scheduled: see `resume_reading`."""
        self._writing = False
        self._closed = False
        self._on_send_failure: Callable[[Exception], None] | None = None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.local = _address(sock.getsockname())
        try:
            self.peer = _address(sock.getpeername())
        except OSError:  # the client left before it was accepted: the first read will show it
            self.peer = "unknown:0"
        # `on_wire` may close the connection at once, if there are too many connections.
        self._armed = False
        self._receiver = on_wire(self)
        self._armed = not self._closed
        if self._armed:
            loop.add_reader(self._fd, self._on_readable)

    def send(self, parts: Sequence[Part]) -> None:
        if self._closed:
            return
        self._queue.extend(parts)
        self.unsent += sum(map(part_size, parts))
        if not self._writing:
            self._write()

    @property
    def unread(self) -> int:
        if self._closed:
            return 0
        count = bytearray(4)
        fcntl.ioctl(self._fd, termios.FIONREAD, count)
        return int.from_bytes(count, sys.byteorder)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        if not self._armed and not self._reads_soon and not self._closed:
            self._reads_soon = True
            self._loop.call_soon(self._read_what_waits)

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_send_failure = on_failure

    def close(self) -> None:
        self._lost("closed here")

    def _on_readable(self) -> None:
        if self._paused:
            self._loop.remove_reader(self._fd)
            self._armed = False
            return
        self._receive()

    def _read_what_waits(self) -> None:
        """Read once after a pause.

        After this read, let the selector report further data, unless reading is paused again.
        """
        self._reads_soon = False
        if self._paused or self._closed:
            return
        try:
            self._receive()
        finally:
            if not self._paused and not self._armed and not self._closed and not self._reads_soon:
                self._armed = True
                self._loop.add_reader(self._fd, self._on_readable)

    def _receive(self) -> None:
        try:
            count = self._sock.recv_into(self._buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(error.strerror or str(error))
            return
        if count == 0:
            self._lost("closed by the other side")
            return
        self._receiver.data_received(self._buffer[:count])

    def _write(self) -> None:
        """Send until the queue is empty, the kernel accepts no more, or the turn is over.

        A turn ends after MAX_BYTES_A_TURN.
        """
        budget, made = MAX_BYTES_A_TURN, False
        queue = self._queue
        try:
            while queue and budget > 0:
                first = queue[0]
                if isinstance(first, LazyPart):
                    # Make only one piece in each turn. To make a piece may take much longer than to
                    # send it.
                    if made:
                        break
                    self._make_piece(first)
                    made = True
                    continue
                if isinstance(first, FileRegion) and not is_small(first):
                    sent = self._send_region(first)
                else:
                    sent = self._send_buffers()
                self.unsent -= sent
                budget -= sent
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._lost(error.strerror or str(error))
            return
        except Exception as error:
            if self._on_send_failure is None:
                raise
            self._on_send_failure(error)
            return
        if queue:
            if not self._writing:
                self._writing = True
                self._loop.add_writer(self._fd, self._write)
            return
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._fd)
        self._receiver.all_sent()

    def _send_buffers(self) -> int:
        """Send the buffers and small regions at the front of the queue with one call.

        MSG_MORE keeps the head and the records of a response in one packet.
        """
        queue = self._queue
        vector: list[Buffer] = []
        flags = read = 0
        for part in queue:
            if len(vector) == MAX_VECTOR:
                break
            if isinstance(part, FileRegion) and is_small(part):
                if read > MAX_READ_A_CALL:
                    break
                vector.append(self._read(part))
                read += part.length
            elif isinstance(part, (FileRegion, LazyPart)):
                flags = _MORE
                break
            else:
                vector.append(part)
        sent = self._sock.sendmsg(vector, (), flags)
        rest = sent
        for part in vector:
            if rest < len(part):
                if rest:
                    queue[0] = memoryview(part)[rest:]
                break
            rest -= len(part)
            queue.popleft()
        return sent

    def _make_piece(self, lazy: LazyPart) -> None:
        """Make the next piece of the lazy part, and put the piece into the queue in front of the
        part.

        If the part has no more pieces, remove the part from the queue.
        """
        piece = next(lazy.pieces, None)
        if piece is None:
            self._queue.popleft()
        else:
            self._queue.appendleft(piece)

    def _read(self, region: FileRegion) -> Buffer:
        """Read a small region completely. Raises OSError if the file ends inside the region."""
        data = region.file.pread(region.length, region.position)
        if len(data) < region.length:
            raise _too_short(region)
        self._file_bytes.read += len(data)
        return data

    def _send_region(self, region: FileRegion) -> int:
        """Send a part of a large region. Return the number of bytes.

        If the file is shorter than the region says, the frame is incomplete and the connection must
        be closed.
        """
        length = min(region.length, MAX_BYTES_A_TURN)
        in_fd = region.file.fileno()
        if in_fd is not None and hasattr(os, "sendfile"):
            try:
                sent = os.sendfile(self._fd, in_fd, region.position, length)
                self._file_bytes.by_sendfile += sent
            except OSError as error:
                if error.errno not in _NO_SENDFILE:
                    raise
                sent = self._send_by_reading(region)
        else:
            sent = self._send_by_reading(region)
        if sent == 0:
            raise _too_short(region)
        if sent == region.length:
            self._queue.popleft()
        else:
            self._queue[0] = RestOfRegion(region.file, region.position + sent, region.length - sent)
        return sent

    def _send_by_reading(self, region: FileRegion) -> int:
        """Send a part of a large region on a system without sendfile."""
        data = region.file.pread(min(region.length, RECEIVE_BUFFER_BYTES), region.position)
        self._file_bytes.read += len(data)
        return self._sock.send(data)

    def _lost(self, reason: str) -> None:
        if self._closed:
            return
        self._closed = True
        if self._armed:
            self._loop.remove_reader(self._fd)
            self._armed = False
        if self._writing:
            self._loop.remove_writer(self._fd)
            self._writing = False
        self._queue.clear()
        self.unsent = 0
        self._sock.close()
        self._loop.call_soon(self._receiver_lost, reason)

    def _receiver_lost(self, reason: str) -> None:
        # The receiver and the owner of the guard refer to this wire. Without `del`, these
        # references would form cycles, which only the garbage collector could free. After this
        # point, no method of the receiver is called.
        receiver = self._receiver
        del self._receiver
        self._on_send_failure = None
        receiver.connection_lost(reason)
