"""What the supervisor of a cluster tells: its processes as the operating system sees them, and what
came of each act (spec M4).

Its events bear the broker id -1. `process` names a child: `broker-0`, `zookeeper`; `broker` is that
broker's id, or -2 for ZooKeeper. The servers of an ensemble are `zookeeper-1`, -2, `zookeeper-2`,
-3, and so on.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class SupervisorStarted(NamedTuple):
    """A cluster is about to be started; `zookeeper` says which: embedded, apache, or where an
    external one is.
    """

    cluster: str
    pid: int
    brokers: tuple[int, ...]
    zookeeper: str


@event(joins=("pid",))
class ProcessStarted(NamedTuple):
    """A child runs from now on as `pid`; a broker's own BrokerStarting bears the same pid."""

    process: str
    broker: int
    pid: int


@event()
class ProcessEnded(NamedTuple):
    """A child is gone: with an exit `code`, or by `signal` (its name). `asked` says whether
    somebody wanted that.
    """

    process: str
    broker: int
    pid: int
    code: int
    signal: str
    asked: bool


@event()
class ProcessPaused(NamedTuple):
    """A child was stopped with SIGSTOP: it lives, holds its sockets, and answers nothing."""

    process: str
    broker: int
    pid: int


@event()
class ProcessResumed(NamedTuple):
    """A paused child goes on (SIGCONT)."""

    process: str
    broker: int
    pid: int


@event()
class ZooKeeperModeChanged(NamedTuple):
    """A server of an ensemble says so of itself: `mode` is leader or follower, empty while it
    serves nobody. Asked four times a second.
    """

    process: str
    broker: int
    mode: str


@event()
class ClusterReady(NamedTuple):
    """The Metadata of every broker that runs lists all that run and a controller; `after_ms` since
    they were started.
    """

    brokers: tuple[int, ...]
    controller: int
    after_ms: int


@event()
class ActionAsked(NamedTuple):
    """Somebody asked the supervisor to act; `broker` is -1 where the act concerns the whole
    cluster, less for ZooKeeper. Next: ActionDone, with this as its cause.
    """

    action: str
    broker: int


@event()
class ActionDone(NamedTuple):
    """What came of an act."""

    action: str
    broker: int
    ok: bool
    message: str


@event(kind=Kind.SNAPSHOT)
class ProcessSnapshot(NamedTuple):
    """A child as it stands: `state` is stopped, running or paused; `pid` is 0 when it is stopped;
    `port` is where it serves.
    """

    process: str
    broker: int
    state: str
    pid: int
    port: int


@event(kind=Kind.SNAPSHOT)
class ZooKeeperModeSnapshot(NamedTuple):
    """What a server of an ensemble is: leader or follower; empty while it serves nobody."""

    process: str
    broker: int
    mode: str


@event(kind=Kind.GAUGE)
class ProcessMemory(NamedTuple):
    """Anonymous resident memory of a child (RssAnon) in bytes: what it took for itself, without
    mapped files and shared libraries.
    """

    process: str
    broker: int
    rss_anon: int
