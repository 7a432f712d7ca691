"""The run that exercise 09-7 shows: with the starter's index, one reader misses its record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..index_world import INTERVALS, IndexWorld, Read
from .starter import SparseIndex

TURNS: Final = 36
LEAST_READS: Final = 9
LEAST_SEGMENTS: Final = 2
LEAST_ENTRIES: Final = 4


class Run(NamedTuple):
    """One complete run: its events, all look-ups, and the look-up that missed its record."""

    interval: int
    events: tuple[str, ...]
    entries: frozenset[int]
    """The numbers of the events that added an entry. The first event is 1."""
    reads: tuple[Read, ...]
    missed: Read


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    begin = f"index.interval.bytes is {made.interval}. The log is a copy of a compacted one."
    lines = [f"{number:>3}  {event}" for number, event in enumerate(made.events, 1)]
    end = "One reader did not get the record that it wanted. The log has that record."
    return {"events.txt": "\n".join((begin, "", *lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one reader misses its record."""
    for number in count():
        made = run_once(Random(f"one-off/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run. Return None unless exactly one reader misses its record.

    A second reader must have wanted an offset in a gap: it rightly got the record after the gap.
    And an index entry must have led a reader to the right batch.
    """
    interval = random.choice(INTERVALS)
    world = IndexWorld(SparseIndex, interval)
    for _ in range(TURNS):
        world.go_on(random)
    missed = [read for read in world.reads if read.missed]
    others = [read for read in world.reads if not read.missed]
    in_gaps = any(read.got != read.wanted for read in others)
    by_an_entry = any(read.used for read in others)
    if len(missed) != 1 or not in_gaps or not by_an_entry or len(world.reads) < LEAST_READS:
        return None
    if len(world.segments) < LEAST_SEGMENTS or len(world.entries) < LEAST_ENTRIES:
        return None
    return Run(
        interval=interval,
        events=tuple(world.events),
        entries=frozenset(world.entries),
        reads=tuple(world.reads),
        missed=missed[0],
    )
