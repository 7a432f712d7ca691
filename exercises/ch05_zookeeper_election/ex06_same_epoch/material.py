"""The run of exercise 05-6: three brokers with the starter's code. Two of them are the controller
with the same epoch.
"""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..epoch_world import EpochWorld, Event, Led
from .starter import Successor

BROKERS: Final = 3
DISTURBANCES: Final = 3


class Run(NamedTuple):
    """One complete run: its events, and the two brokers that led the same epoch."""

    events: tuple[Event, ...]
    first: Led
    """The broker that first wrote the epoch, and was the controller with it."""
    again: Led
    """The broker that wrote the same epoch a second time. The learner has to find this broker."""


class Given:
    """A broker with the starter's code, as the simulated world calls it."""

    def __init__(self, broker: int) -> None:
        self._successor = Successor(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        return getattr(self._successor, what)(*arguments)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    lines = [line_of(number, event) for number, event in enumerate(run(seed).events, 1)]
    return {"events.txt": "\n".join((*lines, "", "At the end all brokers wait or lead.")) + "\n"}


def line_of(number: int, event: Event) -> str:
    """Return the line of events.txt that shows this event."""
    who = "by hand " if event.broker < 0 else f"broker {event.broker}"
    return f"{number:>3}  {who}  {event.text}"


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one epoch belongs to two controllers."""
    for number in count():
        made = run_once(Random(f"epoch/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one epoch belongs to two
    controllers.
    """
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
    """Make a random disturbance: delete /controller, or expire a session, mostly the session of the
    controller.
    """
    holder = world.holder()
    if random.random() < 0.25:
        world.delete_by_hand()
    elif holder is not None and random.random() < 0.7:
        world.expire(holder)
    else:
        world.expire(random.randrange(len(world.runners)))
