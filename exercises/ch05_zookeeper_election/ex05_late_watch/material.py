"""The run of exercise 05-5: three brokers with the starter's code, one of which misses a change."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..watcher_world import Event, WatcherWorld
from .starter import Watcher

BROKERS: Final = 3
DELETIONS: Final = 3


class Found(NamedTuple):
    """The broker and the event that the learner has to find in the run."""

    broker: int
    event: int
    """The number of the event that the broker missed. The first event is 1."""


class Run(NamedTuple):
    """One complete run: its events, what the learner has to find, and the last controller."""

    events: tuple[Event, ...]
    found: Found
    office: int


class Given:
    """A broker with the starter's code, as the simulated world calls it."""

    def __init__(self, broker: int) -> None:
        self._watcher = Watcher(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        return getattr(self._watcher, what)(*arguments)

    def knows(self) -> object:
        """Return the id of the broker that this broker believes to be the controller."""
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
    """Return the first run for this seed in which, at the end, exactly one broker is wrong about
    the controller, because it missed a change of /controller.
    """
    for number in count():
        made = run_once(Random(f"late/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one broker ends with a wrong
    belief about the controller.
    """
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
    """Return the numbers of the events that changed /controller after the broker's last read."""
    own = [(n, event) for n, event in enumerate(events, 1) if event.broker == broker]
    read = max((n for n, event in own if event.text.startswith(("reads", "creates"))), default=0)
    watch = max((n for n, event in own if event.text.startswith("watches")), default=0)
    return [n for n in range(read + 1, watch) if events[n - 1].changes]
