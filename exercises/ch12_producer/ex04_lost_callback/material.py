"""The run of exercise 12-4: with the starter's code, some callbacks are never called."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..callback_world import CallbackWorld, live
from .starter import Callbacks

LIMITS: Final = {"web-0": 1_000, "web-1": 4, "web-2": 2}
"""Partition → the most records that a broker takes in one batch."""
RECORDS: Final = 34
MOST_LOST: Final = 4


class Run(NamedTuple):
    """One complete run, and what the learner has to find."""

    events: tuple[str, ...]
    record: int
    """The first record whose callback was never called."""
    batch: int
    """The last batch that this record was in."""
    called: tuple[int, ...]
    """The records whose callbacks were called."""
    without: tuple[int, ...]
    """The records that have no callback."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    lines = [f"{number:>3}  {text}" for number, text in enumerate(run(seed).events, 1)]
    end = "All batches have their end, and flush() has returned. The program waits on."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which a few callbacks never come."""
    for number in count():
        world = CallbackWorld(Callbacks(), strict=False)
        live(world, Random(f"lost/{seed}/{number}"), LIMITS, RECORDS)
        lost = world.lost()
        if 1 <= len(lost) <= MOST_LOST:
            everyone = range(1, world.records + 1)
            return Run(
                tuple(world.events),
                lost[0],
                world.ends[lost[0]],
                tuple(world.called),
                tuple(record for record in everyone if record not in world.ends),
            )
    raise AssertionError("count() has no end")
