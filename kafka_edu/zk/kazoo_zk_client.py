"""Speak to any ZooKeeper server, ours or Apache's, through kazoo (implements ZkClient).

kazoo keeps the session: it connects, sends heartbeats, reconnects and opens new sessions, all in
its own thread. This module uses only kazoo's public interface. Requests are its asynchronous calls,
so many of them can be in flight at once. `LoopHandler` brings answers, watches and session changes
onto the asyncio loop, in the order in which kazoo read them from the connection.

kazoo forgets its watches when the connection is lost. Java's client sets them again with the
request SetWatches, which kazoo does not have. Therefore this client does the server's part of
SetWatches: before any other request, it reads every watched znode again and sets the watch. If a
znode has changed while the connection was lost, the client reports the missed event.

On the way from a broker's death to the new leader, `_notify` gets the watch event in the
controller's broker. The next step is `KafkaServer._on_watch` (kafka_server.py), which calls
`KafkaController.on_watch`.
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

#: How kazoo reconnects: at once, then after 50 ms, then after longer pauses of up to half a second.
#: So it finds a restarted ZooKeeper before the session can expire.
RECONNECT: Final = {
    "max_tries": -1,
    "delay": 0.05,
    "backoff": 1.4,
    "max_delay": 0.5,
    "max_jitter": 0.2,
}
#: How many seconds `expire_session` waits until its second client has taken over the session.
_TAKE_OVER_S: Final = 10.0
#: A logger that shows nothing. kazoo logs warnings of session changes, which `on_session` reports
#: anyway.
_LOGGER: Final = logging.Logger("kazoo", logging.CRITICAL)
_WATCH_TYPES: Final = {
    EventType.CREATED: WatchType.CREATED,
    EventType.DELETED: WatchType.DELETED,
    EventType.CHANGED: WatchType.DATA_CHANGED,
    EventType.CHILD: WatchType.CHILDREN_CHANGED,
}


def split_connect_string(connect_string: str) -> tuple[str, str]:
    """Split `a:1,b:2/root` into the hosts `a:1,b:2` and the chroot `/root`. Without a chroot the
    second value is "".
    """
    hosts, slash, chroot = connect_string.partition("/")
    return hosts, (slash + chroot).rstrip("/")


class _Watches:
    """The watches that are set, by kind, and the last change that the client has seen at each path.

    The last change is a zxid: `mzxid` for data watches, `pzxid` for child watches. Only code on the
    loop reads and changes this object.
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
        """Remove the watches that `event` ends. Return False if no such watch was set. Then the
        event was already reported, or no caller wanted it.
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
    """Implements ZkClient with a kazoo client. Use it only on the event loop that called `start`.
    Its callbacks also run there.
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
        """Make ZooKeeper end this session as if it had expired, and return the session's id. This
        is an injected fault.

        A second client takes over the session with its id and password, and closes it. This client
        notices that when it connects again. Raises OSError if ZooKeeper cannot be reached, or if
        this client is not connected.
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
                    # kazoo's `transaction.create` does not accept None as data, so the operation is
                    # made here.
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
        """End the session and kazoo's thread. This runs in a worker thread, because kazoo
        blocks.
        """
        self._closed = True
        self._connected = False
        await asyncio.to_thread(self._stop_kazoo)
        await asyncio.sleep(0)  # the loop needs one turn for the thread's last steps

    def _stop_kazoo(self) -> None:
        self._kazoo.stop()
        self._kazoo.close()

    async def _make_chroot(self) -> None:
        """Create the znode of the chroot and its missing parents, if a chroot is configured."""
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
        """Return the callback for a watch, or None without `watch`. The callback is always the same
        object, so kazoo keeps it only once for each path.
        """
        return self._watch_fired if watch else None

    async def _call(
        self,
        path: str,
        send: Callable[[str], Result],
        note: Callable[[str, Any], None] | None = None,
    ) -> Any:
        """Send one request, wait for its answer, and return the answer in kazoo's types. `note`
        stores the watch that the request has set.
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
            # The future holds an error. The error's traceback holds this frame, which holds the
            # future. Deleting the name breaks this cycle, so the memory is freed without the
            # garbage collector.
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
        """Return the result of one op of a multi, or raise its ZkError. If the multi failed, kazoo
        returns an exception for every op. For each op before the failed op, the code of this
        exception is 0.
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
        """Pass a fired watch to the loop. kazoo's thread calls this. When kazoo forgets a watch,
        kazoo calls this method with the type NONE. Calls with NONE are ignored.
        """
        if event.type in _WATCH_TYPES:
            watched = WatchedEvent(_WATCH_TYPES[event.type], event.path)
            self._handler.enter(partial(self._notify, watched, self._kazoo.last_zxid or -1))

    def _notify(self, event: WatchedEvent, after_zxid: int) -> None:
        """Call `on_watch` once for each change. kazoo reports a znode's deletion once for each kind
        of watch, so the second report is dropped.
        """
        if self._watches.remove(event) and not self._closed:
            self._watch_after_zxid = after_zxid
            self._on_watch(WatchedEvent(event.type, self._unchrooted(event.path)))

    def _watch_again(self) -> None:
        """Read every watched znode again and set its watch. Report the changes that were missed
        without a connection.
        """
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
            return  # the connection is lost again; the watch is kept
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
        """Pass a session change to the loop. kazoo's thread calls this before it reads or writes
        anything else on a new connection.
        """
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
        self._handler.flush()  # kazoo's thread may sleep or end now

    def _session_changed(self, state: SessionState, session_id: int) -> None:
        self._connected = state is SessionState.CONNECTED and not self._closed
        if self._connected:
            self._session_id = session_id
            self._watch_again()
            self._is_connected.set()
        else:
            if state is SessionState.EXPIRED:
                self._watches.clear()
            # kazoo fails the requests that it already has. The event loop hears of a lost
            # connection later, so it may have sent another request in between. That request may be
            # lost, or may go out on the next connection. So all waiting requests fail here.
            lost = (
                ZkErrorCode.CONNECTION_LOSS
                if state is SessionState.DISCONNECTED
                else ZkErrorCode.SESSION_EXPIRED
            )
            for future in list(self._waiting):
                _fail(future, ZkError(lost))
        self._on_session(state)


def _shuffled(hosts: str) -> str:
    """Return the servers in random order (Java: StaticHostProvider).

    kazoo tries the servers in this order, again and again in a circle. So it tries the server of
    the lost connection last. That server may hang but still accept connections. To wait for it
    could use up the time-out of the session.
    """
    servers = hosts.split(",")
    random.shuffle(servers)
    return ",".join(servers)


def _code(error: ZookeeperError) -> ZkErrorCode:
    try:
        return ZkErrorCode(error.code)
    except ValueError:  # a code of a newer server
        return ZkErrorCode.SYSTEM_ERROR


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    """End `future` with a ZkError that has ZooKeeper's error code. Any other error is a bug and is
    passed on unchanged.
    """
    if not future.done():
        is_zookeepers = isinstance(error, ZookeeperError)
        future.set_exception(ZkError(_code(error)) if is_zookeepers else error)
