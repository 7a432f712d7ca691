"""The run of exercise 09-4: with the starter's rule a deleted key comes back."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..tombstone_world import Returned, TombstoneWorld
from .starter import Tombstones

TURNS: Final = 60
LEAST_EVENTS: Final = 16


class Run(NamedTuple):
    """One complete run: its events, and the key that came back."""

    events: tuple[str, ...]
    returned: Returned


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event}" for number, event in enumerate(made.events, 1)]
    end = f"The reader has {made.returned.key}. It was deleted, and the log has no trace of it."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one deleted key comes back."""
    for number in count():
        made = run_once(Random(f"tombstone/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run up to the moment when a deleted key is in a reader's table. Return None unless it
    is exactly one key, whose tombstone was removed by a pass of the cleaner.
    """
    world = TombstoneWorld(Tombstones().may_go)
    for _ in range(TURNS):
        world.go_on(random)
        if world.returned:
            break
    else:
        return None
    one = world.returned[0]
    if len(world.returned) > 1 or not one.removed_by or len(world.events) < LEAST_EVENTS:
        return None
    return Run(tuple(world.events), one)
