"""Events of the embedded ZooKeeper: sessions, znodes, watches (spec Z1). `cnxn` is the number of a
connection. The server counts its connections from its start.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(joins=("session_id",))
class SessionOpened(NamedTuple):
    """A client got a new session. The session expires if the server receives nothing from the
    client for `timeout_ms`, rounded up to a tick.
    """

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int
    zxid: int


@event(joins=("session_id",))
class SessionMoved(NamedTuple):
    """A client resumed its session on another connection. If the old connection was still open, the
    server closed it.
    """

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int


@event(joins=("session_id",))
class SessionDisconnected(NamedTuple):
    """The connection of a session was closed. The session stays alive until it expires or the
    client resumes it.
    """

    session_id: int
    cnxn: int
    reason: str


@event(joins=("session_id",))
class SessionExpired(NamedTuple):
    """A session expired, because nothing came from its client in time. SessionClosed follows."""

    session_id: int
    timeout_ms: int


@event(joins=("session_id",))
class SessionClosed(NamedTuple):
    """A session ended, because its client closed it or because it expired. Its ephemeral znodes are
    being deleted.
    """

    session_id: int
    zxid: int
    ephemerals: int


@event(joins=("session_id",))
class SessionRefused(NamedTuple):
    """A client could not resume a session. The session no longer exists, the password was wrong, or
    the client has seen a later zxid than this server.
    """

    session_id: int
    peer: str
    reason: str


@event(joins=("path", "zxid"))
class ZnodeCreated(NamedTuple):
    """A znode was created. `zxid` is its czxid and mzxid. `data` is cut to 256 characters."""

    path: str
    zxid: int
    session_id: int
    ephemeral: bool
    data_length: int
    data: str


@event(joins=("path", "zxid"))
class ZnodeChanged(NamedTuple):
    """The data of a znode were changed. `zxid` is its new mzxid. If the server itself wrote the
    numbers of a quota, the session is 0 and the mzxid is the old one.
    """

    path: str
    zxid: int
    session_id: int
    version: int
    data_length: int
    data: str


@event(joins=("path", "zxid"))
class ZnodeAclChanged(NamedTuple):
    """The access list of a znode was changed."""

    path: str
    zxid: int
    session_id: int
    version: int


@event(joins=("path", "zxid"))
class ZnodeDeleted(NamedTuple):
    """A znode was deleted, by a client or because its session ended. `zxid` is the new pzxid of its
    parent.
    """

    path: str
    zxid: int
    session_id: int


@event()
class WatchSet(NamedTuple):
    """A connection set a watch on `path`, to get one notification. `kind` is `data` or `child`."""

    path: str
    kind: str
    cnxn: int


@event(joins=("path",))
class WatchFired(NamedTuple):
    """A watch fired and was removed. Its cause is the change of the znode. `type` is the name of a
    WatchType.

    `zxid` is the number of the change, and the session is the session of the watcher. If a client
    sets a watch again after a reconnect, the watch may fire at once, because of a change that the
    client missed. Then the event has no cause, and only the zxid identifies the change. The zxid is
    0 if it is no longer known.
    """

    path: str
    kind: str
    cnxn: int
    type: str
    session_id: int = 0
    zxid: int = 0


@event(level=Level.HOPS)
class ZkRequestServed(NamedTuple):
    """Hop: the server has processed a request."""

    session_id: int
    cnxn: int
    xid: int
    request: str
    path: str
    zxid: int
    error: str


@event()
class SnapshotTaken(NamedTuple):
    """The server wrote the whole tree to disk as a snapshot, and deleted logs that are no longer
    needed.
    """

    zxid: int
    znodes: int
    size_bytes: int


@event(kind=Kind.GAUGE)
class ZooKeeperSampled(NamedTuple):
    """A sample of the server's sizes and totals. The latencies, in µs, are those of the requests
    since the last sample.
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
    """A sample of a live session: how long ago its client was last heard, and when it expires if no
    message comes.

    `expires_in_ms` ends with a tick, so it is longer than the time-out minus `heard_ms_ago`. If
    there are many sessions, only those that expire first are sampled.
    """

    session_id: int
    heard_ms_ago: int
    expires_in_ms: int


@event(kind=Kind.SNAPSHOT)
class SessionSnapshot(NamedTuple):
    """One live session, sent to a new subscriber. `cnxn` is -1 while it has no connection."""

    session_id: int
    cnxn: int
    peer: str
    timeout_ms: int
    expires_in_ms: int


@event(kind=Kind.SNAPSHOT)
class ZnodeSnapshot(NamedTuple):
    """One znode, sent to a new subscriber. `data` is cut to 256 characters."""

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
    """One watch that is set, sent to a new subscriber."""

    path: str
    kind: str
    cnxn: int
