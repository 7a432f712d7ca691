"""The run of exercise 06-4: the starter's broker loses exactly one acknowledged record."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..stopping_world import Event, StoppingWorld, Written
from .starter import Stopping

DISKS: Final = ("a", "b")
FIRST: Final = 3
"""The clients do at least this number of steps before the broker begins to stop."""


class Run(NamedTuple):
    """One complete run: its events, the lost record, and the flush that came too early."""

    events: tuple[Event, ...]
    lost: Written
    flushed: int
    """The number of the event that flushed the record's disk too early. The first event is 1."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = "At the next start one record is missing that was acknowledged."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed that ends with exactly one acknowledged record lost."""
    for number in count():
        made = run_once(Random(f"stopping/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one record is lost."""
    world = StoppingWorld(Stopping(DISKS), DISKS)
    for _ in range(FIRST + random.randint(0, 3)):
        world.client(random)
    world.run(random)
    lost = world.lost()
    if len(lost) != 1 or sum(event.acked > 0 for event in world.events) < FIRST:
        return None
    return Run(tuple(world.events), lost[0], world.last_flush(lost[0].disk))
