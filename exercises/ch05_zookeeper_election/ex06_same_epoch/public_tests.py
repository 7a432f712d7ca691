"""Public tests of exercise 05-6. `kafka-edu lab check 05-6` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..epoch_world import FIRST_EPOCH, BadOperationError, EpochWorld, RestlessError
from .material import Run, disturb, line_of, run

WANTED = "(number of the broker, number of the event that wrote the epoch again)"


class Asked:
    """A broker with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner, broker: int) -> None:
        self._made = learner.make(broker)

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        return self._made.call(what, *arguments)


class World:
    """Brokers with the learner's code. After each step, their epochs are checked."""

    def __init__(self, learner: Learner, brokers: int) -> None:
        self._brokers = brokers
        self._world = EpochWorld(lambda broker: Asked(learner, broker), brokers)

    def steps(self, random: Random, number: int) -> None:
        """Let the brokers do this number of steps. Raises Mismatch."""
        try:
            for _ in range(number):
                self._world.step(random)
        except BadOperationError as error:
            raise self._mismatch("an operation", str(error), "README.md has a table") from None
        self._look()

    def disturb(self, random: Random) -> None:
        """Delete /controller, or expire a broker's session, at random."""
        disturb(self._world, random)

    def expire(self, broker: int) -> None:
        """Expire the session of this broker."""
        self._world.expire(broker)

    def delete(self) -> None:
        """Delete /controller by hand."""
        self._world.delete_by_hand()

    def holder(self) -> int:
        """Return the id of the broker in /controller; 0 if there is no such znode."""
        return self._world.holder() or 0

    def first_epoch(self) -> None:
        """Check that the first controller has the epoch that follows the present one. Raises
        Mismatch.
        """
        first, wanted = self._world.led[0].epoch, FIRST_EPOCH + 1
        if first != wanted:
            raise self._mismatch(
                f"the first controller leads epoch {wanted}",
                f"it leads epoch {first}",
                f"/controller_epoch held {FIRST_EPOCH}, and each controller leads the next one",
            )

    def settle(self, random: Random) -> None:
        """Let the brokers work until each of them waits or is the controller. Check which broker is
        the controller. Raises Mismatch.
        """
        try:
            self._world.settle(random)
        except BadOperationError as error:
            raise self._mismatch("an operation", str(error), "README.md has a table") from None
        except RestlessError:
            raise self._mismatch(
                "all brokers wait or lead at last",
                "they never do",
                "a broker that finds another controller waits until the znode is deleted",
            ) from None
        self._look()
        holder, leaders = self._world.holder(), self._world.leaders()
        if holder is None:
            raise self._mismatch(
                "somebody stands in /controller",
                "nobody",
                "a broker that learns of the deletion runs",
            )
        newest = max(led.epoch for led in self._world.led) if self._world.led else 0
        if leaders != {holder: newest}:
            raise self._mismatch(
                f"broker {holder}, which stands in /controller, leads the newest epoch, and nobody"
                " else leads",
                f"broker → epoch: {leaders}; the newest epoch is {newest}",
                "brokers obey the newest epoch. No broker obeys a controller with an older one",
            )

    def _look(self) -> None:
        led = self._world.led
        for at, again in enumerate(led):
            for first in led[:at]:
                if first.epoch == again.epoch:
                    raise self._mismatch(
                        f"epoch {again.epoch} is led once",
                        f"broker {first.broker} led it, and then broker {again.broker}",
                        "an epoch says whose orders count. When two have the same one, both count",
                    )

    def _mismatch(self, expected: str, came: str, why: str) -> Mismatch:
        events = list(enumerate(self._world.events, 1))[-14:]
        return Mismatch(
            f"{self._brokers} brokers at a ZooKeeper",
            Words(expected),
            Words(came),
            why,
            drawing=tuple(line_of(number, event) for number, event in events),
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the broker that wrote an epoch again, and the event by which it did"""
    made = run(material)
    broker, event = came = two_numbers(learner, WANTED)
    if broker != made.again.broker:
        why = (
            f"broker {broker} wrote no epoch that another one had written before it"
            if 0 <= broker < 3
            else "the brokers have the numbers 0 to 2"
        )
        raise wrong_numbers(WANTED, came, why)
    if event != made.again.event:
        raise wrong_numbers(WANTED, came, _why_not(made, event))


def _why_not(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if not made.events[event - 1].writes:
        return f"event {event} writes no epoch: {made.events[event - 1].text}"
    if event == made.first.event:
        return f"event {event} wrote it the first time: broker {made.first.broker} did"
    return f"event {event} wrote epoch {made.events[event - 1].writes}, which was written once"


@pytest.mark.parametrize("brokers", [1, 2, 3])
def test_start(learner: Learner, seed: int, brokers: int) -> None:
    """several brokers start, and one of them becomes the controller with the next epoch"""
    random = Random(seed)
    for _ in range(5):
        world = World(learner, brokers)
        world.settle(random)
        world.first_epoch()


def test_quiet(learner: Learner, seed: int) -> None:
    """all brokers wait; then the controller's session expires, or /controller is deleted"""
    random = Random(f"quiet/{seed}")
    world = World(learner, 3)
    for number in range(6):
        world.settle(random)
        if number % 2:
            world.delete()
        else:
            world.expire(world.holder())
    world.settle(random)


def test_any_moment(learner: Learner, seed: int) -> None:
    """sessions expire and /controller is deleted at any moment, with two brokers"""
    random = Random(f"any/{seed}")
    for _ in range(60):
        world = World(learner, 2)
        for _ in range(3):
            world.steps(random, random.randint(1, 9))
            world.disturb(random)
        world.settle(random)


def test_three_at_any_moment(learner: Learner, seed: int) -> None:
    """sessions expire and /controller is deleted at any moment, with three brokers"""
    random = Random(f"three/{seed}")
    for _ in range(30):
        world = World(learner, 3)
        for _ in range(3):
            world.steps(random, random.randint(1, 12))
            world.disturb(random)
        world.settle(random)
