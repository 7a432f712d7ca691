"""The run of exercise 13-6: with the starter's code, two members read one partition."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..handover_world import HandoverWorld, happen
from .starter import Handover

NAMES: Final = ("a", "b", "c")
LEAST: Final = 5
"""The earliest generation in which a partition may have two readers."""
MOST: Final = 14
AFTERWARDS: Final = 2
"""The least number of generations that follow."""


class Run(NamedTuple):
    """One complete run, and what the learner has to find."""

    events: tuple[str, ...]
    generation: int
    partition: int
    generations: int
    """How many generations the run has."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    return {
        "events.txt": "\n".join(("What each member has, and what it gets", "", *made.events, ""))
    }


def run(seed: int) -> Run:
    """Return the seed's first run with two readers of a partition, in generation LEAST or later."""
    for number in count():
        made = _run_once(Random(f"two readers/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _run_once(random: Random) -> Run | None:
    """Let members come, go and miss answers. Return None unless the run fits the exercise."""
    world = HandoverWorld(Handover(), random.randint(5, 8))
    while not world.shared and world.generation < MOST:
        happen(world, random, NAMES)
    if not world.shared or world.shared[0][0] < LEAST:
        return None
    generation, partition = world.shared[0]
    if world.generation < generation + AFTERWARDS:
        happen(world, random, NAMES)
    return Run(tuple(world.events), generation, partition, world.generation)
