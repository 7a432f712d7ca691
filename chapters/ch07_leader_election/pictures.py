"""The pictures of chapter 07, made by the broker's own classes.

They use the controller's election strategies, a simulated cluster of three brokers, and two brokers
that a script drives step by step. Time is virtual and everything follows from a seed, so each
picture is the same each time.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.leader_election import ElectionStrategy, elect
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.instruments.sentences import sentence
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.stepped_cluster import SteppedCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected, LeaderElectionFailed
from kafka_edu.trace.events.replication import IsrExpanded, IsrShrunk, UncleanTruncation
from kafka_edu.trace.events.supervisor import ProcessPaused, ProcessResumed

from ..drawing import GAP, grid, picture

SEED: Final = 7
BROKERS: Final = (0, 1, 2)
LAG_MS: Final = 10_000
"""replica.lag.time.max.ms of Kafka 2.0. Since 2.5 the default is 30,000."""
SESSION_MS: Final = 6_000
WEB: Final = TopicPartition("web", 0)
OLD_FORMAT: Final = "0.10.2"
"""A message.format.version whose records have no leader epoch."""

#: The book's topic-leader: partition → (AR, ISR). The ISR has a different order than the AR.
TOPIC_LEADER: Final[Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "topic-leader-0": ((1, 2, 0), (0, 2, 1)),
    "topic-leader-1": ((2, 0, 1), (2, 0, 1)),
    "topic-leader-2": ((0, 1, 2), (0, 2, 1)),
}
DIES: Final = 1


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "topic-leader": _topic_leader_figure(),
        "strategies": _strategies_figure(),
        "unclean": _unclean_figure(),
        "epochs": _epochs_figure(),
    }


# The order of the AR decides, not that of the ISR.


class Elected(NamedTuple):
    """A partition before and after broker 1 died."""

    name: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    after: int
    by_isr: int
    """The broker that would lead if the order of the ISR counted."""


@cache
def topic_leader() -> list[Elected]:
    """Let broker 1 die, and return which brokers lead the three partitions of the book."""
    live = [broker for broker in BROKERS if broker != DIES]
    found = []
    for name, (replicas, isr) in TOPIC_LEADER.items():
        before = LeaderAndIsr(replicas[0], 0, isr, 0)
        after = replicas[0]
        if after == DIES:
            elected = elect(ElectionStrategy.OFFLINE_PARTITION, before, replicas, live)
            assert elected is not None
            after = elected.leader
        by_isr = next(broker for broker in isr if broker in live)
        found.append(Elected(name, replicas, isr, replicas[0], after, by_isr))
    return found


def _listed(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def by_ar() -> Picture:
    """Show which brokers lead the book's topic after broker 1 has died."""
    shown = Table("partition", "AR", "ISR", "leader", "after", box=None)
    for one in topic_leader():
        shown.add_row(
            one.name, _listed(one.replicas), _listed(one.isr), str(one.leader), str(one.after)
        )
    first = topic_leader()[0]
    return picture({"by_ar": first.after, "by_isr": first.by_isr}, shown)


# The four strategies.


class Answer(NamedTuple):
    """The answer of one strategy. All strategies get the same replica sets."""

    name: str
    asked: str
    leader: int
    """The elected leader. -1: no broker can lead."""
    isr: tuple[int, ...]


REPLICAS: Final = (1, 2, 3, 0)
IN_SYNC: Final = (3, 2, 0)
LIVE: Final = (0, 2, 3)
TARGET: Final = (4, 3, 2)
GOING: Final = (2,)


def strategies() -> list[Answer]:
    """Return the answers of all four strategies for one partition."""
    before = LeaderAndIsr(1, 0, IN_SYNC, 0)
    asked: tuple[tuple[ElectionStrategy, str, tuple[int, ...], tuple[int, ...]], ...] = (
        (ElectionStrategy.OFFLINE_PARTITION, "the leader, broker 1, has died", REPLICAS, ()),
        (ElectionStrategy.REASSIGN_PARTITION, f"AR moves to {_listed(TARGET)}", TARGET, ()),
        (ElectionStrategy.PREFERRED_REPLICA, "the preferred one is wanted", REPLICAS, ()),
        (ElectionStrategy.CONTROLLED_SHUTDOWN, "broker 2 leads, and goes", REPLICAS, GOING),
    )
    found = []
    for strategy, words, replicas, going in asked:
        elected = elect(strategy, before, replicas, LIVE, going)
        leader, isr = (-1, IN_SYNC) if elected is None else (elected.leader, tuple(elected.isr))
        found.append(Answer(strategy.value, words, leader, isr))
    return found


def four_strategies() -> Picture:
    """Show the answer of each strategy."""
    shown = Table("strategy", "because", "leader", "ISR after", box=None)
    for one in strategies():
        leader = "all stays" if one.leader < 0 else str(one.leader)
        shown.add_row(one.name, one.asked, leader, _listed(one.isr))
    note = f"AR {_listed(REPLICAS)}   ISR {_listed(IN_SYNC)}   live {_listed(LIVE)}"
    offline, reassign, _, shutdown = strategies()
    return picture(
        {"offline": offline.leader, "reassign": reassign.leader, "shutdown": shutdown.leader},
        Text(note),
        shown,
    )


# Unclean elections.


class Ended(NamedTuple):
    """The fate of a partition after its whole ISR died."""

    leader: int
    """The partition's leader. -1: none, because the ISR is still down."""
    acked: int
    there: int
    """The number of acked records that a consumer can read when all brokers are back."""
    cut: int
    """The number of records that the former leader cut off below its own high watermark."""


def _started(props: Mapping[str, str]) -> SimCluster:
    """Start three brokers with replicas of web-0 on all of them. Broker 0 is the leader."""
    cluster = SimCluster(
        SEED,
        BROKERS,
        {
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "replica.lag.time.max.ms": str(LAG_MS),
            "auto.leader.rebalance.enable": "false",
            **props,
        },
    )
    cluster.start_all()
    tool = cluster.brokers[0].process
    assignment = TopicAssignment.of({0: list(BROKERS)})
    cluster.run_as(tool, cluster.admin(tool).create_topic_assignment(WEB.topic, assignment))
    cluster.advance(1_000)
    return cluster


def _produce(cluster: SimCluster, count: int) -> int:
    """Write records with acks=all. Return how many were acknowledged."""
    client, acked = SimClient(cluster), 0
    for number in range(count):
        answer = client.produce(WEB, f"order {number}", -1)
        cluster.advance(500)
        acked += answer.acked is not None and answer.acked.error is Errors.NONE
    return acked


@cache
def unclean(allowed: bool) -> Ended:
    """Let both followers die, write records, let the leader die, and start a follower again."""
    props = {"unclean.leader.election.enable": "true"} if allowed else {}
    with no_log():
        cluster = _started({**props, "min.insync.replicas": "1"})
        acked = _produce(cluster, 4)
        for follower in (1, 2):
            cluster.kill(follower)
            cluster.advance(20_000)
        acked += _produce(cluster, 3)
        cluster.kill(0)
        cluster.advance(20_000)
        begin = len(cluster.sink.events)
        cluster.start(1)
        cluster.advance(10_000)
        elections = [
            one.event
            for one in cluster.sink.events[begin:]
            if isinstance(one.event, LeaderElected | LeaderElectionFailed)
            and one.event.topic == WEB.topic
        ]
        last = elections[-1]
        leader = last.new_leader if isinstance(last, LeaderElected) else -1
        for broker in (0, 2):
            cluster.start(broker)
            cluster.advance(10_000)
        client = SimClient(cluster)
        there = len(cluster.run_as(client.process, client.consume(WEB)))
        cut = sum(
            one.event.records
            for one in cluster.sink.events
            if isinstance(one.event, UncleanTruncation)
        )
        cluster.close()
    return Ended(leader, acked, there, cut)


def the_price() -> Picture:
    """Compare an unclean election with waiting: show how many records each of them loses."""
    shown = Table("unclean.leader.election.enable", "false", "true", box=None)
    waits, goes = unclean(False), unclean(True)
    rows: dict[str, Callable[[Ended], str]] = {
        "broker 1 is back: who leads?": lambda one: "nobody" if one.leader < 0 else str(one.leader),
        "acknowledged records": lambda one: str(one.acked),
        "read when all are back": lambda one: str(one.there),
        "lost": lambda one: str(one.acked - one.there),
    }
    for words, of in rows.items():
        shown.add_row(words, of(waits), of(goes))
    return picture(
        {
            "acked": goes.acked,
            "lost_unclean": goes.acked - goes.there,
            "lost_clean": waits.acked - waits.there,
            "unclean_leader": goes.leader,
            "cut": goes.cut,
        },
        shown,
    )


# How the ISR shrinks and expands.


@cache
def flapped() -> list[Envelope]:
    """Pause a follower and resume it. Return the events."""
    with no_log():
        cluster = _started({"zookeeper.session.timeout.ms": "60000"})
        _produce(cluster, 2)
        begin = len(cluster.sink.events)
        cluster.pause(2)
        cluster.advance(20_000)
        _produce(cluster, 2)
        cluster.resume(2)
        cluster.advance(5_000)
        events = cluster.sink.events[begin:]
        cluster.close()
    kinds = (ProcessPaused, ProcessResumed, IsrShrunk, IsrExpanded)
    return [
        one
        for one in events
        if isinstance(one.event, kinds) and getattr(one.event, "topic", WEB.topic) == WEB.topic
    ]


def isr() -> Picture:
    """Show how an ISR shrinks and grows again."""
    events = flapped()
    lines = Text()
    for one in events:
        at = (one.mono_us - events[0].mono_us) / 1e6
        lines.append(f"{at:>5.1f} s  {sentence(one.event).line}\n")
    lines.right_crop(1)
    shrunk = next(one for one in events if isinstance(one.event, IsrShrunk))
    return picture(
        {"out_after_s": f"{(shrunk.mono_us - events[0].mono_us) / 1e6:.1f}"},
        lines,
        Text(f"replica.lag.time.max.ms = {LAG_MS:,}; the leader looks every {LAG_MS // 2:,} ms"),
    )


# High watermark and leader epochs.


class Moment(NamedTuple):
    """Both brokers' logs at one moment."""

    words: str
    first: tuple[str, ...]
    """The records in broker 0's log."""
    second: tuple[str, ...]


@cache
def truncated(message_format: str) -> list[Moment]:
    """Play the book's case with records that have a leader epoch, or have none (KIP-101)."""
    cluster = SteppedCluster(protocol=(2, 8), message_format=message_format)
    first, second = cluster.brokers
    moments: list[Moment] = []

    def note(words: str) -> None:
        moments.append(Moment(words, tuple(first.values()), tuple(second.values())))

    cluster.elect(0, (0, 1))
    cluster.produce("m0", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("m1", acks=1)
    cluster.fetch(1)
    cluster.send_fetch(1)  # broker 0 knows that broker 1 has m1; its answer never arrives
    note("both have m0 and m1")
    second.restart(high_watermark=1)
    cluster.tell(1)
    cluster.look_up_epochs(1)
    note("broker 1 is restarted")
    first.alive = False
    cluster.elect(1, (1,))
    note("broker 0 dies, 1 leads")
    first.restart(high_watermark=2)
    cluster.tell(0)
    cluster.look_up_epochs(0)
    for _ in range(3):
        cluster.fetch(0)
    note("broker 0 follows")
    return moments


def hw_and_epochs() -> Picture:
    """Show the run with leader epochs and the run without, side by side."""
    shown = Table("", "by high watermark", "by epochs", box=None)
    for old, new in zip(truncated(OLD_FORMAT), truncated(""), strict=True):
        shown.add_row(old.words, *(f"{_log(one.first)} | {_log(one.second)}" for one in (old, new)))
    lost = "m1" not in truncated(OLD_FORMAT)[-1].second
    kept = "m1" in truncated("")[-1].second
    return picture(
        {"hw_loses": "yes" if lost else "no", "epochs_keep": "yes" if kept else "no"},
        shown,
        Text("broker 0 | broker 1; m1 was acknowledged"),
    )


def _log(values: Sequence[str]) -> str:
    return " ".join(values) or "-"


# The figures.


def _topic_leader_figure() -> graphviz.Digraph:
    """Draw the book's topic: its AR, its ISR, and its leaders after broker 1 has died."""
    rows = [
        (
            "",
            [*([("AR", GREY)] * 3), GAP, *([("ISR", GREY)] * 3), GAP, ("then", GREY)],
        )
    ]
    for one in topic_leader():
        replicas = [(str(b), RED if b == DIES else BLUE) for b in one.replicas]
        members = [(str(b), RED if b == DIES else BLUE) for b in one.isr]
        rows.append((one.name, [*replicas, GAP, *members, GAP, (str(one.after), GREEN)]))
    legend = [(RED, "broker 1, dead"), (GREEN, "leads then")]
    return grid("topic-leader", "The first of AR that lives and is in the ISR", legend, rows)


def _strategies_figure() -> graphviz.Digraph:
    """Draw what the four strategies do with one partition."""
    rows = []
    for one in strategies():
        replicas = TARGET if one.name == ElectionStrategy.REASSIGN_PARTITION.value else REPLICAS
        going = GOING if one.name == ElectionStrategy.CONTROLLED_SHUTDOWN.value else ()
        cells = []
        for broker in replicas:
            colour = BLUE
            if broker not in LIVE or broker not in IN_SYNC:
                colour = GREY
            elif broker in going:
                colour = YELLOW
            if broker == one.leader:
                colour = GREEN
            cells.append((str(broker), colour))
        rows.append((one.name, cells))
    legend = [(GREEN, "leads"), (GREY, "dead or not in sync"), (YELLOW, "goes itself")]
    title = f"ISR {_listed(IN_SYNC)}, live {_listed(LIVE)}"
    return grid("strategies", title, legend, rows)


def _unclean_figure() -> graphviz.Digraph:
    """Draw which records an unclean election loses."""
    rows = []
    for allowed in (False, True):
        ended = unclean(allowed)
        cells = [
            (str(offset), GREEN if offset < ended.there else RED) for offset in range(ended.acked)
        ]
        rows.append((f"unclean: {'true' if allowed else 'false'}", cells))
    legend = [(GREEN, "there"), (RED, "lost")]
    return grid("unclean", "Acknowledged records, when all are back", legend, rows)


def _epochs_figure() -> graphviz.Digraph:
    """Draw the book's case with and without leader epochs: both logs at four moments."""
    rows = [("", [("HW: 0", GREY), ("1", GREY), GAP, ("epochs: 0", GREY), ("1", GREY)])]
    for old, new in zip(truncated(OLD_FORMAT), truncated(""), strict=True):
        cells: list[tuple[str, str]] = []
        for one in (old, new):
            if cells:
                cells.append(GAP)
            for values in (one.first, one.second):
                cells.append(
                    (_log(values), GREEN if "m1" in values else YELLOW if values else WHITE)
                )
        rows.append((old.words, cells))
    legend = [(GREEN, "has m1"), (YELLOW, "has not")]
    return grid("epochs", "Truncation by high watermark, and by epochs", legend, rows)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "topic-leader": by_ar,
    "strategies": four_strategies,
    "isr": isr,
    "unclean": the_price,
    "epochs": hw_and_epochs,
}
