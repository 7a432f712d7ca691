"""The pictures of chapter 10, made by the broker's own classes.

The functions drive brokers step by step (`SteppedCluster`). Partition, Log, ReplicaFetcher and the
purgatories are the broker's own classes. The controller, ZooKeeper and the network are simulated,
and time is virtual. So each picture is the same each time.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.record.memory_records import read_all
from kafka_edu.replication.fetch_params import FetchIsolation
from kafka_edu.replication.partition_reads import read_records
from kafka_edu.replication.partition_view import remote_leos
from kafka_edu.sim.stepped_cluster import ModelBroker, Produced, SteppedCluster
from kafka_edu.sim.stepped_cluster import T as PARTITION

from ..drawing import GAP, grid, picture

HW: Final = 8
LEO: Final = 15
"""The leader's high watermark (HW) and log end offset (LEO) in the book's figure."""
LAG_MS: Final = 10_000
"""replica.lag.time.max.ms of Kafka 2.0. Since 2.5 the default is 30,000."""
FIRST_EPOCH_RECORDS: Final = 120
"""The records of the book's first leader epoch: <0, 0>, then <1, 120>."""
WAIT_MS: Final = 500
"""replica.fetch.wait.max.ms: how long the leader keeps a fetch that finds no records."""
PROTOCOL: Final = (2, 8)


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "replicas": _replicas_figure(),
        "offsets": _offsets_figure(),
        "steps": _steps_figure(),
        "lag": _lag_figure(),
        "acks": _acks_figure(),
        "readers": _readers_figure(),
    }


def _records(count: int) -> list[str]:
    return [f"m{number}" for number in range(count)]


def _cluster(brokers: int = 2, wait_ms: int = 0) -> SteppedCluster:
    """Return brokers 0 … n-1 with one partition. Broker 0 leads it, and all are in the ISR."""
    cluster = SteppedCluster(brokers, wait_ms=wait_ms, protocol=PROTOCOL)
    cluster.elect(0, range(brokers))
    return cluster


def read_at(broker: ModelBroker) -> int:
    """Return how many records a consumer can read from the start of this broker's log."""
    read = read_records(
        broker.partition,
        0,
        1 << 20,
        current_leader_epoch=-1,
        last_fetched_epoch=-1,
        only_from_leader=False,
        isolation=FetchIsolation.HIGH_WATERMARK,
        min_one_message=True,
        hard_limit=False,
    )
    return sum(1 for _ in read_all(part_bytes(read.records)))


# HW 8, LEO 15.


class Offsets(NamedTuple):
    """The offsets of one replica."""

    broker: int
    hw: int
    leo: int
    known: int
    """This replica's log end offset as the leader knows it. For the leader: its own log end."""


class BookState(NamedTuple):
    """The offsets in the book's figure, and how many records a consumer can then read."""

    replicas: tuple[Offsets, ...]
    readable: int


@cache
def book_state() -> BookState:
    """Bring a partition with three replicas to HW 8 and LEO 15. One follower stops at 8."""
    cluster = _cluster(3)
    cluster.produce(*_records(HW))
    for _ in range(3):
        cluster.fetch(1, 2)
    cluster.produce(*_records(LEO - HW))
    for _ in range(2):
        cluster.fetch(1)
    leader = cluster.leader
    known = dict(remote_leos(leader.partition))
    replicas = tuple(
        Offsets(broker.id, broker.hw, broker.leo, known.get(broker.id, broker.leo))
        for broker in cluster.brokers
    )
    return BookState(replicas, read_at(leader))


def offsets() -> Picture:
    """Show HW and LEO of the three replicas in the book's state."""
    shown = Table("replica", "HW", "LEO", "LEO, as the leader knows it", box=None)
    state = book_state()
    for one in state.replicas:
        name = f"broker {one.broker}, {'leader' if one.broker == 0 else 'follower'}"
        shown.add_row(name, str(one.hw), str(one.leo), str(one.known))
    leader = state.replicas[0]
    bar = Text()
    for offset in range(leader.leo + 1):
        style = "green" if offset < leader.hw else "yellow" if offset < leader.leo else "dim"
        bar.append(f" {offset:>2} ", style)
    return picture(
        {
            "hw": leader.hw,
            "leo": leader.leo,
            "readable": state.readable,
            "uncommitted": leader.leo - leader.hw,
        },
        shown,
        bar,
        Text("green: committed. yellow: stored, not committed. The last is the next offset."),
    )


# One record, step by step.


class Moment(NamedTuple):
    """The offsets of both replicas at one moment."""

    words: str
    leader_leo: int
    remote_leo: int
    leader_hw: int
    follower_leo: int
    follower_hw: int
    answered: bool
    """Whether the producer has got the response. It uses acks=all."""


@cache
def one_record() -> list[Moment]:
    """Write one record to a leader with one follower. Return the offsets after each step."""
    cluster = _cluster(2, WAIT_MS)
    leader, follower = cluster.brokers
    cluster.look_up_epochs(1)
    answer = cluster.send_fetch(1)
    cluster.step(WAIT_MS + 1)
    cluster.receive(1, answer)
    moments: list[Moment] = []

    def note(words: str) -> None:
        remote = dict(remote_leos(leader.partition))[1]
        answered = produced is not None and produced.error() is Errors.NONE
        moments.append(
            Moment(words, leader.leo, remote, leader.hw, follower.leo, follower.hw, answered)
        )

    produced: Produced | None = None
    answer = cluster.send_fetch(1)
    note("it fetches from 0, and waits")
    produced = cluster.produce("m0")
    note("the leader appends the record")
    cluster.receive(1, answer)
    note("the follower appends it")
    answer = cluster.send_fetch(1)
    note("it fetches from 1, and waits")
    cluster.step(WAIT_MS + 1)
    cluster.receive(1, answer)
    note("the response arrives")
    return moments


def steps() -> Picture:
    """Show the offsets of leader and follower after each step in the life of one record."""
    shown = Table("", "LEO", "remote LEO", "HW", "LEO", "HW", "answered", box=None)
    shown.add_row("", "leader", "", "", "follower", "", "acks=all")
    for one in one_record():
        numbers = (one.leader_leo, one.remote_leo, one.leader_hw, one.follower_leo, one.follower_hw)
        shown.add_row(one.words, *map(str, numbers), "yes" if one.answered else "no")
    moments = one_record()
    committed = next(number for number, one in enumerate(moments) if one.leader_hw == 1)
    fetches = sum("fetches" in one.words for one in moments[: committed + 1])
    return picture(
        {
            "fetches_needed": fetches,
            "follower_hw_then": moments[committed].follower_hw,
            "follower_hw_later": moments[-1].follower_hw,
        },
        shown,
    )


# 10, 6 and 3 records: who is in sync?


class Look(NamedTuple):
    """The ISR after the leader has checked it at one moment."""

    seconds: int
    """Seconds since follower 2 had last caught up with the leader."""
    other_seconds: int
    """Seconds since follower 1 had last caught up with the leader."""
    logs: tuple[int, ...]
    isr: tuple[int, ...]


@cache
def ten_six_three() -> list[Look]:
    """Bring three replicas to 10, 6 and 3 records, and return their ISR at three moments."""
    return [_look_after(seconds) for seconds in (8, 12, 15)]


def _look_after(seconds: int) -> Look:
    """Let the leader check the ISR `seconds` after follower 2 had last caught up.

    Follower 2 caught up at second 0, with 3 records. Follower 1 caught up at second 4, with 6
    records. The leader has 10.
    """
    cluster = _cluster(3)
    cluster.produce(*_records(3))
    for _ in range(2):
        cluster.fetch(1, 2)
    cluster.step(4_000)
    cluster.produce(*_records(3))
    for _ in range(2):
        cluster.fetch(1)
    cluster.produce(*_records(4), acks=1)
    cluster.step((seconds - 4) * 1_000)
    leader = cluster.leader
    leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    cluster.settle_isr()
    logs = tuple(broker.leo for broker in cluster.brokers)
    return Look(seconds, seconds - 4, logs, leader.partition.isr)


def it_depends() -> Picture:
    """Show that the ISR of the same three logs is different at different times."""
    shown = Table("caught up: broker 1", "broker 2", "records 0, 1, 2", "ISR", box=None)
    looks = ten_six_three()
    for one in looks:
        logs = ", ".join(map(str, one.logs))
        ago = f"{one.other_seconds} s ago", f"{one.seconds} s ago"
        shown.add_row(*ago, logs, ", ".join(map(str, one.isr)))
    sizes = [len(one.isr) for one in looks]
    return picture(
        {"isr_early": sizes[0], "isr_middle": sizes[1], "isr_late": sizes[2]},
        shown,
        Text(f"replica.lag.time.max.ms = {LAG_MS:,}"),
    )


# What an acknowledgement is worth.


class Acked(NamedTuple):
    """The fate of one record whose leader died before any follower had it."""

    acks: str
    answered: bool
    kept: bool


@cache
def acknowledged() -> list[Acked]:
    """Write a record with each value of acks, and let the leader die at once.

    Return for each value whether the record was acknowledged, and whether the new leader has it.
    """
    found = []
    for acks, words in ((0, "0"), (1, "1"), (-1, "all")):
        cluster = _cluster(2)
        cluster.produce("m0")
        for _ in range(2):
            cluster.fetch(1)
        produced = cluster.produce("m1", acks=acks)
        # With acks=0 the broker never sends a response.
        answered = acks != 0 and produced.error() is Errors.NONE
        cluster.brokers[0].alive = False
        cluster.elect(1, (1,))
        found.append(Acked(words, answered, "m1" in cluster.leader.values()))
    return found


def worth() -> Picture:
    """Show the guarantee of each value of acks for a record that only the leader has."""
    shown = Table("acks", "answered", "there afterwards", "", box=None)
    for one in acknowledged():
        answered = "no answer exists" if one.acks == "0" else "yes" if one.answered else "no"
        lost = "acknowledged and lost" if one.answered and not one.kept else "not acknowledged"
        shown.add_row(one.acks, answered, "yes" if one.kept else "no", lost)
    _, one, everybody = acknowledged()
    yes = {True: "yes", False: "no"}
    return picture(
        {
            "acked_by_1": yes[one.answered],
            "kept_by_1": yes[one.kept],
            "acked_by_all": yes[everybody.answered],
        },
        shown,
    )


# Epochs: <0, 0>, <1, 120>.


class Epochs(NamedTuple):
    """The epochs of a log, and the offset at which the first of them ends."""

    entries: tuple[tuple[int, int], ...]
    first_ends: int


@cache
def epochs_of_the_book() -> Epochs:
    """Let broker 0 lead and write 120 records. Then let broker 1 lead and write more."""
    cluster = _cluster(2)
    for _ in range(FIRST_EPOCH_RECORDS // 10):
        cluster.produce(*_records(10))
        cluster.fetch(1)
    for _ in range(2):
        cluster.fetch(1)
    cluster.elect(1, (0, 1))
    cluster.produce(*_records(5))
    cluster.fetch(0)
    entries = tuple(
        (entry.epoch, entry.start_offset) for entry in cluster.leader.log.leader_epoch_cache.entries
    )
    end = cluster.leader.manager.offset_lookup.last_offset_for_leader_epoch(
        PARTITION, 0, cluster.state.leader_epoch
    )
    return Epochs(entries, end.end_offset)


def epochs() -> Picture:
    """Show the leader epochs of the book's example."""
    found = epochs_of_the_book()
    shown = Table("epoch", "starts at", "", box=None)
    for epoch, start in found.entries:
        shown.add_row(str(epoch), str(start), f"<{epoch}, {start}>")
    (_, first), (epoch, start) = found.entries
    return picture(
        {
            "first_start": first,
            "second_epoch": epoch,
            "second_start": start,
            "first_ends": found.first_ends,
        },
        shown,
        Text(f"OffsetForLeaderEpoch(0) → epoch 0 ends at {found.first_ends}"),
    )


# Reading from followers.


class Reader(NamedTuple):
    """How many records a consumer gets from one replica, right after the acknowledgement."""

    broker: int
    leo: int
    hw: int
    readable: int


@cache
def readers() -> list[Reader]:
    """Write records with acks=all, and read all three replicas right after the acknowledgement.

    Broker 1 has already received the response with the new high watermark, and broker 2 has not.
    """
    cluster = _cluster(3)
    cluster.produce(*_records(3))
    for _ in range(3):
        cluster.fetch(1, 2)
    produced = cluster.produce("m3", "m4")
    cluster.fetch(1, 2)
    cluster.send_fetch(2)  # the leader knows that broker 2 has all; its response never arrives
    for _ in range(2):
        cluster.fetch(1)
    assert produced.error() is Errors.NONE
    return [Reader(one.id, one.leo, one.hw, read_at(one)) for one in cluster.brokers]


def read_where() -> Picture:
    """Show what a consumer gets from each replica right after the acknowledgement."""
    shown = Table("read from", "LEO", "HW", "records", box=None)
    for one in readers():
        name = f"broker {one.broker}, {'leader' if one.broker == 0 else 'follower'}"
        shown.add_row(name, str(one.leo), str(one.hw), str(one.readable))
    leader, near, late = readers()
    return picture(
        {"at_leader": leader.readable, "at_one": near.readable, "at_other": late.readable},
        shown,
        Text("5 records are acknowledged (acks=all)"),
    )


# The figures.


def _replicas_figure() -> graphviz.Digraph:
    """Draw three brokers and three partitions, each with three replicas."""
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        ("", [(f"broker {broker}", GREY) for broker in range(3)])
    ]
    for number in range(3):
        rows.append(
            (
                f"partition {number}",
                [
                    ("leader", GREEN) if broker == number else ("follower", BLUE)
                    for broker in range(3)
                ],
            )
        )
    return grid(
        "replicas",
        "A topic with three partitions, each with three replicas",
        [(GREEN, "clients write and read here"), (BLUE, "fetches from the leader")],
        rows,
    )


def _bar(readable: int, stored: int, width: int) -> list[tuple[str, str]]:
    """Return the cells of a log: its committed records, its other records, and the next offset."""
    cells = []
    for offset in range(width + 1):
        if offset < stored:
            cells.append((str(offset), GREEN if offset < readable else YELLOW))
        else:
            cells.append((str(offset) if offset == stored else " ", WHITE))
    return cells


def _offsets_figure() -> graphviz.Digraph:
    """Draw the logs of the book's state: HW 8, LEO 15."""
    state = book_state()
    rows = [
        (
            f"broker {one.broker}{', leader' if one.broker == 0 else ''}",
            _bar(one.hw, one.leo, LEO),
        )
        for one in state.replicas
    ]
    leader = state.replicas[0]
    return grid(
        "offsets",
        f"High watermark {leader.hw}, log end offset {leader.leo}",
        [(GREEN, "committed, as this replica knows"), (YELLOW, "stored, not committed")],
        rows,
        12,
    )


def _steps_figure() -> graphviz.Digraph:
    """Draw the offsets of both replicas after each step in the life of one record."""
    leader_heads = ("leader\nLEO", "remote\nLEO", "leader\nHW")
    follower_heads = ("follower\nLEO", "follower\nHW")
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "",
            [
                *((head, GREY) for head in leader_heads),
                GAP,
                *((head, GREY) for head in follower_heads),
                GAP,
                ("answered", GREY),
            ],
        )
    ]
    for one in one_record():
        leader = (one.leader_leo, one.remote_leo, one.leader_hw)
        follower = (one.follower_leo, one.follower_hw)
        cells = [(str(value), GREEN if value else WHITE) for value in leader]
        more = [(str(value), GREEN if value else WHITE) for value in follower]
        answer = [("yes", BLUE)] if one.answered else [("no", YELLOW)]
        rows.append((one.words, [*cells, GAP, *more, GAP, *answer]))
    return grid("steps", "One record, acks=all, one follower", [], rows, 18)


def _lag_figure() -> graphviz.Digraph:
    """Draw the three different ISRs of the same three logs."""
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        ("", [(f"broker {number}: {logs}", GREY) for number, logs in enumerate((10, 6, 3))])
    ]
    for one in ten_six_three():
        ago = (None, one.other_seconds, one.seconds)
        cells = []
        for broker, seconds in enumerate(ago):
            text = "leader" if seconds is None else f"caught up {seconds} s ago"
            cells.append((text, GREEN if broker in one.isr else RED))
        rows.append((f"ISR {', '.join(map(str, one.isr))}", cells))
    return grid(
        "lag",
        "10, 6 and 3 records: who is in sync?",
        [(GREEN, "in the ISR"), (RED, "not")],
        rows,
    )


def _acks_figure() -> graphviz.Digraph:
    """Draw the guarantee of each value of acks for a record that only the leader has."""
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        ("", [("the producer knows", GREY), ("after the leader's death", GREY)])
    ]
    for one in acknowledged():
        knows = "nothing" if one.acks == "0" else "acknowledged" if one.answered else "not yet"
        there = "it is there" if one.kept else "it is lost" if one.answered else "it is not there"
        colour = RED if one.answered and not one.kept else GREEN if one.kept else YELLOW
        rows.append((f"acks={one.acks}", [(knows, BLUE), (there, colour)]))
    return grid(
        "acks",
        "The leader dies before a follower has the record",
        [(RED, "acknowledged and lost"), (YELLOW, "not there, and not acknowledged")],
        rows,
    )


def _readers_figure() -> graphviz.Digraph:
    """Draw what a consumer gets from each replica right after the acknowledgement."""
    rows = [
        (
            f"broker {one.broker}{', leader' if one.broker == 0 else ''}: {one.readable} records",
            _bar(one.readable, one.leo, max(r.leo for r in readers())),
        )
        for one in readers()
    ]
    return grid(
        "readers",
        "Five records are acknowledged. Who shows them?",
        [(GREEN, "a consumer gets it here"), (YELLOW, "it is here, but not shown yet")],
        rows,
    )


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "offsets": offsets,
    "steps": steps,
    "lag": it_depends,
    "acks": worth,
    "epochs": epochs,
    "readers": read_where,
}
