"""The deterministic core of a ZooKeeper server: requests in, effects out (ZooKeeper:
ZooKeeperServer.java, FinalRequestProcessor.java).

All changes happen in one order, the order of their zxids. A write is prepared (that is, checked and
turned into a transaction), logged, applied and answered:

    request → PrepRequestProcessor → AppendTxn → DataTree.apply → Notify … → Reply

The core itself sends nothing and writes nothing. It returns effects in the order in which clients
may see them, and its host performs them. A host with a disk writes each AppendTxn, and holds back
all later effects until the transaction is on disk. The simulator has no disk and delivers the
effects at once. Notifications come before the answer to the write that caused them, and before all
later answers. So a client receives a watch event before it can read the change.

The core reads no clock. Its callers pass two times in: `now_ms` (monotonic) for the expiry of
sessions, and `wall_ms` (wall clock), which is written into znodes.

On the way from a broker's death to the new leader, `tick` ends the dead broker's session. The next
step is `DataTree.kill_session` (data_tree.py).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_edu.trace.event import Event
from kafka_edu.trace.events.zk import (
    SessionClosed,
    SessionDisconnected,
    SessionExpired,
    SessionMoved,
    SessionOpened,
    SessionRefused,
    SessionSampled,
    SessionSnapshot,
    WatchSnapshot,
    ZkRequestServed,
    ZnodeSnapshot,
    ZooKeeperSampled,
)
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.data_tree import MAX_TRACED_DATA, DataTree, NodeRow
from kafka_edu.zk.embedded.final_request_processor import FinalRequestProcessor, ServerCnxn
from kafka_edu.zk.embedded.prep_request_processor import MultiFailed, PrepRequestProcessor
from kafka_edu.zk.embedded.server_stats import ServerStats
from kafka_edu.zk.embedded.session_tracker import SessionTracker, first_session_id, password_for
from kafka_edu.zk.embedded.txn import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    MultiTxn,
    OpTxn,
    Txn,
    TxnHeader,
)
from kafka_edu.zk.jute.proto import (
    AuthPacket,
    CheckResult,
    CheckVersionRequest,
    CloseSessionRequest,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    DeleteResult,
    ErrorResult,
    MultiRequest,
    MultiResponse,
    MultiResult,
    Request,
    Response,
    SetAclRequest,
    SetDataRequest,
    StatResponse,
    UnservedRequest,
    WriteRequest,
)
from kafka_edu.zk.zk_client import Stat, WatchedEvent, ZkError, ZkErrorCode

NO_SESSION_PASSWORD: Final = bytes(16)
SAMPLED_SESSIONS: Final = 50
"""The number of sessions in each sample for an observer: those that expire first."""
_WRITES: Final = (
    CreateRequest,
    DeleteRequest,
    SetDataRequest,
    SetAclRequest,
    CheckVersionRequest,
    MultiRequest,
)


class Reply(NamedTuple):
    """Effect: answer the request `xid`. `zxid` is the latest change that the client can see in the
    answer.
    """

    cnxn: int
    xid: int
    zxid: int
    code: ZkErrorCode
    body: Response | None


class ConnectReply(NamedTuple):
    cnxn: int
    response: ConnectResponse


class Notify(NamedTuple):
    """Effect: notify a connection that a watch has fired."""

    cnxn: int
    event: WatchedEvent


class CloseCnxn(NamedTuple):
    """Effect: close a connection after all earlier effects on it. The core has already removed the
    connection.
    """

    cnxn: int
    reason: str


class AppendTxn(NamedTuple):
    """Effect: write a transaction to the log. Later effects must wait until it is on disk."""

    header: TxnHeader
    txn: Txn


Effect = Reply | ConnectReply | Notify | CloseCnxn | AppendTxn


class ZooKeeperServer:
    """The tree, the sessions and the connections of one standalone server.

    One task owns it. The next hop is the host, which performs the effects: SyncRequestProcessor
    forces the log to disk, then ServerCnxnFactory sends the answers and notifications.
    """

    def __init__(
        self,
        *,
        tick_time_ms: int,
        now_ms: int,
        wall_ms: int,
        server_id: int = 0,
        max_session_ms: int | None = None,
        trace: Tracer | None = None,
    ) -> None:
        self.tree = DataTree(self._notify)
        self.sessions = SessionTracker(tick_time_ms, now_ms, max_session_ms)
        self.cnxns: dict[int, ServerCnxn] = {}
        self.stats = ServerStats()
        self.txns_applied = 0
        """The number of transactions since the start or the last snapshot. It decides when the next
        snapshot is due.
        """
        self._next_session_id = first_session_id(server_id, wall_ms)
        self._last_cnxn = 0
        self._effects: list[Effect] = []
        self._now_ms = now_ms
        self._trace: Tracer | None = None
        self._final = FinalRequestProcessor(self.tree, self._notify)
        for watches in (self.tree.data_watches, self.tree.child_watches):
            watches.session_of = self._session_of
        self._disconnected: dict[int, int] = {}
        """Session without a connection → the number of its SessionDisconnected event. If the
        session expires, that event is shown as the cause.
        """
        self._tracer = trace

    def load_snapshot(
        self, zxid: int, sessions: Mapping[int, int], rows: Iterable[NodeRow]
    ) -> None:
        """Load the state from a snapshot. Call this before any `replay`."""
        for session_id, timeout_ms in sessions.items():
            self.sessions.add(session_id, timeout_ms, self._now_ms)
        for row in rows:
            self.tree.load(row)
        self.tree.last_processed_zxid = zxid

    def replay(self, header: TxnHeader, txn: Txn) -> None:
        """Apply one transaction that was read from the log."""
        self._apply(header, txn)

    def start(self, now_ms: int) -> None:
        """End the recovery and begin to emit events. Each live session gets its full time-out
        again.
        """
        self.revive_sessions(now_ms)
        self.txns_applied = 0
        self._trace = self._tracer
        self.tree.tell(self._trace)
        if self._trace:
            self._trace.on_snapshot(self._snapshot_events)
            self._trace.on_gauges(self._gauge_events)

    def revive_sessions(self, now_ms: int) -> None:
        """Give every session its full time-out again. Clients could not send while the server was
        down, so this time does not count against them.
        """
        self._now_ms = now_ms
        for session_id in self.sessions.sessions:
            self.sessions.touch(session_id, now_ms)

    def open_cnxn(self, peer: str) -> int:
        """Register a new connection and return its number."""
        self._last_cnxn += 1
        self.cnxns[self._last_cnxn] = ServerCnxn(self._last_cnxn, peer)
        return self._last_cnxn

    def lose_cnxn(self, cnxn_id: int, reason: str) -> None:
        """Remove a closed connection and its watches. Its session stays alive until it expires."""
        cnxn = self.cnxns.pop(cnxn_id, None)
        if cnxn is None:
            return
        self.tree.remove_watcher(cnxn_id)
        session = self.sessions.sessions.get(cnxn.session_id)
        if session is not None and session.cnxn == cnxn_id:
            session.cnxn = -1
            if self._trace:
                self._disconnected[session.id] = self._trace(
                    SessionDisconnected(session_id=session.id, cnxn=cnxn_id, reason=reason)
                )

    def connect(
        self, cnxn_id: int, request: ConnectRequest, now_ms: int, wall_ms: int
    ) -> list[Effect]:
        """Create a new session for a connection, or resume an older session on it.

        A client is refused if it has already seen a later zxid than this server has.
        """
        cnxn = self._begin(cnxn_id, now_ms)
        if cnxn is None:
            return self._effects
        if request.last_zxid_seen > self.tree.last_processed_zxid:
            self._refuse(
                cnxn, request, f"it has seen zxid {request.last_zxid_seen:#x}, which is ahead of us"
            )
            return self._effects
        timeout_ms = self.sessions.negotiate(request.timeout_ms)
        if request.session_id == 0:
            self._create_session(cnxn, timeout_ms, wall_ms)
        elif not self._reopen_session(cnxn, request, timeout_ms):
            return self._effects
        passwd = password_for(cnxn.session_id)
        self._effects.append(
            ConnectReply(
                cnxn_id,
                ConnectResponse(0, timeout_ms, cnxn.session_id, passwd, self._read_only(request)),
            )
        )
        return self._effects

    def request(
        self, cnxn_id: int, xid: int, request: Request, now_ms: int, wall_ms: int
    ) -> list[Effect]:
        """Handle one request of a connected client and return the effects. Its cost does not depend
        on the size of the tree, except for requests that list or count nodes.
        """
        cnxn = self._begin(cnxn_id, now_ms)
        if cnxn is None:
            return self._effects
        self.stats.requests_total += 1
        alive = self.sessions.touch(cnxn.session_id, now_ms)
        code, body = ZkErrorCode.OK, None
        if not alive:
            code = ZkErrorCode.SESSION_EXPIRED
        elif isinstance(request, _WRITES):
            code, body = self._write(cnxn, xid, request, wall_ms)
        elif isinstance(request, CloseSessionRequest):
            self._end_session(cnxn.session_id, xid, wall_ms)
        else:
            try:
                body = self._final.read(cnxn, request)
            except ZkError as error:
                code = error.code
        zxid = self.tree.last_processed_zxid
        self._effects.append(Reply(cnxn_id, xid, zxid, code, body))
        if self._trace is not None and self._trace.hops:
            path = request[0] if request and isinstance(request[0], str) else ""
            self._trace(
                ZkRequestServed(
                    session_id=cnxn.session_id,
                    cnxn=cnxn_id,
                    xid=xid,
                    request=type(request).__name__,
                    path=path,
                    zxid=zxid,
                    error=code.name,
                )
            )
        if isinstance(request, CloseSessionRequest):
            self._close_cnxn(cnxn_id, "session closed")
        elif isinstance(request, UnservedRequest) and request.hang_up:
            self._close_cnxn(cnxn_id, f"unknown operation {request.op}")
        elif isinstance(request, AuthPacket) and code:
            self._close_cnxn(cnxn_id, "authentication failed")
        return self._effects

    def tick(self, now_ms: int, wall_ms: int) -> list[Effect]:
        """Expire the sessions whose time is over, and return the effects. The host calls it at
        `sessions.next_expiration_ms` or later.

        The end of a session deletes its ephemeral znodes. The next hop is DataTree.kill_session,
        which leads to WatchManager.trigger.
        """
        self._effects = []
        self._now_ms = now_ms
        for session_id in self.sessions.poll(now_ms):
            self._expire(session_id, wall_ms)
        return self._effects

    def expire_session(self, session_id: int, now_ms: int, wall_ms: int) -> list[Effect]:
        """Expire a session at once, as an injected fault. If there is no such session, nothing
        happens.
        """
        self._effects = []
        self._now_ms = now_ms
        if session_id in self.sessions.sessions:
            self._expire(session_id, wall_ms)
        return self._effects

    def _begin(self, cnxn_id: int, now_ms: int) -> ServerCnxn | None:
        self._effects = []
        self._now_ms = now_ms
        return self.cnxns.get(cnxn_id)

    def _session_of(self, cnxn_id: int) -> int:
        cnxn = self.cnxns.get(cnxn_id)
        return 0 if cnxn is None else cnxn.session_id

    def _notify(self, cnxn_id: int, event: WatchedEvent) -> None:
        self._effects.append(Notify(cnxn_id, event))

    def _close_cnxn(self, cnxn_id: int, reason: str) -> None:
        if cnxn_id in self.cnxns:
            self.lose_cnxn(cnxn_id, reason)
            self._effects.append(CloseCnxn(cnxn_id, reason))

    def _read_only(self, request: ConnectRequest) -> bool | None:
        """Return the value of `read_only` for the answer. It is False, because a standalone server
        is never read-only. It is None for a client before 3.4, which does not know this field.
        """
        return None if request.read_only is None else False

    def _refuse(self, cnxn: ServerCnxn, request: ConnectRequest, reason: str) -> None:
        if self._trace:
            self._trace(
                SessionRefused(session_id=request.session_id, peer=cnxn.peer, reason=reason)
            )
        self._close_cnxn(cnxn.id, reason)

    def _create_session(self, cnxn: ServerCnxn, timeout_ms: int, wall_ms: int) -> None:
        cnxn.session_id = self._next_session_id
        self._next_session_id += 1
        header = self._log(cnxn.session_id, 0, wall_ms, CreateSessionTxn(timeout_ms))
        self.sessions.sessions[cnxn.session_id].cnxn = cnxn.id
        if self._trace:
            self._trace(
                SessionOpened(
                    session_id=cnxn.session_id,
                    cnxn=cnxn.id,
                    peer=cnxn.peer,
                    timeout_ms=timeout_ms,
                    zxid=header.zxid,
                )
            )

    def _reopen_session(self, cnxn: ServerCnxn, request: ConnectRequest, timeout_ms: int) -> bool:
        session = self.sessions.sessions.get(request.session_id)
        if session is None or request.passwd != password_for(request.session_id):
            nobody = ConnectResponse(0, 0, 0, NO_SESSION_PASSWORD, self._read_only(request))
            self._effects.append(ConnectReply(cnxn.id, nobody))
            self._refuse(cnxn, request, "no such session" if session is None else "wrong password")
            return False
        if session.cnxn not in (-1, cnxn.id):
            self._close_cnxn(session.cnxn, "the session moved to another connection")
        cnxn.session_id = session.id
        session.cnxn = cnxn.id
        self.sessions.set_timeout(session.id, timeout_ms, self._now_ms)
        self._disconnected.pop(session.id, None)
        if self._trace:
            self._trace(
                SessionMoved(
                    session_id=session.id, cnxn=cnxn.id, peer=cnxn.peer, timeout_ms=timeout_ms
                )
            )
        return True

    def _expire(self, session_id: int, wall_ms: int) -> None:
        session = self.sessions.sessions[session_id]
        cnxn_id = session.cnxn
        if self._trace:
            with self._trace.because(self._disconnected.pop(session_id, 0)):
                expired = self._trace(
                    SessionExpired(session_id=session_id, timeout_ms=session.timeout_ms)
                )
            with self._trace.because(expired):
                self._end_session(session_id, 0, wall_ms)
                self._close_cnxn(cnxn_id, "session expired")
        else:
            self._end_session(session_id, 0, wall_ms)
            self._close_cnxn(cnxn_id, "session expired")

    def _end_session(self, session_id: int, cxid: int, wall_ms: int) -> None:
        self._log(session_id, cxid, wall_ms, CloseSessionTxn())

    def _write(
        self, cnxn: ServerCnxn, xid: int, request: WriteRequest, wall_ms: int
    ) -> tuple[ZkErrorCode, Response | None]:
        try:
            txn = PrepRequestProcessor(self.tree, cnxn.session_id, cnxn.identities).prepare(request)
        except MultiFailed as failed:
            self._log(cnxn.session_id, xid, wall_ms, ErrorTxn(failed.code))
            count = len(request.ops) if isinstance(request, MultiRequest) else 0
            behind = count - failed.index - 1
            codes = (
                [ZkErrorCode.OK] * failed.index
                + [failed.code]
                + [ZkErrorCode.RUNTIME_INCONSISTENCY] * behind
            )
            return ZkErrorCode.OK, MultiResponse(tuple(map(ErrorResult, codes)))
        except ZkError as error:
            self._log(cnxn.session_id, xid, wall_ms, ErrorTxn(error.code))
            return error.code, None
        header = TxnHeader(cnxn.session_id, xid, self.tree.last_processed_zxid + 1, wall_ms)
        self._effects.append(AppendTxn(header, txn))
        stats = self._apply(header, txn)
        if isinstance(request, MultiRequest):
            return ZkErrorCode.OK, MultiResponse(
                tuple(
                    map(
                        _multi_result,
                        request.ops,
                        txn.txns if isinstance(txn, MultiTxn) else (),
                        stats,
                    )
                )
            )
        result = _multi_result(request, txn, stats[0])
        return ZkErrorCode.OK, result if isinstance(result, CreateResponse | StatResponse) else None

    def _log(self, session_id: int, cxid: int, wall_ms: int, txn: Txn) -> TxnHeader:
        """Give `txn` the next zxid, append it to the log and apply it."""
        header = TxnHeader(session_id, cxid, self.tree.last_processed_zxid + 1, wall_ms)
        self._effects.append(AppendTxn(header, txn))
        self._apply(header, txn)
        return header

    def _apply(self, header: TxnHeader, txn: OpTxn | MultiTxn | Txn) -> list[Stat | None]:
        """Apply a transaction to tree and sessions. The replay of the log and live requests both
        change the state only through this method.
        """
        self.tree.last_processed_zxid = header.zxid
        self.txns_applied += 1
        match txn:
            case MultiTxn(txns):
                return [self.tree.apply(header, one) for one in txns]
            case CreateSessionTxn(timeout_ms):
                self.sessions.add(header.session_id, timeout_ms, self._now_ms)
                return []
            case CloseSessionTxn():
                self.sessions.remove(header.session_id)
                self._disconnected.pop(header.session_id, None)
                if self._trace:
                    event = self._trace(
                        SessionClosed(
                            session_id=header.session_id,
                            zxid=header.zxid,
                            ephemerals=len(self.tree.ephemerals.get(header.session_id, ())),
                        )
                    )
                    with self._trace.because(event):
                        self.tree.kill_session(header)
                else:
                    self.tree.kill_session(header)
                return []
            case ErrorTxn():
                return []
            case _:
                return [self.tree.apply(header, txn)]

    def _observed_ms(self) -> int:
        """Return the current time in ms, for an observer. `_now_ms` may be one tick old, because
        only requests and ticks update it.
        """
        return self._now_ms if self._trace is None else self._trace.time.hi_res_clock_ms()

    def _snapshot_events(self) -> Iterable[Event]:
        now_ms = self._observed_ms()
        for session in self.sessions.sessions.values():
            peer = self.cnxns[session.cnxn].peer if session.cnxn in self.cnxns else ""
            yield SessionSnapshot(
                session_id=session.id,
                cnxn=session.cnxn,
                peer=peer,
                timeout_ms=session.timeout_ms,
                expires_in_ms=session.expires_at - now_ms,
            )
        for row in self.tree.rows():
            data = row.data or b""
            shown = data[:MAX_TRACED_DATA].decode("utf-8", "replace")
            count = self.tree.nodes[row.path].num_children
            yield ZnodeSnapshot(
                path=row.path,
                czxid=row.czxid,
                mzxid=row.mzxid,
                version=row.version,
                ephemeral_owner=row.ephemeral_owner,
                data_length=len(data),
                num_children=count,
                data=shown,
            )
        for manager in (self.tree.data_watches, self.tree.child_watches):
            for path, cnxn_id in manager.items():
                yield WatchSnapshot(path=path, kind=manager.kind, cnxn=cnxn_id)

    def _gauge_events(self) -> Iterable[Event]:
        tree = self.tree
        average, maximum = self.stats.take_window()
        yield ZooKeeperSampled(
            zxid=tree.last_processed_zxid,
            sessions=len(self.sessions.sessions),
            connections=len(self.cnxns),
            znodes=len(tree.nodes),
            ephemerals=tree.ephemeral_count,
            watches=tree.data_watches.count + tree.child_watches.count,
            requests_total=self.stats.requests_total,
            outstanding=self.stats.outstanding,
            latency_avg_us=average,
            latency_max_us=maximum,
        )
        now_ms = self._observed_ms()
        for session in self.sessions.first_to_expire(SAMPLED_SESSIONS):
            yield SessionSampled(
                session_id=session.id,
                heard_ms_ago=now_ms - session.heard_at,
                expires_in_ms=session.expires_at - now_ms,
            )


def _multi_result(request: object, txn: OpTxn | MultiTxn, stat: Stat | None) -> MultiResult:
    """Return the result of one op of a successful multi."""
    match txn:
        case CreateTxn(path):
            return CreateResponse(
                path, stat if isinstance(request, CreateRequest) and request.with_stat else None
            )
        case DeleteTxn():
            return DeleteResult()
        case _ if stat is not None:
            return StatResponse(stat)
        case _:
            return CheckResult()
