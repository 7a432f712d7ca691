"""The supervisor's events: a cluster's processes as the operating system sees them, and the results
of actions (spec M4).

`process` is the name of a child: `broker-0`, `zookeeper`; the servers of an ensemble are
`zookeeper-1`, `zookeeper-2` and so on. `child` is the same child as a source of events.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Source, event


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
    child: Source
    pid: int


@event()
class ProcessEnded(NamedTuple):
    """A child process has ended, with an exit `code` or by a `signal` (its name). `asked` says
    whether the supervisor ended it.
    """

    process: str
    child: Source
    pid: int
    code: int
    signal: str
    asked: bool
    reason: str = ""
    """The reason that the child itself gave, if nobody asked it to end."""


@event()
class ProcessPaused(NamedTuple):
    """A child was stopped with SIGSTOP: it lives, holds its sockets, and answers nothing."""

    process: str
    child: Source
    pid: int


@event()
class ProcessResumed(NamedTuple):
    """A paused child goes on (SIGCONT)."""

    process: str
    child: Source
    pid: int


@event()
class ProcessStalled(NamedTuple):
    """A child stands still for a moment (SIGSTOP), as it does again and again; nobody has paused
    it. Next: ProcessStallOver, with this as its cause.
    """

    process: str
    child: Source
    pid: int
    for_ms: int


@event()
class ProcessStallOver(NamedTuple):
    """A child that stood still goes on (SIGCONT)."""

    process: str
    child: Source
    pid: int


@event()
class ZooKeeperModeChanged(NamedTuple):
    """A server of an ensemble says so of itself: `mode` is leader or follower, empty while it
    serves nobody. Asked four times a second.
    """

    process: str
    child: Source
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
    """Somebody asked the supervisor to act on `target`; the supervisor itself stands for the whole
    cluster. Next: ActionDone, with this as its cause.
    """

    action: str
    target: Source
    title: str = ""
    """The act in words, with its parameters: `slow the link between brokers 0 and 1 by 200 ms`."""


@event(kind=Kind.SNAPSHOT)
class LinkSnapshot(NamedTuple):
    """A link of a broker that is slow or cut. `other` is a broker, or -1 where `side` names the
    other end: zookeeper or clients.
    """

    broker: int
    other: int
    delay_ms: int
    cut: bool
    side: str = ""


@event()
class LinkChanged(NamedTuple):
    """A link of a broker was slowed, cut or healed (no delay and not cut). `other` is a broker, or
    -1 where `side` names the other end: zookeeper or clients.
    """

    broker: int
    other: int
    delay_ms: int
    cut: bool
    side: str = ""


@event()
class ActionDone(NamedTuple):
    """The result of an action."""

    action: str
    target: Source
    ok: bool
    message: str


@event(kind=Kind.SNAPSHOT)
class ProcessSnapshot(NamedTuple):
    """A child as it stands: `state` is stopped, running or paused; `pid` is 0 when it is stopped;
    `port` is where it serves.
    """

    process: str
    child: Source
    state: str
    pid: int
    port: int


@event(kind=Kind.SNAPSHOT)
class ZooKeeperModeSnapshot(NamedTuple):
    """The mode of a server of an ensemble: leader or follower; empty while it serves nobody."""

    process: str
    child: Source
    mode: str


@event(kind=Kind.GAUGE, thing=("process",))
class ProcessMemory(NamedTuple):
    """Anonymous resident memory of a child (RssAnon) in bytes: what it took for itself, without
    mapped files and shared libraries.
    """

    process: str
    child: Source
    rss_anon: int
