"""Public tests of exercise 05-5. `kafka-edu lab check 05-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..watcher_world import BadOperationError, RestlessError, WatcherWorld
from .material import Run, missed_by, run

WANTED = "(number of the broker, number of the event that it missed)"


class Asked:
    """A broker with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner, broker: int) -> None:
        self._made = learner.make(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        return self._made.call(what, *arguments)

    def knows(self) -> object:
        """Return the id of the broker that this broker believes to be the controller."""
        return self._made.call("knows")


class World:
    """Brokers with the learner's code. When all of them wait, they must know the controller."""

    def __init__(self, learner: Learner, brokers: int) -> None:
        self._brokers = brokers
        self._world = WatcherWorld(lambda broker: Asked(learner, broker), brokers)

    def steps(self, random: Random, number: int) -> None:
        """Let the brokers do this number of steps. Raises Mismatch."""
        try:
            for _ in range(number):
                self._world.step(random)
        except BadOperationError as error:
            raise self._mismatch("an operation", str(error), "README.md has a table") from None

    def delete(self) -> None:
        """Delete /controller by hand."""
        self._world.delete_by_hand()

    def settle(self, random: Random) -> None:
        """Let the brokers work until all wait. Check which broker each believes to be the
        controller. Raises Mismatch.
        """
        try:
            self._world.settle(random)
        except BadOperationError as error:
            raise self._mismatch("an operation", str(error), "README.md has a table") from None
        except RestlessError:
            raise self._mismatch(
                "all brokers wait at last",
                "they never do",
                "a watch wakes a broker when there is news. A broker that reads in a loop uses"
                " no watch, and costs ZooKeeper a read each time",
            ) from None
        office, beliefs = self._world.office, list(self._world.beliefs())
        if office < 0:
            raise self._mismatch(
                "somebody is the controller",
                "nobody",
                "a broker that finds no /controller creates it",
            )
        for broker, knows in enumerate(beliefs):
            if knows != office or isinstance(knows, bool):
                missed = missed_by(self._world.events, broker)
                raise self._mismatch(
                    f"broker {broker} knows that broker {office} is the controller",
                    f"it believes in {knows}",
                    f"it missed event {missed[0]}: no watch was set between the read and the watch"
                    if missed
                    else "/controller has changed since the broker read or created it, and no watch"
                    " will wake the broker",
                )

    def _mismatch(self, expected: str, came: str, why: str) -> Mismatch:
        events = list(enumerate(self._world.events, 1))[-10:]
        lines = tuple(
            f"{n:>3}  {'by hand ' if e.broker < 0 else f'broker {e.broker}'}  {e.text}"
            for n, e in events
        )
        return Mismatch(
            f"{self._brokers} brokers at a ZooKeeper",
            Words(expected),
            Words(came),
            why,
            drawing=lines,
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the broker that is wrong, and the event that it missed"""
    made = run(material)
    broker, event = came = two_numbers(learner, WANTED)
    if broker != made.found.broker:
        why = (
            f"broker {broker} knows at the end that broker {made.office} is the controller"
            if 0 <= broker < 3
            else "the brokers have the numbers 0 to 2"
        )
        raise wrong_numbers(WANTED, came, why)
    if event != made.found.event:
        raise wrong_numbers(WANTED, came, _why_not(made, event))


def _why_not(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if not made.events[event - 1].changes:
        return f"event {event} does not change /controller: {made.events[event - 1].text}"
    if event < made.found.event:
        return f"after event {event}, broker {made.found.broker} has read /controller again"
    return f"broker {made.found.broker} had missed a change before event {event} already"


def test_who_has_created_nothing(learner: Learner) -> None:
    """a broker that could not create /controller is not the controller"""
    made = learner.make(1)
    for what, arguments in (("begin", []), ("read", [None]), ("node_exists", [])):
        made.call(what, *arguments)
        came = made.call("knows")
        if came != -1:
            why = "it has read nothing, and created nothing: it knows of no controller"
            raise Mismatch(f"knows() of broker 1 after {what}", -1, came, why)


@pytest.mark.parametrize("brokers", [1, 2, 3])
def test_start(learner: Learner, seed: int, brokers: int) -> None:
    """several brokers start, and at the end each knows who the controller is"""
    random = Random(seed)
    for _ in range(5):
        World(learner, brokers).settle(random)


def test_deleted_when_all_wait(learner: Learner, seed: int) -> None:
    """/controller is deleted when all brokers wait"""
    random = Random(f"quiet/{seed}")
    world = World(learner, 3)
    for _ in range(5):
        world.settle(random)
        world.delete()
    world.settle(random)


def test_deleted_at_any_moment(learner: Learner, seed: int) -> None:
    """/controller is deleted at any moment, between any two operations"""
    random = Random(f"any/{seed}")
    for _ in range(25):
        world = World(learner, 2)
        for _ in range(2):
            world.steps(random, random.randint(1, 12))
            world.delete()
        world.settle(random)
