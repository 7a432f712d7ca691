"""The supervisor's events: the processes of a cluster, as the operating system sees them, and the
results of actions (spec M4).

`process` is the name of a child process: `broker-0` or `zookeeper`, for example. The servers of a
ZooKeeper ensemble are `zookeeper-1`, `zookeeper-2` and so on. `child` is the same process as a
source of events.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Source, event


def how_ended(code: int, signal: str, reason: str) -> str:
    """Return in one line how a process ended, and the first line of the reason if there is one."""
    how = f"killed by {signal}" if signal else f"ended with code {code}"
    return f"{how}: {reason.splitlines()[0]}" if reason else how


@event()
class SupervisorStarted(NamedTuple):
    """The supervisor is about to start a cluster. `zookeeper` says which ZooKeeper the cluster
    uses: embedded, apache, or the address of an external one.
    """

    cluster: str
    pid: int
    brokers: tuple[int, ...]
    zookeeper: str


@event(joins=("pid",))
class ProcessStarted(NamedTuple):
    """A child process was started with the process id `pid`. A broker's own event ServerStarting
    has the same pid.
    """

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
    """The reason that the child process itself gave. Filled only if the supervisor did not
    end it.
    """


@event()
class ProcessPaused(NamedTuple):
    """A child process was paused with SIGSTOP. It still exists and keeps its sockets open, but
    answers nothing.
    """

    process: str
    child: Source
    pid: int


@event()
class ProcessResumed(NamedTuple):
    """A paused child process runs again (SIGCONT)."""

    process: str
    child: Source
    pid: int


@event()
class ProcessStalled(NamedTuple):
    """A child process stands still for a moment (SIGSTOP), because it was set to stall again and
    again. It was not paused by a user. Next: ProcessStallOver, with this event as its cause.
    """

    process: str
    child: Source
    pid: int
    for_ms: int


@event()
class ProcessStallOver(NamedTuple):
    """A stalled child process runs again (SIGCONT)."""

    process: str
    child: Source
    pid: int


@event()
class ZooKeeperModeChanged(NamedTuple):
    """A server of a ZooKeeper ensemble reported a new mode: leader or follower. The mode is empty
    while the server serves no requests. The supervisor requests the mode four times a second.
    """

    process: str
    child: Source
    mode: str


@event()
class ClusterReady(NamedTuple):
    """The cluster is ready: the metadata of every running broker list all running brokers and a
    controller. `after_ms` is the time since the brokers were started.
    """

    brokers: tuple[int, ...]
    controller: int
    after_ms: int


@event()
class ActionAsked(NamedTuple):
    """A user or program requested an action on `target`. If `target` is the supervisor, the action
    is on the whole cluster. Next: ActionDone, with this event as its cause.
    """

    action: str
    target: Source
    title: str = ""
    """The action in words, with its parameters, for example `slow the link between brokers 0 and 1
    by 200 ms`.
    """


@event(kind=Kind.SNAPSHOT)
class LinkSnapshot(NamedTuple):
    """A link of a broker that is slow or cut, sent to a new subscriber. `other` is the broker at
    the other end. If it is -1, `side` names the other end: zookeeper or clients.
    """

    broker: int
    other: int
    delay_ms: int
    cut: bool
    side: str = ""


@event()
class LinkChanged(NamedTuple):
    """A link of a broker was slowed, cut or healed. It is healed if it has no delay and is not cut.
    `other` is the broker at the other end. If it is -1, `side` names the other end: zookeeper or
    clients.
    """

    broker: int
    other: int
    delay_ms: int
    cut: bool
    side: str = ""


@event()
class ActionDone(NamedTuple):
    """The result of an action. Its cause is ActionAsked."""

    action: str
    target: Source
    ok: bool
    message: str


@event(kind=Kind.SNAPSHOT)
class ProcessSnapshot(NamedTuple):
    """A child process, sent to a new subscriber. `state` is stopped, running or paused. `pid` is 0
    if the process is stopped. `port` is the port on which it serves.
    """

    process: str
    child: Source
    state: str
    pid: int
    port: int
    ended: str = ""
    """How and why the stopped process ended, if the supervisor did not end it."""


@event(kind=Kind.SNAPSHOT)
class ZooKeeperModeSnapshot(NamedTuple):
    """The mode of a server of a ZooKeeper ensemble, sent to a new subscriber: leader or follower.
    It is empty while the server serves no requests.
    """

    process: str
    child: Source
    mode: str


@event(kind=Kind.GAUGE, thing=("process",))
class ProcessMemory(NamedTuple):
    """A sample of a child process's anonymous resident memory (RssAnon) in bytes. Mapped files and
    shared libraries are not included.
    """

    process: str
    child: Source
    rss_anon: int
