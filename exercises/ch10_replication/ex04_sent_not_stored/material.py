"""The run of exercise 10-4: a leader with the starter's code loses one acknowledged record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..sent_world import Event, SentWorld
from .starter import Leader

TURNS: Final = 40


class Run(NamedTuple):
    """One complete run: its events, the acknowledged records, and what the learner has to find."""

    events: tuple[Event, ...]
    acked: tuple[int, ...]
    lost: int
    """The number of the record that was acknowledged but is lost."""
    by: int
    """The number of the event that acknowledged the lost record. The first event is 1."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = "Now the leader lacks one record that was acknowledged."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one acknowledged record is lost."""
    for number in count():
        made = run_once(Random(f"sent/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a random run, up to the moment when an acknowledged record is lost. Return None unless
    exactly one of four or more acknowledged records is lost, after two or more elections.
    """
    world = SentWorld(Leader)
    for _ in range(TURNS):
        world.go_on(random)
        lost = world.missing()
        if lost:
            break
    else:
        return None
    if len(lost) != 1 or len(world.acked) < 4 or world.epoch < 2:
        return None
    by = next(n for n, event in enumerate(world.events, 1) if lost[0] in event.acked)
    return Run(tuple(world.events), tuple(world.acked), lost[0], by)
