"""ZooKeeper through kazoo (implements ZkClient): any server, ours or Apache's.

kazoo keeps the connection: connecting, heartbeats, reconnects, new sessions, all in one thread of
its own. Everything that thread has to say (answers, watches, session changes) enters the loop by
one queue, so their order is the order on the wire.

Three things kazoo does not do are added where its thread reads and writes: watches are set again
after a reconnect (SetWatches, before any other request), a watch is told once for a path and not
once for each kind, and many requests share what one would cost. What is queued is sent in one
write; what has come is read in one read, and enters the loop in one step. So a pipeline saves not
only round trips but most of the CPU: each system call, and each change between the two threads,
which must hand over the interpreter's lock, is paid once for many (`bench zk-pipeline`).
"""

import asyncio
import logging
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import ConnectionDropped, KazooException  # type: ignore[import-untyped]
from kazoo.handlers.threading import SequentialThreadingHandler  # type: ignore[import-untyped]
from kazoo.protocol.connection import PING_XID, WATCH_XID, ConnectionHandler, ReplyHeader  # type: ignore[import-untyped]
from kazoo.protocol.serialization import Watch  # type: ignore[import-untyped]
from kazoo.protocol.states import KazooState, KeeperState  # type: ignore[import-untyped]

from kafka_edu.zk.jute.codec import (
    Decoder,
    encode_bool,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
    encode_vector,
)
from kafka_edu.zk.jute.op_code import CreateMode, OpCode
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE
from kafka_edu.zk.jute.serialization import encode_acl
from kafka_edu.zk.zk_client import (
    CheckOp,
    CreateOp,
    DeleteOp,
    Op,
    OpResult,
    SessionState,
    SetDataOp,
    Stat,
    WatchedEvent,
    WatchType,
    ZkError,
    ZkErrorCode,
)

T = TypeVar("T")

#: Reconnect at once, then every 50 ms and slower, half a second at most: a restarted ZooKeeper is
#: found again before a session can expire.
RECONNECT: Final = {
    "max_tries": -1,
    "delay": 0.05,
    "backoff": 1.4,
    "max_delay": 0.5,
    "max_jitter": 0.2,
}
SET_WATCHES_BYTES: Final = 100_000
"""Watches are set again in requests of about this size (the Java client: 128 KiB)."""
_ACL: Final = encode_acl(OPEN_ACL_UNSAFE)
#: A logger of its own, for it says at WARNING what `on_session` tells anyway.
_LOGGER: Final = logging.Logger("kazoo", logging.CRITICAL)


def split_connect_string(connect_string: str) -> tuple[str, str]:
    """`a:1,b:2/root` → hosts `a:1,b:2` and chroot `/root` (empty without one)."""
    hosts, slash, chroot = connect_string.partition("/")
    return hosts, (slash + chroot).rstrip("/")


#: xid, zxid, error: the head of an answer.
_REPLY_HEADER: Final = struct.Struct(">iqi")
_READ_BYTES: Final = 1 << 16


class _Request(Generic[T]):
    """A request as kazoo's connection wants it: `type`, `serialize`, `deserialize`."""

    __slots__ = ("_decode", "body", "type")

    def __init__(self, op: OpCode, body: bytes, decode: Callable[[Decoder], T]) -> None:
        self.type = int(op)
        self.body = body
        self._decode = decode

    def serialize(self) -> bytes:
        return self.body

    def deserialize(self, data: bytes, offset: int) -> T:
        return self._decode(Decoder(data, offset))


class _Watches:
    """The watches that are set, by kind. Read and changed by kazoo's thread only."""

    def __init__(self) -> None:
        self.data: dict[str, None] = {}
        self.exist: dict[str, None] = {}
        self.child: dict[str, None] = {}

    def fired(self, event: WatchedEvent) -> None:
        if event.type is not WatchType.CHILDREN_CHANGED:
            self.data.pop(event.path, None)
            self.exist.pop(event.path, None)
        if event.type in (WatchType.CHILDREN_CHANGED, WatchType.DELETED):
            self.child.pop(event.path, None)

    def clear(self) -> None:
        for paths in (self.data, self.exist, self.child):
            paths.clear()

    def requests(self, seen_zxid: int) -> list[_Request[None]]:
        """SetWatches for all of them, in pieces."""
        pieces: list[tuple[list[bytes], list[bytes], list[bytes]]] = []
        size = SET_WATCHES_BYTES
        for kind, paths in enumerate((self.data, self.exist, self.child)):
            for path in paths:
                if size >= SET_WATCHES_BYTES:
                    pieces.append(([], [], []))
                    size = 0
                encoded = encode_string(path)
                pieces[-1][kind].append(encoded)
                size += len(encoded)
        return [
            _Request(
                OpCode.SET_WATCHES,
                encode_long(seen_zxid) + b"".join(map(encode_vector, piece)),
                lambda _: None,
            )
            for piece in pieces
        ]


class _Answer(Generic[T]):
    """Takes one answer from kazoo's thread (its AsyncResult) and gives it to the loop; notes the
    watch that came with it.
    """

    __slots__ = ("_client", "_path", "_watched", "future")

    def __init__(
        self,
        client: "KazooZkClient",
        future: "asyncio.Future[T]",
        path: str,
        watched: "Callable[[T], dict[str, None]] | None",
    ) -> None:
        self._client = client
        self.future = future
        self._path = path
        self._watched = watched

    def set(self, value: T) -> None:
        if self._watched is not None:
            self._watched(value)[self._path] = None
        self._client.enter(partial(_settle, self.future, value))

    def set_exception(self, error: BaseException) -> None:
        self._client.enter(partial(_fail, self.future, error))


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threading handler without its two worker threads: nothing is put into their queues
    here.
    """

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False


class _Connection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's connection, with watches told by us and writes put together."""

    def __init__(self, kazoo: KazooClient, owner: "KazooZkClient") -> None:
        super().__init__(kazoo, kazoo._conn_retry.copy(), logger=_LOGGER)
        self._owner = owner
        self._is_woken = False
        self._received = bytearray()
        """What has come of an answer that is not all there."""
        self._tried: tuple[str, int] | None = None
        self._answered_zxid = -1
        """The highest zxid of the answers so far: a watch that comes next saw a later change."""

    def _expand_client_hosts(self) -> list[tuple[str, str, int]]:
        """The servers in the order in which they are tried: by chance, but the one tried last comes
        last. It may be hung, and take the connection; to wait for its answer once more would cost
        what is left of the session.
        """
        hosts: list[tuple[str, str, int]] = super()._expand_client_hosts()
        return sorted(hosts, key=lambda host: host[1:] == self._tried)

    def wake(self) -> None:
        """There is something in the queue. At most one byte is under way, so this never blocks."""
        sock: socket.socket | None = self._write_sock
        if not self._is_woken and sock is not None:
            self._is_woken = True
            sock.send(b"\0")

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._received.clear()
        self._tried = (hostip, port)
        read_timeout, connect_timeout = super()._connect(host, hostip, port)
        self._owner.negotiated(round(connect_timeout * len(self.client.hosts)))
        return read_timeout, connect_timeout

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        watch, _ = Watch.deserialize(buffer, offset)
        self._owner.watch_fired(
            WatchedEvent(WatchType(watch.type), watch.path), self._answered_zxid
        )

    def _read_socket(self, read_timeout: float) -> object:
        """Take what has come, in one read, and tell every answer that is whole; returns kazoo's
        sign that the session is closed.
        """
        received = self._received
        with self._socket_error_handling():
            try:
                data = self._socket.recv(_READ_BYTES)
            except BlockingIOError:  # woken for nothing; kazoo would take it for the end
                return None
        if not data:
            raise ConnectionDropped("socket connection broken")
        received += data
        frames = []
        position = 0
        while len(received) - position >= 4:
            end = position + 4 + int.from_bytes(received[position : position + 4], "big")
            if len(received) < end:
                break
            frames.append(bytes(received[position + 4 : end]))
            position = end
        del received[:position]
        closed = None
        for frame in frames:
            closed = self._read_frame(frame) or closed
        return closed

    def _read_frame(self, frame: bytes) -> object:
        """One answer, one watch that fired or one heartbeat answered."""
        xid, zxid, error = _REPLY_HEADER.unpack_from(frame)
        if xid == PING_XID:
            self.ping_outstanding.clear()
        elif xid == WATCH_XID:
            self._read_watch_event(frame, _REPLY_HEADER.size)
        else:
            self._answered_zxid = max(self._answered_zxid, zxid)
            return self._read_response(ReplyHeader(xid, zxid, error), frame, _REPLY_HEADER.size)
        return None

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Send all that is queued in one write; what cannot be sent is pending, and fails when the
        connection does.
        """
        self._read_sock.recv(4096)
        # after the byte was taken and before the queue is: what is queued from here on sends a new
        # one
        self._is_woken = False
        queue, pending = self.client._queue, self.client._pending
        message = bytearray()
        while queue:
            request, answer = queue.popleft()
            self._xid: int = self._xid % 0x7FFFFFFF + 1
            body = request.serialize()
            message += (
                encode_int(len(body) + 8) + encode_int(self._xid) + encode_int(request.type) + body
            )
            pending.append((request, answer, self._xid))
        if message:
            self._write(message, connect_timeout)


class KazooZkClient:
    """One kazoo client behind ZkClient. Its calls and callbacks belong to the loop that called
    `start`.
    """

    def __init__(self, connect_string: str, session_timeout_ms: int) -> None:
        hosts, self._chroot = split_connect_string(connect_string)
        self._session_id = 0
        self._watch_after_zxid = -1
        self._session_timeout_ms = session_timeout_ms
        self._connected = self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._entering: deque[Callable[[], None]] = deque()
        self._is_entering = False
        self._watches = _Watches()
        self._waiting: dict[asyncio.Future[Any], None] = {}
        self._on_watch: Callable[[WatchedEvent], None] = lambda _: None
        self._on_session: Callable[[SessionState], None] = lambda _: None
        self._is_connected = asyncio.Event()
        try:
            self._kazoo = KazooClient(
                hosts,
                session_timeout_ms / 1000,
                handler=_Handler(),
                connection_retry=RECONNECT,
                logger=_LOGGER,
            )
        except ValueError as error:
            raise ValueError(f"zookeeper.connect={connect_string}: {error}") from None
        self._connection = self._kazoo._connection = _Connection(self._kazoo, self)
        self._kazoo.add_listener(self._state_changed)

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def watch_after_zxid(self) -> int:
        return self._watch_after_zxid

    @property
    def session_timeout_ms(self) -> int:
        return self._session_timeout_ms

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_watch = on_watch
        self._on_session = on_session
        self._kazoo.start_async()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._is_connected.wait()
                await self._make_chroot()
        except TimeoutError:
            await self._stop()
            raise ZkError(ZkErrorCode.CONNECTION_LOSS) from None
        except BaseException:
            await self._stop()
            raise

    async def create(
        self, path: str, data: bytes | None, *, ephemeral: bool = False, sequential: bool = False
    ) -> tuple[str, Stat]:
        body = (
            encode_string(self._chrooted(path))
            + encode_buffer(data)
            + _ACL
            + encode_int(_mode(ephemeral, sequential))
        )
        created, stat = await self._call(
            OpCode.CREATE2, path, body, lambda d: (d.read_string(), d.read_stat())
        )
        return self._unchrooted(created), stat

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        body = encode_string(self._chrooted(path)) + encode_bool(watch)
        watched = (lambda _: self._watches.data) if watch else None
        return await self._call(
            OpCode.GET_DATA, path, body, lambda d: (d.read_buffer() or b"", d.read_stat()), watched
        )

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        body = encode_string(self._chrooted(path)) + encode_buffer(data) + encode_int(version)
        return await self._call(OpCode.SET_DATA, path, body, Decoder.read_stat)

    async def delete(self, path: str, version: int = -1) -> None:
        await self._call(
            OpCode.DELETE,
            path,
            encode_string(self._chrooted(path)) + encode_int(version),
            lambda _: None,
        )

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        def decode(d: Decoder) -> Stat | None:
            return (
                d.read_stat()
            )  # a node that is not there is an error on the wire, which kazoo makes a None

        def watched(stat: Stat | None) -> dict[str, None]:
            return self._watches.exist if stat is None else self._watches.data

        body = encode_string(self._chrooted(path)) + encode_bool(watch)
        return await self._call(OpCode.EXISTS, path, body, decode, watched if watch else None)

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        body = encode_string(self._chrooted(path)) + encode_bool(watch)
        watched = (lambda _: self._watches.child) if watch else None
        return await self._call(
            OpCode.GET_CHILDREN2,
            path,
            body,
            lambda d: (sorted(d.read_vector(d.read_string)), d.read_stat()),
            watched,
        )

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        body = (
            b"".join(map(self._encode_op, ops))
            + encode_int(-1)
            + encode_bool(True)
            + encode_int(-1)
        )
        results = await self._call(OpCode.MULTI, "", body, _decode_multi)
        for op, result in zip(ops, results, strict=True):
            if isinstance(result, ZkErrorCode) and result is not ZkErrorCode.OK:
                raise ZkError(result, op.path)
        return [
            self._unchrooted(result) if isinstance(result, str) else result
            for result in results
            if not isinstance(result, ZkErrorCode)
        ]

    async def close(self) -> None:
        if not self._closed:
            await self._stop()

    async def _stop(self) -> None:
        """kazoo ends the session and its thread; waiting for that blocks, so a worker does it."""
        self._closed = True
        self._connected = False
        await asyncio.to_thread(self._stop_kazoo)
        await asyncio.sleep(0)  # what its thread said last has entered before this; let it be told

    def _stop_kazoo(self) -> None:
        self._kazoo.stop()
        self._kazoo.close()

    async def _make_chroot(self) -> None:
        """Create the chroot, if there is one and it is not there."""
        chroot, self._chroot = self._chroot, ""
        try:
            parts = chroot.split("/")[1:]
            for depth in range(len(parts)):
                try:
                    await self.create("/" + "/".join(parts[: depth + 1]), None)
                except ZkError as error:
                    if error.code is not ZkErrorCode.NODE_EXISTS:
                        raise
        finally:
            self._chroot = chroot

    def _chrooted(self, path: str) -> str:
        return (self._chroot if path == "/" else self._chroot + path) if self._chroot else path

    def _unchrooted(self, path: str) -> str:
        return path[len(self._chroot) :] or "/"

    async def _call(
        self,
        op: OpCode,
        path: str,
        body: bytes,
        decode: Callable[[Decoder], T],
        watched: Callable[[T], dict[str, None]] | None = None,
    ) -> T:
        if not self._connected or self._loop is None:
            raise ZkError(
                ZkErrorCode.SESSION_EXPIRED if self._closed else ZkErrorCode.CONNECTION_LOSS, path
            )
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting[future] = None
        self._kazoo._queue.append(
            (_Request(op, body, decode), _Answer(self, future, self._chrooted(path), watched))
        )
        self._connection.wake()
        try:
            return await future
        except ZkError as error:
            raise ZkError(error.code, path) from None
        finally:
            del self._waiting[future]
            # it holds an error whose traceback holds this frame: a cycle that only the garbage
            # collector would end
            del future

    def _encode_op(self, op: Op) -> bytes:
        path = encode_string(self._chrooted(op.path))
        match op:
            case CreateOp(_, data, ephemeral, sequential):
                code, body = (
                    OpCode.CREATE,
                    path + encode_buffer(data) + _ACL + encode_int(_mode(ephemeral, sequential)),
                )
            case DeleteOp(_, version):
                code, body = OpCode.DELETE, path + encode_int(version)
            case SetDataOp(_, data, version):
                code, body = OpCode.SET_DATA, path + encode_buffer(data) + encode_int(version)
            case CheckOp(_, version):
                code, body = OpCode.CHECK, path + encode_int(version)
        return encode_int(code) + encode_bool(False) + encode_int(-1) + body

    def enter(self, told: Callable[[], None]) -> None:
        """Have `told` called on the loop, after all that entered before. Called by kazoo's
        thread.
        """
        self._entering.append(told)
        if not self._is_entering and self._loop is not None and not self._loop.is_closed():
            self._is_entering = True
            self._loop.call_soon_threadsafe(self._entered)

    def _entered(self) -> None:
        self._is_entering = False
        while self._entering:
            self._entering.popleft()()

    def negotiated(self, timeout_ms: int) -> None:
        """Called by kazoo's thread."""
        self._session_timeout_ms = timeout_ms

    def watch_fired(self, event: WatchedEvent, after_zxid: int) -> None:
        """Called by kazoo's thread."""
        self._watches.fired(event)
        self.enter(partial(self._tell_watch, event, after_zxid))

    def _tell_watch(self, event: WatchedEvent, after_zxid: int) -> None:
        if not self._closed:
            self._watch_after_zxid = after_zxid
            self._on_watch(WatchedEvent(event.type, self._unchrooted(event.path)))

    def _state_changed(self, state: str) -> None:
        """Called by kazoo's thread, before it reads or writes anything more on a new connection."""
        match state, self._kazoo.client_state:
            case KazooState.CONNECTED, _:
                requests = self._watches.requests(self._kazoo.last_zxid)
                for request in reversed(requests):
                    self._kazoo._queue.appendleft((request, None))
                if self._kazoo._queue:
                    self._connection.wake()
                told = SessionState.CONNECTED
            case KazooState.SUSPENDED, _:
                told = SessionState.DISCONNECTED
            case _, KeeperState.EXPIRED_SESSION:
                self._watches.clear()
                told = SessionState.EXPIRED
            case _, KeeperState.AUTH_FAILED:
                told = SessionState.AUTH_FAILED
            case _:
                told = SessionState.CLOSED
        self.enter(partial(self._tell_session, told, self._kazoo._session_id or 0))

    def _tell_session(self, state: SessionState, session_id: int) -> None:
        self._connected = state is SessionState.CONNECTED and not self._closed
        if self._connected:
            self._session_id = session_id
            self._is_connected.set()
        elif state is not SessionState.DISCONNECTED:
            for future in list(
                self._waiting
            ):  # kazoo fails those it knows; one that was just being queued it may have lost
                _fail(future, ZkError(ZkErrorCode.SESSION_EXPIRED))
        self._on_session(state)


def _mode(ephemeral: bool, sequential: bool) -> CreateMode:
    return CreateMode(int(ephemeral) + 2 * int(sequential))


def _decode_multi(d: Decoder) -> "list[OpResult | ZkErrorCode]":
    results: list[OpResult | ZkErrorCode] = []
    while True:
        op, done, _ = d.read_int(), d.read_bool(), d.read_int()
        if done:
            return results
        match op:
            case OpCode.ERROR:
                results.append(_code(d.read_int()))
            case OpCode.CREATE:
                results.append(d.read_string())
            case OpCode.SET_DATA:
                results.append(d.read_stat())
            case _:
                results.append(None)


def _code(number: int) -> ZkErrorCode:
    try:
        return ZkErrorCode(number)
    except ValueError:  # a server of later days
        return ZkErrorCode.SYSTEM_ERROR


def _settle(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: "asyncio.Future[T]", error: BaseException) -> None:
    """kazoo's exceptions carry ZooKeeper's code; anything else is a bug, and is passed on as it
    is.
    """
    if not future.done():
        future.set_exception(
            ZkError(_code(error.code)) if isinstance(error, KazooException) else error
        )
