"""Speak to any ZooKeeper server, ours or Apache's, through kazoo (implements ZkClient).

kazoo keeps the session: it connects, sends heartbeats, reconnects and opens new sessions, all in
one thread of its own. Only kazoo's public interface is used. Requests are its asynchronous calls,
so many of them can be in flight at once. `LoopHandler` brings answers, watches and session changes
onto the asyncio loop, in the order in which kazoo read them from the connection.

kazoo forgets its watches when the connection is lost. Java's client sets them again with a request
that kazoo does not have (SetWatches), so this client does what the server does on SetWatches: it
reads every watched znode again, with a watch, before any other request. It compares what it reads
with what it last knew, and emits the events that were missed.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import NoNodeError, ZookeeperError  # type: ignore[import-untyped]
from kazoo.handlers.threading import KazooTimeoutError  # type: ignore[import-untyped]
from kazoo.protocol import states as kazoo_states  # type: ignore[import-untyped]
from kazoo.protocol.serialization import Create  # type: ignore[import-untyped]
from kazoo.protocol.states import EventType, KazooState, KeeperState  # type: ignore[import-untyped]
from kazoo.security import OPEN_ACL_UNSAFE  # type: ignore[import-untyped]

from kafka_edu.zk.kazoo_handler import LoopHandler, Result
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

#: Reconnect at once, then after 50 ms, then more slowly, up to half a second. A restarted ZooKeeper
#: is found again before a session can expire.
RECONNECT: Final = {
    "max_tries": -1,
    "delay": 0.05,
    "backoff": 1.4,
    "max_delay": 0.5,
    "max_jitter": 0.2,
}
#: The longest time in which a second client may take a session over.
_TAKE_OVER_S: Final = 10.0
#: A silent logger, because kazoo warns of session changes that `on_session` reports anyway.
_LOGGER: Final = logging.Logger("kazoo", logging.CRITICAL)
_WATCH_TYPES: Final = {
    EventType.CREATED: WatchType.CREATED,
    EventType.DELETED: WatchType.DELETED,
    EventType.CHANGED: WatchType.DATA_CHANGED,
    EventType.CHILD: WatchType.CHILDREN_CHANGED,
}


def split_connect_string(connect_string: str) -> tuple[str, str]:
    """Split `a:1,b:2/root` into the hosts `a:1,b:2` and the chroot `/root`, or "" without one."""
    hosts, slash, chroot = connect_string.partition("/")
    return hosts, (slash + chroot).rstrip("/")


class _Watches:
    """The watches that are set, by kind, with what was last known of each path.

    That is the zxid of the last change that the client has seen there: `mzxid` for data, `pzxid`
    for children. Read and changed by the loop only.
    """

    def __init__(self) -> None:
        self.data: dict[str, int] = {}
        self.exist: set[str] = set()
        self.child: dict[str, int] = {}

    def note_data(self, path: str, stat: Stat) -> None:
        self.data[path] = stat.mzxid

    def note_exists(self, path: str, stat: Stat | None) -> None:
        if stat is None:
            self.exist.add(path)
        else:
            self.note_data(path, stat)

    def note_children(self, path: str, stat: Stat) -> None:
        self.child[path] = stat.pzxid

    def remove(self, event: WatchedEvent) -> bool:
        """Remove the watches that `event` ends. Return False if there was none: then the event has
        been notified already, or nobody waits for it.
        """
        path = event.path
        removed = False
        if event.type is not WatchType.CHILDREN_CHANGED:
            removed = self.data.pop(path, None) is not None
            if path in self.exist:
                self.exist.remove(path)
                removed = True
        if event.type in (WatchType.CHILDREN_CHANGED, WatchType.DELETED):
            removed = self.child.pop(path, None) is not None or removed
        return removed

    def clear(self) -> None:
        self.data.clear()
        self.exist.clear()
        self.child.clear()


class KazooZkClient:
    """One kazoo client behind ZkClient. Its calls and callbacks belong to the loop that called
    `start`.
    """

    def __init__(self, connect_string: str, session_timeout_ms: int) -> None:
        hosts, self._chroot = split_connect_string(connect_string)
        self._session_id = 0
        self._watch_after_zxid = -1
        self._connected = self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handler = LoopHandler()
        self._watches = _Watches()
        self._waiting: dict[asyncio.Future[Any], None] = {}
        self._on_watch: Callable[[WatchedEvent], None] = lambda _: None
        self._on_session: Callable[[SessionState], None] = lambda _: None
        self._is_connected = asyncio.Event()
        try:
            self._kazoo = KazooClient(
                _shuffled(hosts),
                session_timeout_ms / 1000,
                handler=self._handler,
                randomize_hosts=False,
                connection_retry=RECONNECT,
                logger=_LOGGER,
            )
        except ValueError as error:
            raise ValueError(f"zookeeper.connect={connect_string}: {error}") from None
        self._kazoo.add_listener(self._state_changed)

    @property
    def session_id(self) -> int:
        return self._session_id

    async def expire_session(self) -> int:
        """Have ZooKeeper end this session, as if it had expired, and return its id.

        A second client takes the session over, which its id and password allow, and closes it. The
        first one learns of it when it connects again. Raises OSError, also while this client is not
        connected: it has no session then, or ZooKeeper cannot be reached to end it.
        """
        ids = self._kazoo.client_id
        if ids is None:
            raise ConnectionError(
                "it is not connected to ZooKeeper, so no session can be ended there: start"
                " ZooKeeper, or heal the link, and try again"
            )
        session_id, password = ids
        second = KazooClient(
            ",".join(f"{host}:{port}" for host, port in self._kazoo.hosts),
            client_id=(session_id, password),
            logger=_LOGGER,
        )

        def take_over_and_close() -> None:
            try:
                second.start(timeout=_TAKE_OVER_S)
            except KazooTimeoutError as error:
                raise TimeoutError("ZooKeeper does not answer") from error
            finally:
                second.stop()
                second.close()

        await asyncio.to_thread(take_over_and_close)
        return int(session_id)

    @property
    def watch_after_zxid(self) -> int:
        return self._watch_after_zxid

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._handler.attach(self._loop)
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
        created, stat = await self._call(
            path,
            lambda full: self._kazoo.create_async(
                full, data, ephemeral=ephemeral, sequence=sequential, include_data=True
            ),
        )
        return self._unchrooted(created), Stat._make(stat)

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        def note(full: str, answer: Any) -> None:
            self._watches.note_data(full, Stat._make(answer[1]))

        data, stat = await self._call(
            path,
            lambda full: self._kazoo.get_async(full, watch=self._watcher(watch)),
            note if watch else None,
        )
        return data or b"", Stat._make(stat)

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        return Stat._make(
            await self._call(path, lambda full: self._kazoo.set_async(full, data, version))
        )

    async def delete(self, path: str, version: int = -1) -> None:
        await self._call(path, lambda full: self._kazoo.delete_async(full, version))

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        def note(full: str, answer: Any) -> None:
            self._watches.note_exists(full, answer and Stat._make(answer))

        stat = await self._call(
            path,
            lambda full: self._kazoo.exists_async(full, watch=self._watcher(watch)),
            note if watch else None,
        )
        return None if stat is None else Stat._make(stat)

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        def note(full: str, answer: Any) -> None:
            self._watches.note_children(full, Stat._make(answer[1]))

        children, stat = await self._call(
            path,
            lambda full: self._kazoo.get_children_async(
                full, watch=self._watcher(watch), include_data=True
            ),
            note if watch else None,
        )
        return sorted(children), Stat._make(stat)

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        transaction = self._kazoo.transaction()
        for op in ops:
            path = self._chrooted(op.path)
            match op:
                case CreateOp(_, data, ephemeral, sequential):
                    # `transaction.create` would refuse data that are None.
                    flags = int(ephemeral) + 2 * int(sequential)
                    transaction.operations.append(Create(path, data, OPEN_ACL_UNSAFE, flags))
                case DeleteOp(_, version):
                    transaction.delete(path, version)
                case SetDataOp(_, data, version):
                    transaction.set_data(path, data, version)
                case CheckOp(_, version):
                    transaction.check(path, version)
        answers = await self._call("", lambda _: transaction.commit_async())
        return [self._op_result(op, answer) for op, answer in zip(ops, answers, strict=True)]

    async def close(self) -> None:
        if not self._closed:
            await self._stop()

    async def _stop(self) -> None:
        """End the session and kazoo's thread. A worker waits for that, because kazoo blocks."""
        self._closed = True
        self._connected = False
        await asyncio.to_thread(self._stop_kazoo)
        await asyncio.sleep(0)  # one turn, in which the loop handles the thread's last news

    def _stop_kazoo(self) -> None:
        self._kazoo.stop()
        self._kazoo.close()

    async def _make_chroot(self) -> None:
        """Create the chroot, if there is one and its znode is missing."""
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

    def _watcher(self, watch: bool) -> Callable[[kazoo_states.WatchedEvent], None] | None:
        """Return the callback for a watch. It is always the same, so kazoo has it once a path."""
        return self._watch_fired if watch else None

    async def _call(
        self,
        path: str,
        send: Callable[[str], Result],
        note: Callable[[str, Any], None] | None = None,
    ) -> Any:
        """Send one request and wait for its answer, in kazoo's types. `note` records the watch that
        the request has set.
        """
        if not self._connected or self._loop is None:
            raise ZkError(
                ZkErrorCode.SESSION_EXPIRED if self._closed else ZkErrorCode.CONNECTION_LOSS, path
            )
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting[future] = None
        full = self._chrooted(path)
        try:
            send(full).rawlink(partial(self._answered, future, full, note))
            return await future
        except ZkError as error:
            raise ZkError(error.code, path) from None
        finally:
            del self._waiting[future]
            # The future holds an error whose traceback holds this frame. This ends the cycle, which
            # only the garbage collector would find.
            del future

    def _answered(
        self,
        future: "asyncio.Future[Any]",
        path: str,
        note: Callable[[str, Any], None] | None,
        result: Result,
    ) -> None:
        if result.exception is not None:
            _fail(future, result.exception)
            return
        if note is not None:
            note(path, result.value)
        if not future.done():
            future.set_result(result.value)

    def _op_result(self, op: Op, answer: object) -> OpResult:
        """Return one op's result. If the multi failed, every answer is an exception: code 0 before
        the op that failed.
        """
        match op, answer:
            case _, ZookeeperError():
                code = _code(answer)
                if code is not ZkErrorCode.OK:
                    raise ZkError(code, op.path)
                return None
            case CreateOp(), str():
                return self._unchrooted(answer)
            case SetDataOp(), tuple():
                return Stat._make(answer)
            case _:
                return None

    def _watch_fired(self, event: kazoo_states.WatchedEvent) -> None:
        """Called by kazoo's thread. kazoo also calls it when it forgets a watch (type NONE)."""
        if event.type in _WATCH_TYPES:
            watched = WatchedEvent(_WATCH_TYPES[event.type], event.path)
            self._handler.enter(partial(self._notify, watched, self._kazoo.last_zxid or -1))

    def _notify(self, event: WatchedEvent, after_zxid: int) -> None:
        """Call `on_watch` once for a change. kazoo reports the deletion of a znode once for each
        kind of watch.
        """
        if self._watches.remove(event) and not self._closed:
            self._watch_after_zxid = after_zxid
            self._on_watch(WatchedEvent(event.type, self._unchrooted(event.path)))

    def _watch_again(self) -> None:
        """Read every watched znode again, with a watch, and notify what changed without us."""
        for path in self._watches.data:
            self._kazoo.exists_async(path, watch=self._watch_fired).rawlink(
                partial(self._compare_data, path)
            )
        for path in self._watches.exist:
            self._kazoo.exists_async(path, watch=self._watch_fired).rawlink(
                partial(self._compare_existence, path)
            )
        for path in self._watches.child:
            self._kazoo.get_children_async(
                path, watch=self._watch_fired, include_data=True
            ).rawlink(partial(self._compare_children, path))

    def _compare_data(self, path: str, result: Result) -> None:
        if result.exception is not None:
            return  # the connection is lost again: the watch stays in the list
        if result.value is None:
            self._notify_missed(WatchType.DELETED, path)
        elif self._watches.data.get(path) != result.value.mzxid:
            self._notify_missed(WatchType.DATA_CHANGED, path)

    def _compare_existence(self, path: str, result: Result) -> None:
        if result.exception is None and result.value is not None:
            self._notify_missed(WatchType.CREATED, path)

    def _compare_children(self, path: str, result: Result) -> None:
        if result.exception is not None:
            if isinstance(result.exception, NoNodeError):
                self._notify_missed(WatchType.DELETED, path)
        elif self._watches.child.get(path) != result.value[1].pzxid:
            self._notify_missed(WatchType.CHILDREN_CHANGED, path)

    def _notify_missed(self, type: WatchType, path: str) -> None:
        self._notify(WatchedEvent(type, path), -1)

    def _state_changed(self, state: str) -> None:
        """Called by kazoo's thread, before it reads or writes anything more on a new connection."""
        session_id = 0
        match state, self._kazoo.client_state:
            case KazooState.CONNECTED, _:
                new = SessionState.CONNECTED
                session_id, _ = self._kazoo.client_id
            case KazooState.SUSPENDED, _:
                new = SessionState.DISCONNECTED
            case _, KeeperState.EXPIRED_SESSION:
                new = SessionState.EXPIRED
            case _, KeeperState.AUTH_FAILED:
                new = SessionState.AUTH_FAILED
            case _:
                new = SessionState.CLOSED
        self._handler.enter(partial(self._session_changed, new, session_id))
        self._handler.flush()  # kazoo may sleep now, or end its thread

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        self._connected = state is SessionState.CONNECTED and not self._closed
        if self._connected:
            self._session_id = session_id
            self._watch_again()
            self._is_connected.set()
        else:
            if state is SessionState.EXPIRED:
                self._watches.clear()
            # kazoo fails the requests that it knows of. One that the loop sent after the loss, and
            # before it heard of the loss, may be lost, or go out on the next connection.
            lost = (
                ZkErrorCode.CONNECTION_LOSS
                if state is SessionState.DISCONNECTED
                else ZkErrorCode.SESSION_EXPIRED
            )
            for future in list(self._waiting):
                _fail(future, ZkError(lost))
        self._on_session(state)


def _shuffled(hosts: str) -> str:
    """Return the servers in an order of chance (Java: StaticHostProvider).

    kazoo tries them round and round in this order. So the server that was lost last comes last. It
    may hang and still accept connections, and waiting for it would cost the rest of the session.
    """
    servers = hosts.split(",")
    random.shuffle(servers)
    return ",".join(servers)


def _code(error: ZookeeperError) -> ZkErrorCode:
    try:
        return ZkErrorCode(error.code)
    except ValueError:  # a newer server's code
        return ZkErrorCode.SYSTEM_ERROR


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    """Fail `future` with ZooKeeper's code. Any other error is a bug and is passed on unchanged."""
    if not future.done():
        is_zookeepers = isinstance(error, ZookeeperError)
        future.set_exception(ZkError(_code(error)) if is_zookeepers else error)
