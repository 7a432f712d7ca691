"""The run of exercise 08-4: a proxy with the starter's code answers with a stale coordinator."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..stale_world import Event, StaleWorld
from .starter import Coordinators

TURNS: Final = 40
MORE: Final = 4
"""The number of events in the run that follow the wrong answer."""


class Run(NamedTuple):
    """One complete run: its events, and the two numbers that the learner has to find."""

    events: tuple[Event, ...]
    wrong: int
    """The number of the event with the first wrong answer. The first event is 1."""
    copy: int
    """The number of the event with the copy that made this answer stale."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(run(seed).events, 1)]
    end = "Some consumers hear NOT_COORDINATOR (16), ask again, and hear it again."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed that has its first wrong answer in the events 10 to 24."""
    for number in count():
        made = _run_once(Random(f"stale/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def _run_once(random: Random) -> Run | None:
    world = StaleWorld(Coordinators().find)
    wrong = 0
    for _ in range(TURNS):
        world.go_on(random)
        if not wrong and world.events[-1].answer != world.events[-1].right:
            wrong = len(world.events)
        if wrong and len(world.events) >= wrong + MORE:
            break
    if not 10 <= wrong <= 24 or len(world.events) < wrong + MORE:
        return None
    return Run(tuple(world.events), wrong, world.events[wrong - 1].since)
