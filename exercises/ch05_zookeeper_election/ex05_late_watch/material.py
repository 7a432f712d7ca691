"""The run of exercise 05-5: three of the starter's brokers, one of which misses a change."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..watcher_world import Event, WatcherWorld
from .starter import Watcher

BROKERS: Final = 3
DELETIONS: Final = 3


class Found(NamedTuple):
    """The facts to be found in the run."""

    broker: int
    event: int
    """The number of the event that it missed, from 1."""


class Run(NamedTuple):
    """All of one run."""

    events: tuple[Event, ...]
    found: Found
    office: int


class Given:
    """The starter's class, as the world asks it."""

    def __init__(self, broker: int) -> None:
        self._watcher = Watcher(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Return the next operation."""
        return getattr(self._watcher, what)(*arguments)

    def knows(self) -> object:
        """Return who the controller is, as the broker believes."""
        return self._watcher.knows()


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    made = run(seed)
    lines = [
        f"{number:>3}  {'by hand ' if event.broker < 0 else f'broker {event.broker}'}  {event.text}"
        for number, event in enumerate(made.events, 1)
    ]
    end = f"At the end broker {made.office} stands in /controller, and all brokers wait."
    return {"events.txt": "\n".join((*lines, "", end)) + "\n"}


def run(seed: int) -> Run:
    """Return the run that a seed gives: the first at whose end exactly one broker believes
    something wrong, because it missed a change.
    """
    for number in count():
        made = run_once(Random(f"late/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Return the run with these random numbers, or None if there is not one thing to find."""
    world = WatcherWorld(Given, BROKERS)
    for _ in range(DELETIONS):
        for _ in range(random.randint(3, 18)):
            world.step(random)
        world.delete_by_hand()
    world.settle(random)
    wrong = [broker for broker, knows in enumerate(world.beliefs()) if knows != world.office]
    if len(wrong) != 1 or world.office < 0:
        return None
    missed = missed_by(world.events, wrong[0])
    if not missed:
        return None
    return Run(tuple(world.events), Found(wrong[0], missed[0]), world.office)


def missed_by(events: list[Event], broker: int) -> list[int]:
    """Return the numbers of the changes between a broker's last read and its last watch."""
    own = [(n, event) for n, event in enumerate(events, 1) if event.broker == broker]
    read = max((n for n, event in own if event.text.startswith(("reads", "creates"))), default=0)
    watch = max((n for n, event in own if event.text.startswith("watches")), default=0)
    return [n for n in range(read + 1, watch) if events[n - 1].changes]
