"""The run of exercise 06-5: one answer of the starter's handler leaves out an offline partition."""

from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..handler_world import Answer, Event, HandlerWorld, Row
from .starter import Handler

BROKERS: Final = 3
PARTITIONS: Final = 6
TURNS: Final = 7


class Run(NamedTuple):
    """One complete run: its partitions and events, and what the learner has to find."""

    rows: tuple[Row, ...]
    """The state of the partitions at the beginning of the run."""
    events: tuple[Event, ...]
    answer: int
    """The number of the event with the wrong answer. The first event is 1."""
    partition: int


def given(broker: int, rows: Sequence[Row], live: Sequence[int]) -> Answer:
    """Return the answer of the starter's handler."""
    moved, remaining, offline = Handler().let_go(broker, rows, live)
    return tuple(moved), tuple(remaining), tuple(offline)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    rows = [f"     {row.name}  replicas {', '.join(map(str, row.replicas))}" for row in made.rows]
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    head = "At the beginning all replicas are in sync, and the first of each leads."
    return {"events.txt": "\n".join((head, *rows, "", *lines)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one answer leaves out an offline
    partition.
    """
    for number in count():
        made = run_once(Random(f"success/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one answer leaves out one
    partition.
    """
    world = HandlerWorld(random, BROKERS, PARTITIONS)
    rows = tuple(world.rows)
    for _ in range(TURNS):
        world.go_on(given)
    lies = [(n, e.hidden) for n, e in enumerate(world.events, 1) if e.hidden]
    if len(lies) != 1 or len(lies[0][1]) != 1:
        return None
    [(answer, [name])] = lies
    return Run(rows, tuple(world.events), answer, int(name.rpartition("-")[2]))
