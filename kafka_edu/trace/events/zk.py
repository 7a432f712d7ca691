"""Events of the embedded ZooKeeper: sessions, znodes, watches (spec Z1). A `cnxn` is a
connection's number within one run of the server.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(joins=("session_id",))
class SessionOpened(NamedTuple):
    """A client got a new session. It lives until nothing was heard for `timeout_ms`, rounded up to
    a tick.
    """

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int
    zxid: int


@event(joins=("session_id",))
class SessionMoved(NamedTuple):
    """A client came back with its session on another connection; the old connection, if any, is
    closed.
    """

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int


@event(joins=("session_id",))
class SessionDisconnected(NamedTuple):
    """A session's connection is gone; the session lives on until it expires or comes back."""

    session_id: int
    cnxn: int
    reason: str


@event(joins=("session_id",))
class SessionExpired(NamedTuple):
    """Nothing was heard of a session in time. SessionClosed follows."""

    session_id: int
    timeout_ms: int


@event(joins=("session_id",))
class SessionClosed(NamedTuple):
    """A session is over, by its client's wish or by expiry; its ephemerals are being deleted."""

    session_id: int
    zxid: int
    ephemerals: int


@event(joins=("session_id",))
class SessionRefused(NamedTuple):
    """A client asked for a session that is gone, with a wrong password, or with a zxid from our
    future.
    """

    session_id: int
    peer: str
    reason: str


@event(joins=("path", "zxid"))
class ZnodeCreated(NamedTuple):
    """A znode came to be. `zxid` is its czxid and mzxid. `data` is cut to 256 characters."""

    path: str
    zxid: int
    session_id: int
    ephemeral: bool
    data_length: int
    data: str


@event(joins=("path", "zxid"))
class ZnodeChanged(NamedTuple):
    """A znode's data were set. `zxid` is its new mzxid; the stats of a quota the server writes
    itself: session 0, and the mzxid is the old one.
    """

    path: str
    zxid: int
    session_id: int
    version: int
    data_length: int
    data: str


@event(joins=("path", "zxid"))
class ZnodeAclChanged(NamedTuple):
    """A znode's access list was set."""

    path: str
    zxid: int
    session_id: int
    version: int


@event(joins=("path", "zxid"))
class ZnodeDeleted(NamedTuple):
    """A znode is gone, deleted by a client or with its session. `zxid` is its parent's new
    pzxid.
    """

    path: str
    zxid: int
    session_id: int


@event()
class WatchSet(NamedTuple):
    """A connection wants one notification about `path`. `kind` is data or child."""

    path: str
    kind: str
    cnxn: int


@event(joins=("path",))
class WatchFired(NamedTuple):
    """A watch fired and is gone; its cause is the change that it saw. `type` is WatchType's name.

    `zxid` is that of the change; the session is the watcher's. A watch that a client sets again
    after a reconnect may fire at once, for a change that it missed: then the change is known by its
    zxid only, 0 if that is gone too.
    """

    path: str
    kind: str
    cnxn: int
    type: str
    session_id: int = 0
    zxid: int = 0


@event(level=Level.HOPS)
class ZkRequestServed(NamedTuple):
    """Hop: a request went through the request processor."""

    session_id: int
    cnxn: int
    xid: int
    request: str
    path: str
    zxid: int
    error: str


@event()
class SnapshotTaken(NamedTuple):
    """The whole tree was written to disk; older logs are purged."""

    zxid: int
    znodes: int
    size_bytes: int


@event(kind=Kind.GAUGE)
class ZooKeeperSampled(NamedTuple):
    """Sizes and totals of the server at this moment; latency is of the requests since the last
    sample, in µs.
    """

    zxid: int
    sessions: int
    connections: int
    znodes: int
    ephemerals: int
    watches: int
    requests_total: int
    outstanding: int
    latency_avg_us: int
    latency_max_us: int


@event(kind=Kind.GAUGE, thing=("session_id",))
class SessionSampled(NamedTuple):
    """A live session: when its client was last heard, and when it dies if it stays silent.

    `expires_in_ms` counts to the end of a tick, so it is longer than the time-out less
    `heard_ms_ago`. Of many sessions only those that die first are sampled.
    """

    session_id: int
    heard_ms_ago: int
    expires_in_ms: int


@event(kind=Kind.SNAPSHOT)
class SessionSnapshot(NamedTuple):
    """One live session; `cnxn` is -1 while it has no connection."""

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int
    expires_in_ms: int


@event(kind=Kind.SNAPSHOT)
class ZnodeSnapshot(NamedTuple):
    """One znode. `data` is cut to 256 characters."""

    path: str
    czxid: int
    mzxid: int
    version: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    data: str


@event(kind=Kind.SNAPSHOT)
class WatchSnapshot(NamedTuple):
    """One watch that is set."""

    path: str
    kind: str
    cnxn: int
