"""The run of exercise 15-4: with the starter's code, one transaction hangs."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..hanging_world import PRODUCERS, Event, HangingWorld
from .starter import Coordinator

TURNS: Final = 60
LATER: Final = 6
"""The number of batches that other producers write to the partition when the transaction hangs."""
LEAST: Final = 20
"""The least number of events before the transaction hangs."""


class Run(NamedTuple):
    """One complete run: its events, and what the learner has to find."""

    events: tuple[Event, ...]
    partition: int
    producer: int
    """The producer whose transaction stays open for ever."""
    by: int
    """The number of the event that wrote the first record of this transaction."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [f"{number:>3}  {event.text}" for number, event in enumerate(made.events, 1)]
    end = (
        f"All other transactions have ended. Readers of committed records stand still in partition"
        f" {made.partition}."
    )
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one transaction hangs."""
    for number in count():
        made = run_once(Random(f"hanging/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one transaction hangs at the
    end, with many batches after it.
    """
    world = HangingWorld(Coordinator)
    for _ in range(TURNS):
        world.go_on(random)
        if world.hanging():
            break
    hanging = world.hanging()
    if len(hanging) != 1 or len(world.events) < LEAST:
        return None
    [(number, producer, first)] = hanging
    if world.on_the_way[producer] or world.ongoing[producer]:
        return None
    others = [one for one in PRODUCERS if one != producer]
    for _ in range(LATER):
        other = random.choice(others)
        world.send(other, number)
        _finish(world, random.choice(others))
    for other in others:
        _finish(world, other)
    if [each[:2] for each in world.hanging()] != [(number, producer)]:
        return None
    return Run(tuple(world.events), number, producer, world.writer(number, first))


def _finish(world: HangingWorld, producer: int) -> None:
    """Let all batches of a producer arrive, and let it commit."""
    while world.on_the_way[producer]:
        world.arrive(producer)
    world.commit(producer)
