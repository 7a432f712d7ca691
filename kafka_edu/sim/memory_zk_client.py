"""A client of the simulator's ZooKeeper (implements ZkClient).

Tests cause faults with method calls: `cut` and `mend` affect the client's link, `pause` and
`resume` its process. Callbacks run in the context in which the client was started. So a paused or
killed process sends no heartbeats, and its session expires without further code.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.sim.memory_zookeeper import MemoryConnection, MemoryZooKeeper
from kafka_edu.zk.embedded.zookeeper_server import (
    AppendTxn,
    CloseCnxn,
    ConnectReply,
    Effect,
    Notify,
    Reply,
)
from kafka_edu.zk.jute.op_code import CreateMode
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CheckVersionRequest,
    ChildrenResponse,
    CloseSessionRequest,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    CreateResponse,
    DataResponse,
    DeleteRequest,
    ErrorResult,
    ExistsRequest,
    GetChildrenRequest,
    GetDataRequest,
    MultiOp,
    MultiRequest,
    MultiResponse,
    PingRequest,
    Request,
    Response,
    SetDataRequest,
    SetWatchesRequest,
    StatResponse,
)
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

RECONNECT_MS: Final = 100
_FLAGS: Final = {
    (False, False): CreateMode.PERSISTENT,
    (True, False): CreateMode.EPHEMERAL,
    (False, True): CreateMode.PERSISTENT_SEQUENTIAL,
    (True, True): CreateMode.EPHEMERAL_SEQUENTIAL,
}


class _Pending:
    """A request whose answer has not come yet."""

    __slots__ = ("future", "path", "request", "xid")

    def __init__(
        self, xid: int, request: Request, path: str, future: "asyncio.Future[Response | None]"
    ) -> None:
        self.xid = xid
        self.request = request
        self.path = path
        self.future = future


class MemoryZkClient:
    """A session with a MemoryZooKeeper. It behaves like a session of kazoo: it has heartbeats and
    time-outs, reconnects, sets its watches again, and opens a new session when the old one has
    expired.
    """

    def __init__(self, zookeeper: MemoryZooKeeper, session_timeout_ms: int, name: str) -> None:
        self.name = name
        self.context = contextvars.copy_context()
        self._zookeeper = zookeeper
        self._requested_timeout_ms = self._timeout_ms = session_timeout_ms
        self._session_id = 0
        self._passwd = bytes(16)
        self._last_zxid = 0
        self._last_xid = 0
        self._connection: MemoryConnection | None = None
        self._connected = False
        self._closed = False
        self.is_cut = self._is_paused = False
        self.on_cut: Callable[[bool], None] = lambda is_cut: None
        """Gets the new state of the link to the server, when the link is cut or mended."""
        self._last_heard_ms = 0
        self._pending: deque[_Pending] = deque()
        self._watches: tuple[dict[str, None], dict[str, None], dict[str, None]] = ({}, {}, {})
        """The paths of the data, exist and child watches. They are set again after a reconnect."""
        self._timer: asyncio.TimerHandle | None = None
        self._on_watch: Callable[[WatchedEvent], None] | None = None
        self._on_session: Callable[[SessionState], None] | None = None
        self._first_connected: asyncio.Event = asyncio.Event()

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def watch_after_zxid(self) -> int:
        return self._last_zxid or -1

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        self.context = contextvars.copy_context()
        self._on_watch = on_watch
        self._on_session = on_session
        self._connect()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._first_connected.wait()
        except TimeoutError:
            self._closed = True
            self._give_up_connection()
            raise ZkError(ZkErrorCode.CONNECTION_LOSS) from None

    async def create(
        self, path: str, data: bytes | None, *, ephemeral: bool = False, sequential: bool = False
    ) -> tuple[str, Stat]:
        response = await self._call(
            CreateRequest(
                path, data, OPEN_ACL_UNSAFE, _FLAGS[ephemeral, sequential], with_stat=True
            ),
            path,
        )
        assert isinstance(response, CreateResponse)
        assert response.stat is not None
        return response.path, response.stat

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        response = await self._call(GetDataRequest(path, watch), path)
        assert isinstance(response, DataResponse)
        return response.data or b"", response.stat

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        response = await self._call(SetDataRequest(path, data, version), path)
        assert isinstance(response, StatResponse)
        return response.stat

    async def delete(self, path: str, version: int = -1) -> None:
        await self._call(DeleteRequest(path, version), path)

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        try:
            response = await self._call(ExistsRequest(path, watch), path)
        except ZkError as error:
            if error.code is ZkErrorCode.NO_NODE:
                return None
            raise
        assert isinstance(response, StatResponse)
        return response.stat

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        response = await self._call(GetChildrenRequest(path, watch, with_stat=True), path)
        assert isinstance(response, ChildrenResponse)
        assert response.stat is not None
        return sorted(response.children), response.stat

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        response = await self._call(MultiRequest(tuple(map(_multi_op, ops))), "")
        assert isinstance(response, MultiResponse)
        results: list[OpResult] = []
        for op, result in zip(ops, response.results, strict=True):
            match result:
                case ErrorResult(code):
                    if code is not ZkErrorCode.OK:
                        raise ZkError(code, op.path)
                case CreateResponse(path):
                    results.append(path)
                case StatResponse(stat):
                    results.append(stat)
                case _:
                    results.append(None)
        return results

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._connected:
            try:
                async with asyncio.timeout(self._timeout_ms / 1000):
                    await self._post(CloseSessionRequest())
            except (ZkError, TimeoutError):
                pass  # The session expires by itself.
        self._give_up_connection()
        self._tell(SessionState.CLOSED)

    def cut(self) -> None:
        """Cut the link between this client and the server. No data passes until `mend`. Sent data
        waits, as in TCP.
        """
        if not self.is_cut:
            self.is_cut = True
            if self._connection is not None:
                self._connection.up.hold()
                self._connection.down.hold()
            self.on_cut(True)

    def mend(self) -> None:
        if self.is_cut:
            self.is_cut = False
            if self._connection is not None:
                self._connection.up.release()
                self._connection.down.release()
            self.on_cut(False)

    def pause(self) -> None:
        """Pause this client: it sends no heartbeats and receives nothing. Pausing the client's
        simulated process has the same effect.
        """
        if not self._is_paused:
            self._is_paused = True
            if self._connection is not None:
                self._connection.down.hold()

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._last_heard_ms = (
                self._zookeeper.time.hi_res_clock_ms()
            )  # Data that waits in the socket is read before the clock.
            if self._connection is not None:
                self._connection.down.release()

    def receive(self, connection: MemoryConnection, effect: Effect) -> None:
        """Handle an effect that the server has sent. The connection calls this in the client's
        context.
        """
        if connection is not self._connection:
            return
        self._last_heard_ms = self._zookeeper.time.hi_res_clock_ms()
        match effect:
            case ConnectReply(_, response):
                self._on_connect_reply(response)
            case Notify(_, event):
                self._forget_watch(event)
                if self._on_watch is not None:
                    self._on_watch(event)
            case Reply():
                self._on_reply(effect)
            case CloseCnxn():
                self._disconnected()
            case AppendTxn():
                pass

    def _connect(self) -> None:
        """Open a connection and request the previous session, or a new one. If the server is down,
        try again later.
        """
        if self._closed:
            return
        try:
            connection = self._connection = MemoryConnection(self._zookeeper, self)
        except ZkError:
            self._later(RECONNECT_MS, self._connect)
            return
        if self.is_cut:
            connection.up.hold()
            connection.down.hold()
        if self._is_paused:
            connection.down.hold()
        self._last_heard_ms = self._zookeeper.time.hi_res_clock_ms()
        connection.up.send(
            ConnectRequest(
                0,
                self._last_zxid,
                self._requested_timeout_ms,
                self._session_id,
                self._passwd,
                False,
            )
        )
        self._heartbeat_later()

    def _on_connect_reply(self, response: ConnectResponse) -> None:
        if response.timeout_ms == 0:
            self._session_id = 0
            self._passwd = bytes(16)
            for watches in self._watches:
                watches.clear()
            self._give_up_connection()
            self._tell(SessionState.EXPIRED)
            self._connect()
            return
        self._session_id, self._passwd, self._timeout_ms = (
            response.session_id,
            response.passwd,
            response.timeout_ms,
        )
        self._connected = True
        if (
            self._timer is not None
        ):  # It is set for the requested time-out, and the server may have given a shorter one.
            self._timer.cancel()
        self._heartbeat_later()
        data, exist, child = self._watches
        if data or exist or child:
            self._post(
                SetWatchesRequest(self._last_zxid, tuple(data), tuple(exist), tuple(child))
            ).add_done_callback(_ignore)
        self._tell(SessionState.CONNECTED)
        self._first_connected.set()

    def _on_reply(self, reply: Reply) -> None:
        if reply.zxid > 0:
            self._last_zxid = reply.zxid
        pending = self._pending.popleft()
        assert pending.xid == reply.xid, "answers come in the order of their requests"
        self._remember_watch(pending.request, reply.code)
        if pending.future.done():
            return
        if reply.code is ZkErrorCode.OK:
            pending.future.set_result(reply.body)
        else:
            pending.future.set_exception(ZkError(reply.code, pending.path))

    def _remember_watch(self, request: Request, code: ZkErrorCode) -> None:
        data, exist, child = self._watches
        match request:
            case GetDataRequest(path, True) if code is ZkErrorCode.OK:
                data[path] = None
            case ExistsRequest(path, True) if code in (ZkErrorCode.OK, ZkErrorCode.NO_NODE):
                (data if code is ZkErrorCode.OK else exist)[path] = None
            case GetChildrenRequest(path, True) if code is ZkErrorCode.OK:
                child[path] = None
            case _:
                pass

    def _forget_watch(self, event: WatchedEvent) -> None:
        data, exist, child = self._watches
        if event.type is not WatchType.CHILDREN_CHANGED:
            data.pop(event.path, None)
            exist.pop(event.path, None)
        if event.type in (WatchType.CHILDREN_CHANGED, WatchType.DELETED):
            child.pop(event.path, None)

    def _disconnected(self) -> None:
        was_connected = self._connected
        self._give_up_connection()
        if self._closed:
            return
        if was_connected:
            self._tell(SessionState.DISCONNECTED)
        self._later(RECONNECT_MS, self._connect)

    def _give_up_connection(self) -> None:
        self._connected = False
        if self._timer is not None:
            self._timer.cancel()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        pending, self._pending = self._pending, deque()
        for waiting in pending:
            if not waiting.future.done():
                waiting.future.set_exception(ZkError(ZkErrorCode.CONNECTION_LOSS, waiting.path))

    async def _call(self, request: Request, path: str) -> Response | None:
        if not self._connected or self._closed:
            raise ZkError(
                ZkErrorCode.CONNECTION_LOSS if not self._closed else ZkErrorCode.SESSION_EXPIRED,
                path,
            )
        return await self._post(request, path)

    def _post(self, request: Request, path: str = "") -> "asyncio.Future[Response | None]":
        assert self._connection is not None
        self._last_xid += 1
        future: asyncio.Future[Response | None] = self._zookeeper.loop.create_future()
        self._pending.append(_Pending(self._last_xid, request, path, future))
        self._connection.up.send((self._last_xid, request))
        return future

    def _heartbeat_later(self) -> None:
        self._later(self._timeout_ms / 3, self._heartbeat)

    def _heartbeat(self) -> None:
        """Send a ping after each third of the session time-out. If nothing has come from the server
        for two thirds of the time-out, close the connection.
        """
        if self._is_paused:
            self._heartbeat_later()
            return
        if self._zookeeper.time.hi_res_clock_ms() - self._last_heard_ms > self._timeout_ms * 2 / 3:
            self._disconnected()
            return
        if self._connected:
            self._post(PingRequest()).add_done_callback(_ignore)
        self._heartbeat_later()

    def _later(self, ms: float, callback: Callable[[], None]) -> None:
        self._timer = self._zookeeper.loop.call_later(ms / 1000, callback, context=self.context)

    def _tell(self, state: SessionState) -> None:
        if self._on_session is not None:
            self._on_session(state)


def _ignore(future: "asyncio.Future[Response | None]") -> None:
    """Ignore the result of a ping. If the ping was lost, the client notices the end of the
    connection in a different way.
    """
    if not future.cancelled():
        future.exception()


def _multi_op(op: Op) -> MultiOp:
    match op:
        case CreateOp(path, data, ephemeral, sequential):
            return CreateRequest(path, data, OPEN_ACL_UNSAFE, _FLAGS[ephemeral, sequential])
        case DeleteOp(path, version):
            return DeleteRequest(path, version)
        case SetDataOp(path, data, version):
            return SetDataRequest(path, data, version)
        case CheckOp(path, version):
            return CheckVersionRequest(path, version)
