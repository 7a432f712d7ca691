"""The pictures of chapter 18, made by the simulator itself and by the broker's own classes."""

import asyncio
import inspect
import platform
import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

import kafka_edu
from kafka_edu.instruments.drawings.figure import BLUE, GREEN, GREY, RED, WHITE, YELLOW
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.server.kafka_server import KafkaServer
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_loop import SimLoop
from kafka_edu.trace.events.controller import LeaderElected

from ..drawing import GAP, grid, picture
from . import kip101

Cells = list[tuple[str, str]]
Rows = list[tuple[str, Cells]]


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "shells": _shells_figure(),
        "loop": _loop_figure(),
        "kip101": _kip101_figure(),
    }


# The parts that a broker gets as arguments.


class Part(NamedTuple):
    """A part that a broker gets when it is created, in a real cluster and in the simulator."""

    parameter: str
    """The name of the parameter of KafkaServer."""
    words: str
    real: str
    virtual: str


PARTS: Final = (
    Part("time", "the clock", "the computer's clock", "a number, moved by the loop"),
    Part("transport", "the network", "TCP sockets", "lists in memory, with delays"),
    Part("zk_client", "ZooKeeper", "kazoo, over TCP", "calls in memory, with delays"),
    Part("file_system", "the disk", "files", "bytes in memory"),
    Part("random", "random numbers", "a seed of the system", "the run's seed"),
    Part("run_blocking", "slow disk work", "threads", "a delay from the seed"),
    Part("run_clean_job", "log compaction", "another process", "a delay from the seed"),
)
#: Packages of the core that decides. Their modules get the time as an argument.
CORE: Final = ("protocol", "record", "timer", "purgatory", "cluster", "replication", "controller")
CLOCK: Final = re.compile(r"^\s*(?:import|from) (?:time|datetime)\b", re.MULTILINE)
"""An import of a clock of Python."""


@cache
def handed_in() -> tuple[str, ...]:
    """Return the parameters of KafkaServer that PARTS describes, in the order of KafkaServer."""
    known = inspect.signature(KafkaServer.__init__).parameters
    return tuple(name for name in known if name in {part.parameter for part in PARTS})


class Scan(NamedTuple):
    """The number of modules in the core, and of those that import a clock."""

    modules: int
    clocks: int
    """How many of them import a clock of Python."""


@cache
def core_scan() -> Scan:
    """Read the source of the core, and count its modules and the clocks in it."""
    root = Path(inspect.getfile(kafka_edu)).parent
    files = [file for package in CORE for file in sorted((root / package).rglob("*.py"))]
    clocks = sum(CLOCK.search(file.read_text(encoding="utf-8")) is not None for file in files)
    return Scan(len(files), clocks)


def shells() -> Picture:
    """Show what a broker gets from outside, and how many clocks its core reads."""
    shown = Table("KafkaServer(…)", "", "real cluster", "simulator", box=None)
    for part in PARTS:
        shown.add_row(f"{part.parameter}=", part.words, part.real, part.virtual)
    scan = core_scan()
    return picture(
        {"parts": len(handed_in()), "clock_imports": scan.clocks},
        shown,
        Text(""),
        Text(f"{scan.clocks} of these {scan.modules} modules import a clock of Python:"),
        Text(", ".join(CORE)),
    )


def _shells_figure() -> graphviz.Digraph:
    rows: Rows = [("", [("real cluster", GREY), ("simulator", GREY)])]
    rows += [(part.words, [(part.real, BLUE), (part.virtual, YELLOW)]) for part in PARTS]
    rows.append(("", [GAP, GAP]))
    same = ("the same classes", GREEN)
    for words in ("log, replication", "controller", "groups, transactions"):
        rows.append((words, [same, same]))
    return grid("shells", "One core, two shells", [], rows, 16)


# The loop's next event.


class Ran(NamedTuple):
    """One callback that the loop has run."""

    name: str
    set_for: str
    at_ms: float


@cache
def loop_order() -> tuple[Ran, ...]:
    """Give the loop six callbacks, and let it run them."""
    loop = SimLoop()
    ran: list[Ran] = []
    words = {"A": "in 30 ms", "B": "in 10 ms", "C": "now", "D": "in 10 ms", "E": "now"}

    def run(name: str) -> None:
        ran.append(Ran(name, words.get(name, "now, by B"), loop.now_ns / 1e6))
        if name == "B":
            loop.call_soon(run, "F")

    loop.call_later(0.030, run, "A")
    loop.call_later(0.010, run, "B")
    loop.call_soon(run, "C")
    loop.call_later(0.010, run, "D")
    loop.call_soon(run, "E")
    while loop.step():
        pass
    return tuple(ran)


def loop() -> Picture:
    """Show the order in which the virtual loop runs callbacks."""
    ran = loop_order()
    shown = Table("turn", "callback", "was set", "runs at", box=None)
    for number, one in enumerate(ran, 1):
        shown.add_row(str(number), one.name, one.set_for, f"{one.at_ms:g} ms")
    third = ran[2]
    return picture(
        {
            "loop_order": "".join(one.name for one in ran),
            "after_b": ran[[one.name for one in ran].index("B") + 1].name,
            "jump_ms": f"{third.at_ms - ran[1].at_ms:g}",
        },
        shown,
    )


def _loop_figure() -> graphviz.Digraph:
    rows: Rows = [("callback", [("was set", GREY), ("runs at", GREY)])]
    for one in loop_order():
        colour = GREEN if one.set_for.startswith("now") else YELLOW
        rows.append((one.name, [(one.set_for, colour), (f"{one.at_ms:g} ms", WHITE)]))
    legend = [(GREEN, "ready"), (YELLOW, "a timer")]
    return grid("loop", "The order of the virtual loop", legend, rows)


# Numbers and turns of the loop, which belong to a version of Python.

SEED_TEXT: Final = "18"
DRAWN: Final = 6
FACES: Final = range(1, 100)


@cache
def drawn_numbers() -> Mapping[str, tuple[int, ...]]:
    """Draw from a generator seeded as in Python before 3.2, as now, and from ours."""
    old, new = random.Random(), random.Random()
    old.seed(SEED_TEXT, version=1)
    new.seed(SEED_TEXT, version=2)
    ours = SeededRandom(SEED_TEXT)
    return {
        "random.Random, seeds as before Python 3.2": tuple(old.choice(FACES) for _ in range(DRAWN)),
        "random.Random, seeds of today": tuple(new.choice(FACES) for _ in range(DRAWN)),
        "SeededRandom": tuple(ours.choice(FACES) for _ in range(DRAWN)),
    }


def wait_for_turns() -> int:
    """Return how many callbacks the loop runs for one `asyncio.wait_for` on this Python."""
    loop = SimLoop()
    asked = loop.create_future()

    async def wait() -> None:
        await asyncio.wait_for(asked, 10)

    task = loop.create_task(wait())
    loop.call_later(0.001, asked.set_result, None)
    turns = 0
    while not task.done() and loop.step():
        turns += 1
    return turns


def numbers() -> Picture:
    """Show that the same seed gives other numbers after a change of the generator."""
    shown = Table("generator", f"choice() from 1 to 99, seed {SEED_TEXT!r}", box=None)
    drawn = drawn_numbers()
    for name, found in drawn.items():
        shown.add_row(name, " ".join(map(str, found)))
    old, new, ours = drawn.values()
    return picture(
        {
            "same_numbers": sum(a == b for a, b in zip(old, new, strict=True)),
            "drawn": DRAWN,
            "ours_first": ours[0],
        },
        shown,
        Text(""),
        Text(
            f"asyncio.wait_for takes {wait_for_turns()} turns of the loop on Python"
            f" {platform.python_version()}."
        ),
    )


# The bug of KIP-101, with its short schedule.


def schedule() -> Picture:
    """Show the short schedule, and what it does to t-1 with the bug and without it."""
    with_bug, without = kip101.play_short(kip101.WITH), kip101.play_short(kip101.WITHOUT)
    acts = [f"> {act}" for act in with_bug.result.acts]
    cut = with_bug.cut()
    assert cut is not None
    shown = Table("", "with the bug", "without", box=None)
    shown.add_row(
        f"{kip101.LOST_IN}: broker {_new_leader(with_bug)} cuts its log",
        f"{cut.before} → {cut.after}",
        "no",
    )
    shown.add_row("its high watermark then", str(cut.high_watermark), str(cut.high_watermark))
    shown.add_row("acked records", str(with_bug.result.acked), str(without.result.acked))
    shown.add_row("acked records that are lost", str(with_bug.lost()), str(without.lost()))
    return picture(
        {
            "lost": with_bug.lost(),
            "lost_without": without.lost(),
            "cut_from": cut.before,
            "cut_to": cut.after,
            "acts_left": len(with_bug.result.acts),
        },
        Text("\n".join(acts)),
        Text(""),
        shown,
    )


def _new_leader(future: kip101.Future) -> int:
    """Return the last broker that became leader of the partition that loses records."""
    leaders = [
        envelope.event.new_leader
        for envelope in future.trail.envelopes
        if isinstance(envelope.event, LeaderElected)
        and f"{envelope.event.topic}-{envelope.event.partition}" == kip101.LOST_IN
    ]
    return leaders[-1]


def _kip101_figure() -> graphviz.Digraph:
    """Draw the log of t-1 on broker 2 and broker 3, with the bug and without it."""
    with_bug = kip101.play_short(kip101.WITH)
    cut = with_bug.cut()
    assert cut is not None
    acked = cut.after + with_bug.lost()
    kept, again, lost = f"0–{cut.after - 1}", f"{cut.after}–{acked - 1}", "gone"
    follower = _new_leader(with_bug)
    rows: Rows = [
        ("", [("", GREY), ("acked", GREY)]),
        (f"leader {cut.leader}", [(kept, WHITE), (again, GREEN)]),
        (f"follower {follower} before", [(kept, WHITE), (again, GREEN)]),
        ("with the bug", [GAP, GAP]),
        (f"follower {follower} cuts", [(kept, WHITE), (lost, RED)]),
        (f"{cut.leader} dies, {follower} leads", [(kept, WHITE), (lost, RED)]),
        ("without the bug", [GAP, GAP]),
        (f"follower {follower} cuts nothing", [(kept, WHITE), (again, GREEN)]),
        (f"{cut.leader} dies, {follower} leads", [(kept, WHITE), (again, GREEN)]),
    ]
    return grid("kip101", f"The log of {kip101.LOST_IN}: one schedule, two futures", [], rows, 16)


#: The pictures of the script, by name.
DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "shells": shells,
    "loop": loop,
    "numbers": numbers,
    "schedule": schedule,
}
