"""The run of exercise 07-4: followers with the starter's code lose one acknowledged record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..two_brokers import Event, TwoBrokers
from .starter import Follower

TURNS: Final = 26


class Run(NamedTuple):
    """One complete run: its events, the acknowledged records, and what the learner has to find."""

    events: tuple[Event, ...]
    acked: tuple[int, ...]
    lost: int
    """The number of the record that was acknowledged but is lost."""
    cut: int
    """The number of the event that first cut off the lost record. The first event is 1."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = "At the end the leader lacks one record that was acknowledged."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def joins(leo: int, hw: int, epoch_start: int) -> bool:
    """Return whether a follower may join the ISR, by the right rule."""
    return leo >= hw and leo >= epoch_start


def run(seed: int) -> Run:
    """Return the first run for this seed that ends with exactly one acknowledged record lost."""
    for number in count():
        made = run_once(Random(f"mark/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one record is lost."""
    world = TwoBrokers(Follower, joins)
    for _ in range(TURNS):
        world.go_on(random)
    world.settle()
    lost = world.missing()
    if len(lost) != 1 or len(world.acked) < 4:
        return None
    cut = next((n for n, event in enumerate(world.events, 1) if lost[0] in event.cut), 0)
    if not cut:
        return None
    return Run(tuple(world.events), tuple(world.acked), lost[0], cut)
