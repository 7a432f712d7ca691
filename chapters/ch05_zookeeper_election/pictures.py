"""The pictures of chapter 05, made by the broker's own classes.

They use a simulated cluster of three brokers with its ZooKeeper, the session tracker of the
embedded ZooKeeper, and the code that decides a broker's id. Time is virtual and everything follows
from a seed, so each picture is the same each time.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.instruments.drawings import znodes as drawings
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    html,
    new_figure,
    wrapped,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.instruments.sentences import sentence
from kafka_edu.server.broker_metadata_checkpoint import (
    BrokerMetadata,
    InconsistentBrokerIdError,
    settle_broker_id,
)
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ControllerElected,
    ControllerResigned,
)
from kafka_edu.trace.events.replication import StaleControllerRefused
from kafka_edu.trace.events.server import BrokerRegistered, SessionLost
from kafka_edu.trace.events.zk import (
    SessionExpired,
    WatchFired,
    ZkRequestServed,
    ZnodeChanged,
    ZnodeCreated,
    ZnodeDeleted,
)
from kafka_edu.zk.embedded.session_tracker import SessionTracker

from ..drawing import grid, picture

SEED: Final = 5
BROKERS: Final = (0, 1, 2)
CONTROLLER: Final = 0
"""The id of the broker that starts first and so becomes the controller."""
QUIET_MS: Final = 3_000
SESSION_MS: Final = 6_000
"""zookeeper.session.timeout.ms of Kafka 2.0. Since 2.5 the default is 18,000."""
LONG_MS: Final = 40_000
EPOCH: Final = "/controller_epoch"
OFFICE: Final = "/controller"


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "znodes": _znodes_figure(),
        "election": _election_figure(),
        "failover": _failover_figure(),
        "buckets": _buckets_figure(),
    }


# What ZooKeeper stores.


class Cluster(NamedTuple):
    """A run of three brokers: its events, and the index of the first event after the start-up."""

    events: Sequence[Envelope]
    begin: int

    def of_interest(self) -> Sequence[Envelope]:
        """Return the events of the action on the cluster, and of all that followed."""
        return self.events[self.begin :]


def _started() -> SimCluster:
    props = {
        "zookeeper.session.timeout.ms": str(SESSION_MS),
        "auto.leader.rebalance.enable": "false",
    }
    cluster = SimCluster(SEED, BROKERS, props, Level.HOPS)
    cluster.start_all()
    cluster.advance(QUIET_MS)
    return cluster


def _run(act: Callable[[SimCluster], None], then_ms: float) -> Cluster:
    """Start a cluster, do something to it, and let `then_ms` of virtual time pass."""
    with no_log():
        cluster = _started()
        begin = len(cluster.sink.events)
        act(cluster)
        cluster.advance(then_ms)
        events = list(cluster.sink.events)
        cluster.close()
    return Cluster(events, begin)


class Znode(NamedTuple):
    """A znode of the run, with the data that was last written to it."""

    path: str
    data: str
    ephemeral: bool


@cache
def znodes() -> list[Znode]:
    """Return /controller, the controller's epoch and the brokers' znodes after a start."""
    wanted = (OFFICE, EPOCH, *(f"/brokers/ids/{broker}" for broker in BROKERS))
    found: dict[str, Znode] = {}
    for envelope in _run(lambda _: None, 0).events:
        match envelope.event:
            case ZnodeCreated(path=path, data=data, ephemeral=ephemeral) if path in wanted:
                found[path] = Znode(path, data, ephemeral)
            case ZnodeChanged(path=path, data=data) if path in found:
                found[path] = found[path]._replace(data=data)
    return [found[path] for path in wanted]


def office() -> Picture:
    """Show what ZooKeeper stores about the controller and the brokers."""
    table = Table("znode", "lives", "data", box=None)
    for path, data, ephemeral in znodes():
        lives = "with its session" if ephemeral else "for ever"
        table.add_row(path, lives, data if len(data) < 40 else f"{data[:37]}…")
    epoch = next(each.data for each in znodes() if each.path == EPOCH)
    count = sum(each.ephemeral for each in znodes())
    return picture({"first_epoch": epoch, "ephemeral": count}, table)


# The race for /controller.


def _delete_controller(cluster: SimCluster) -> None:
    tool = cluster.brokers[CONTROLLER].process
    admin = cluster.admin(tool)
    found = cluster.run_as(tool, admin.get_controller_epoch())
    if found is None:
        raise AssertionError("a cluster that runs has a controller's epoch")
    cluster.run_as(tool, admin.delete_controller(found[1]))


@cache
def race_run() -> Sequence[Envelope]:
    """Delete /controller, and return the events from the deletion on."""
    events = _run(_delete_controller, 500).of_interest()
    first = next(i for i, each in enumerate(events) if isinstance(each.event, ZnodeDeleted))
    return events[first:]


def race() -> Picture:
    """Show how three brokers try to create /controller after it was deleted."""
    events = race_run()
    begin_us = events[0].mono_us
    lines = Text()
    fired = read_nothing = 0
    for envelope in events:
        event = envelope.event
        match event:
            case WatchFired(path=path) if path == OFFICE:
                if envelope.mono_us > begin_us:
                    continue  # these belong to the new controller's own creation of the znode
                fired += 1
            case ZkRequestServed(path=path) if path == EPOCH:
                pass
            case ActiveControllerChanged(controller_id=now):
                read_nothing += now < 0
            case ZnodeDeleted() | ZnodeCreated() | ZnodeChanged():
                pass
            case ControllerResigned() | ControllerElected():
                pass
            case _:
                continue
        who = "zookeeper" if envelope.broker is None else f"broker {envelope.broker}"
        bold = "bold" if isinstance(event, ControllerElected | ZnodeDeleted) else ""
        at = f"{(envelope.mono_us - begin_us) / 1000:>5.1f} ms  {who:<9}  "
        lines.append(f"{at}{_short(sentence(event).line)}\n", bold)
    lines.right_crop(1)
    elected = next(each for each in events if isinstance(each.event, ControllerElected))
    assert isinstance(elected.event, ControllerElected)
    return picture(
        {
            "race_fired": fired,
            "read_nothing": read_nothing,
            "race_winner": elected.broker,
            "race_epoch": elected.event.epoch,
            "race_ms": f"{(elected.mono_us - begin_us) / 1000:.1f}",
        },
        lines,
    )


def _short(line: str) -> str:
    """Return a sentence without the session's number, which is of no use to the reader."""
    before, word, _ = line.partition(" for session ")
    return before if word else line


# How long there is no controller.


def _stop(cluster: SimCluster) -> None:
    cluster.stop(CONTROLLER)


def _kill(cluster: SimCluster) -> None:
    cluster.kill(CONTROLLER)


def _pause(cluster: SimCluster) -> None:
    cluster.pause(CONTROLLER)


#: The ways in which /controller loses its owner: name, words, and the action on the cluster.
ENDS: Final[tuple[tuple[str, str, Callable[[SimCluster], None]], ...]] = (
    ("stop", "it is stopped (SIGTERM)", _stop),
    ("delete", "/controller is deleted", _delete_controller),
    ("kill", "it is killed (kill -9)", _kill),
    ("pause", "it stands still (SIGSTOP)", _pause),
)


class Gap(NamedTuple):
    """The time without a controller, after one of the actions in ENDS.

    Times are in ms since the action.
    """

    words: str
    gone_ms: float
    """When /controller was deleted, in ms since the action."""
    elected_ms: float
    expired: bool
    """Whether /controller was deleted because a session expired."""
    winner: int


@cache
def gaps() -> Mapping[str, Gap]:
    """Do each action in ENDS, and measure the time without a controller, in virtual time."""
    found = {}
    for name, words, act in ENDS:
        run = _run(act, LONG_MS).of_interest()
        begin_us = run[0].mono_us
        gone = next(e for e in run if isinstance(e.event, ZnodeDeleted) and e.event.path == OFFICE)
        elected = next(e for e in run if isinstance(e.event, ControllerElected))
        expired = any(
            isinstance(e.event, SessionExpired) and e.mono_us <= gone.mono_us for e in run
        )
        if elected.broker is None:
            raise AssertionError("only brokers are elected")
        found[name] = Gap(
            words,
            (gone.mono_us - begin_us) / 1000,
            (elected.mono_us - begin_us) / 1000,
            expired,
            elected.broker,
        )
    return found


def vacant() -> Picture:
    """Show how long there is no controller, for each way in which /controller loses its owner."""
    table = Table("the controller", "/controller gone after", "next one after", box=None)
    names: dict[str, object] = {}
    for name, gap in gaps().items():
        table.add_row(gap.words, _seconds(gap.gone_ms), _seconds(gap.elected_ms))
        names[f"gap_{name}"] = round(gap.elected_ms)
        names[f"expired_{name}"] = "yes" if gap.expired else "no"
    note = Text(f"zookeeper.session.timeout.ms = {SESSION_MS:,}; a tick of ZooKeeper is 2,000 ms")
    return picture(names, table, note)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 100 else f"{ms:.0f} ms"


# The old controller wakes up.


def _pause_and_resume(cluster: SimCluster) -> None:
    cluster.pause(CONTROLLER)
    cluster.advance(2 * SESSION_MS)
    cluster.resume(CONTROLLER)


@cache
def waking() -> Sequence[Envelope]:
    """Pause the controller for two session time-outs, and resume it.

    Return the events about sessions and about the controller.
    """
    wanted = (
        SessionExpired,
        ControllerElected,
        SessionLost,
        ActiveControllerChanged,
        ControllerResigned,
        BrokerRegistered,
        StaleControllerRefused,
    )
    return [e for e in _run(_pause_and_resume, 10_000).of_interest() if isinstance(e.event, wanted)]


def two_controllers() -> Picture:
    """Show how a paused controller learns that it is no longer the controller."""
    events = waking()
    begin_us = events[0].mono_us
    lines = Text()
    for envelope in events:
        who = "zookeeper" if envelope.broker is None else f"broker {envelope.broker}"
        bold = "bold" if envelope.broker == CONTROLLER else ""
        at = f"{(envelope.mono_us - begin_us) / 1000:>7,.1f} ms  {who:<9}  "
        lines.append(f"{at}{sentence(envelope.event).line}\n", bold)
    lines.right_crop(1)
    elected = next(e for e in events if isinstance(e.event, ControllerElected))
    resigned = next(e for e in events if isinstance(e.event, ControllerResigned))
    both_us = resigned.mono_us - elected.mono_us
    return picture({"both_s": f"{both_us / 1e6:.1f}"}, lines)


# Sessions and their buckets.

TICK_MS: Final = 2_000
#: Messages of two clients, each as (time in ms, session).
HEARD: Final = ((300, 1), (900, 2), (2_300, 1), (4_100, 1), (4_700, 2), (6_200, 1))
SILENT_MS: Final = 20_000


class Touch(NamedTuple):
    """A client's message: its time, its session, the session's new end, and its bucket's end."""

    at_ms: int
    session: int
    due_ms: int
    bucket_ms: int


class Tracked(NamedTuple):
    """The effect of the messages in HEARD on the session tracker."""

    touches: tuple[Touch, ...]
    ended: Mapping[int, int]
    """Session → the time in ms at which it expired."""


@cache
def tracked() -> Tracked:
    """Give the messages in HEARD to the embedded ZooKeeper's session tracker, and then no more."""
    tracker = SessionTracker(TICK_MS, 0)
    touches: list[Touch] = []
    ended: dict[int, int] = {}
    heard = dict[int, list[int]]()
    for at, session in HEARD:
        heard.setdefault(at, []).append(session)
    for now in range(SILENT_MS):
        for session in heard.get(now, ()):
            if session not in tracker.sessions:
                tracker.add(session, SESSION_MS, now)
            tracker.touch(session, now)
            bucket = tracker.sessions[session].expires_at
            touches.append(Touch(now, session, now + SESSION_MS, bucket))
        for session in tracker.poll(now):
            ended[session] = now
            tracker.remove(session)
    return Tracked(tuple(touches), ended)


def sessions() -> Picture:
    """Show into which bucket each message puts its session."""
    table = Table("a message at", "of session", "it may be silent until", "bucket", box=None)
    for touch in tracked().touches:
        table.add_row(
            f"{touch.at_ms:,} ms", str(touch.session), f"{touch.due_ms:,}", f"{touch.bucket_ms:,}"
        )
    ends = ", ".join(
        f"session {session} expires at {ms:,} ms" for session, ms in tracked().ended.items()
    )
    last = {touch.session: touch.at_ms for touch in tracked().touches}
    silent = {session: ms - last[session] for session, ms in tracked().ended.items()}
    return picture(
        {
            "bucket_first": f"{tracked().touches[0].bucket_ms}",
            "ended_1": f"{tracked().ended[1]}",
            "ended_2": f"{tracked().ended[2]}",
            "silent_1": f"{silent[1]}",
            "silent_2": f"{silent[2]}",
        },
        table,
        Text(f"time-out {SESSION_MS:,} ms, tick {TICK_MS:,} ms; then silence: {ends}"),
    )


# Broker ids.


class IdCase(NamedTuple):
    """One start of a broker: the ids that it finds, and the result."""

    configured: int
    """broker.id of its properties. -1: it is not set."""
    stored: tuple[int, ...]
    """broker.id in the meta.properties of each log dir. -1: the file does not exist."""
    generates: bool = True


CASES: Final = (
    IdCase(3, (-1, -1)),
    IdCase(3, (3, 3)),
    IdCase(-1, (7, 7)),
    IdCase(3, (3, 4)),
    IdCase(3, (7, 7)),
    IdCase(-1, (-1, -1)),
    IdCase(-1, (-1, -1), generates=False),
)
GENERATED: Final = 1001


def settled(case: IdCase) -> tuple[str, str]:
    """Return the broker's id and its source.

    If the start fails, return the exception and the reason.
    """
    stored = {
        f"/data{number}": BrokerMetadata(broker_id)
        for number, broker_id in enumerate(case.stored)
        if broker_id >= 0
    }

    async def generate() -> int:
        return GENERATED

    try:
        broker_id, source = asyncio.run(
            settle_broker_id(stored, case.configured, generate if case.generates else None)
        )
    except InconsistentBrokerIdError as error:
        return str(error).partition(":")[0], str(error).partition(": ")[2].partition(".")[0]
    return str(broker_id), source.value


def ids() -> Picture:
    """Show the book's four rules of broker.id, and a generated id."""
    table = Table("broker.id", "meta.properties", "comes of it", box=None)
    refused = 0
    for case in CASES:
        outcome, source = settled(case)
        refused += not outcome.isdigit()
        configured = str(case.configured) if case.configured >= 0 else "-"
        if not case.generates:
            configured = "-, generation off"
        stored = ", ".join("-" if each < 0 else str(each) for each in case.stored)
        table.add_row(configured, stored, f"{outcome} ({source})" if outcome.isdigit() else outcome)
    return picture({"id_refused": refused, "id_cases": len(CASES)}, table)


@cache
def generated() -> list[int]:
    """Return the ids that three brokers without a configured id get, one after another."""
    cluster = _started()
    tool = cluster.brokers[CONTROLLER].process
    admin = cluster.admin(tool)
    found = [cluster.run_as(tool, admin.generate_broker_id(1000)) for _ in range(3)]
    cluster.close()
    return found


def dispenser() -> Picture:
    """Show how /brokers/seqid generates ids."""
    table = Table("broker", "writes into /brokers/seqid", "version then", "its id", box=None)
    for number, broker_id in enumerate(generated(), 1):
        table.add_row(f"the {_ordinal(number)}", "nothing (0 bytes)", str(number), str(broker_id))
    return picture({"generated_1": generated()[0], "generated_3": generated()[2]}, table)


def _ordinal(number: int) -> str:
    return ("first", "second", "third")[number - 1]


# The figures.


def _znodes_figure() -> graphviz.Digraph:
    """Draw the znodes of the controller and of the brokers."""
    drawn = [
        drawings.Znode(
            each.path,
            each.data if not each.path.startswith("/brokers") else "",
            "ephemeral" if each.ephemeral else "",
        )
        for each in znodes()
    ]
    return drawings.znodes_figure("The controller's office in ZooKeeper", drawn)


def _election_figure() -> graphviz.Digraph:
    """Draw what each broker does: the election as a state diagram."""
    boxes = {
        "watch": ("watch /controller and read it (exists, then get)", BLUE),
        "follow": ("remember who it is; wait for the watch", GREEN),
        "race": ("create /controller, set the epoch: both or neither", YELLOW),
        "lead": ("lead: read ZooKeeper, set watches, tell the brokers", GREEN),
        "resign": ("resign: drop watches, timers and queues", RED),
    }
    arrows = (
        ("watch", "follow", "there is one"),
        ("watch", "race", "there is none"),
        ("race", "lead", "it worked"),
        ("race", "watch", "another broker was faster"),
        ("follow", "watch", "the watch fires"),
        ("lead", "resign", "another id, or no znode"),
        ("resign", "watch", ""),
    )
    legend = [(BLUE, "reads"), (YELLOW, "runs"), (GREEN, "waits or works"), (RED, "lets go")]
    figure = new_figure("election", "What every broker does", legend, rankdir="TB", nodesep="0.1")
    figure.attr("node", shape="box", style="filled")
    for name, (words, colour) in boxes.items():
        figure.node(name, label=html(wrapped(words, 22)), fillcolor=colour)
    for before, after, words in arrows:
        figure.edge(before, after, label=html(wrapped(words, 13)) if words else None)
    return figure


def _failover_figure() -> graphviz.Digraph:
    """Draw which broker is the controller in each second, for each action in ENDS."""
    seconds = range(10)
    rows = [("seconds", [(str(second), GREY) for second in seconds])]
    for gap in gaps().values():
        row = []
        for second in seconds:
            ms = second * 1000 + 500
            if ms < gap.gone_ms:
                row.append(("0", YELLOW))
            elif ms < gap.elected_ms:
                row.append(("-", RED))
            else:
                row.append((str(gap.winner), GREEN))
        rows.append((gap.words, row))
    legend = [(YELLOW, "still 0"), (GREEN, "the next one")]
    return grid("failover", "Broker 0 goes; who stands in /controller?", legend, rows, 22)


def _buckets_figure() -> graphviz.Digraph:
    """Draw the session tracker's buckets, with the messages that put a session into each."""
    ends = sorted({touch.bucket_ms for touch in tracked().touches})
    last = {touch.session: touch for touch in tracked().touches}
    rows = [("bucket until", [(f"{end // 1000} s", GREY) for end in ends])]
    for session in sorted(last):
        row = []
        for end in ends:
            times = [
                f"{t.at_ms / 1000:.1f}"
                for t in tracked().touches
                if (t.session, t.bucket_ms) == (session, end)
            ]
            colour = YELLOW if last[session].bucket_ms == end else BLUE if times else WHITE
            row.append((" ".join(times), colour))
        rows.append((f"session {session} heard at (s)", row))
    legend = [(BLUE, "was there"), (YELLOW, "expires with it")]
    return grid("buckets", "6 s of silence are allowed, a bucket is 2 s", legend, rows, 22)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "office": office,
    "race": race,
    "vacant": vacant,
    "two-controllers": two_controllers,
    "sessions": sessions,
    "ids": ids,
    "dispenser": dispenser,
}
