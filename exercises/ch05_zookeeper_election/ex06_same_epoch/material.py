"""The run of exercise 05-6: three of the starter's brokers, two of which lead the same epoch."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..epoch_world import EpochWorld, Event, Led
from .starter import Successor

BROKERS: Final = 3
DISTURBANCES: Final = 3


class Run(NamedTuple):
    """All of one run."""

    events: tuple[Event, ...]
    first: Led
    """The broker that wrote the epoch first, and led it."""
    again: Led
    """The broker that wrote and led it again. The learner has to find this one."""


class Given:
    """The starter's class, as the world asks it."""

    def __init__(self, broker: int) -> None:
        self._successor = Successor(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Return the next operation."""
        return getattr(self._successor, what)(*arguments)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    lines = [line_of(number, event) for number, event in enumerate(run(seed).events, 1)]
    return {"events.txt": "\n".join((*lines, "", "At the end all brokers wait or lead.")) + "\n"}


def line_of(number: int, event: Event) -> str:
    """Return an event as the file has it."""
    who = "by hand " if event.broker < 0 else f"broker {event.broker}"
    return f"{number:>3}  {who}  {event.text}"


def run(seed: int) -> Run:
    """Return the run that a seed gives: the first in which exactly one epoch is led twice."""
    for number in count():
        made = run_once(Random(f"epoch/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Return the run with these random numbers, or None if there is not one thing to find."""
    world = EpochWorld(Given, BROKERS)
    for _ in range(DISTURBANCES):
        for _ in range(random.randint(2, 14)):
            world.step(random)
        disturb(world, random)
    world.settle(random)
    twice = [
        (first, again)
        for at, again in enumerate(world.led)
        for first in world.led[:at]
        if first.epoch == again.epoch
    ]
    if len(twice) != 1 or twice[0][0].broker == twice[0][1].broker:
        return None
    first, again = sorted(twice[0], key=lambda led: led.event)
    return Run(tuple(world.events), first, again)


def disturb(world: EpochWorld, random: Random) -> None:
    """Let the session of a broker expire, mostly the holder's; or delete /controller by hand."""
    holder = world.holder()
    if random.random() < 0.25:
        world.delete_by_hand()
    elif holder is not None and random.random() < 0.7:
        world.expire(holder)
    else:
        world.expire(random.randrange(len(world.runners)))
