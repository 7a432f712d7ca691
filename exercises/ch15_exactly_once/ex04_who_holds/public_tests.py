"""Public tests of exercise 15-4. `kafka-edu lab check 15-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..hanging_world import PARTITIONS, PRODUCERS, BadAnswerError, HangingWorld
from .material import Run, run

WANTED: Final = "(producer, number of the event that wrote the first record of its transaction)"
LINES: Final = 14


class Asked:
    """A coordinator with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()

    def init(self) -> object:
        return self._made.call("init")

    def add(self, epoch: int, partition: int) -> object:
        return self._made.call("add", epoch, partition)

    def end(self, epoch: int) -> object:
        return self._made.call("end", epoch)

    def expire(self) -> object:
        return self._made.call("expire")


class World:
    """Three producers with the learner's coordinators. Each step is checked."""

    def __init__(self, learner: Learner) -> None:
        try:
            self.world = HangingWorld(lambda: Asked(learner))
        except BadAnswerError as error:
            raise _kind(error) from None

    def do(self, act: str, *arguments: int) -> None:
        """Do one step, and check the partitions. Raises Mismatch."""
        try:
            match act, arguments:
                case "start", (int(producer),):
                    self.world.start(producer)
                case "send", (int(producer), int(partition)):
                    self.world.send(producer, partition)
                case "arrive", (int(producer),):
                    self.world.arrive(producer)
                case "commit", (int(producer),):
                    self.world.commit(producer)
                case "expire", (int(producer),):
                    self.world.expire(producer)
                case _:
                    raise ValueError(f"there is no step {act!r} with {arguments}")
        except BadAnswerError as error:
            raise _kind(error) from None
        self.look()

    def go_on(self, random: Random, turns: int) -> None:
        """Do this number of random steps, and then let all transactions end. Raises Mismatch."""
        try:
            for _ in range(turns):
                self.world.go_on(random)
                self.look()
            self.world.settle()
        except BadAnswerError as error:
            raise _kind(error) from None
        self.look()
        self.all_stable()

    def look(self) -> None:
        """Check that no transaction hangs, and that no producer was refused without a reason."""
        world = self.world
        for number, producer, first in world.hanging():
            raise self._refusal(
                f"no transaction of producer {producer} is open in partition {number}",
                f"one is, from offset {first}",
                "the coordinator has ended this transaction, so no later marker will end it here",
            )
        for producer in world.fenced:
            raise self._refusal(
                f"producer {producer} goes on",
                "it is refused",
                "its transaction has not timed out, and no other producer has replaced it",
            )

    def all_stable(self) -> None:
        """Check that the last stable offset of each partition is its end. Raises Mismatch."""
        for number, partition in self.world.partitions.items():
            if partition.last_stable != partition.end:
                raise self._refusal(
                    f"the last stable offset of partition {number} is {partition.end}",
                    f"it is {partition.last_stable}",
                    "all transactions have ended",
                )

    def offsets(self, number: int, expected: int, why: str) -> None:
        """Check how many offsets a partition has. Raises Mismatch."""
        came = self.world.partitions[number].end
        if came != expected:
            raise self._refusal(f"partition {number} ends at {expected}", f"it ends at {came}", why)

    def _refusal(self, expected: str, came: str, why: str) -> Mismatch:
        events = list(enumerate(self.world.events, 1))[-LINES:]
        return Mismatch(
            "three producers and two partitions",
            Words(expected),
            Words(came),
            why,
            drawing=tuple(f"{number:>3}  {event.text}" for number, event in events),
        )


def _kind(error: BadAnswerError) -> Mismatch:
    wanted = Words("markers as (partition, epoch), or what README.md says")
    return Mismatch("a coordinator", wanted, Words(str(error)), "the world cannot go on with it")


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the holder of the LSO, and the event of its transaction's first record"""
    made = run(material)
    producer, event = came = two_numbers(learner, WANTED, ())
    if producer != made.producer:
        raise wrong_numbers(WANTED, came, _why_not_producer(producer))
    if event != made.by:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_producer(producer: int) -> str:
    if producer not in PRODUCERS:
        return "the producers are 1, 2 and 3"
    return f"each transaction of producer {producer} has a marker in each of its partitions"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    found = made.events[event - 1]
    if found.wrote is None:
        return f"event {event} writes no batch: {found.text}"
    if found.wrote[0] != made.partition:
        return f"event {event} writes to another partition than {made.partition}"
    return f"the transaction that hangs does not begin with event {event}: {found.text}"


def test_a_late_batch(learner: Learner) -> None:
    """a batch is in flight while its transaction times out"""
    world = World(learner)
    world.do("send", 1, 0)
    world.do("expire", 1)
    world.do("arrive", 1)
    world.do("send", 2, 0)
    world.do("arrive", 2)
    world.do("commit", 2)
    world.all_stable()


def test_a_producer_that_does_not_notice(learner: Learner) -> None:
    """the transaction times out, but the producer continues to write, and tries to commit"""
    world = World(learner)
    world.do("send", 3, 1)
    world.do("arrive", 3)
    world.do("expire", 3)
    world.do("send", 3, 1)
    world.do("arrive", 3)
    world.do("commit", 3)
    world.do("send", 3, 1)
    world.do("arrive", 3)
    world.do("commit", 3)
    world.all_stable()
    world.offsets(1, 4, "a batch, its abort marker, a batch of the next life, its commit marker")


def test_all_partitions(learner: Learner) -> None:
    """a transaction with batches in both partitions times out: each partition gets a marker"""
    world = World(learner)
    for number in PARTITIONS:
        world.do("send", 2, number)
    world.do("arrive", 2)
    world.do("expire", 2)
    world.do("arrive", 2)
    world.all_stable()
    world.offsets(0, 2, "a batch and its abort marker")
    world.offsets(1, 1, "the abort marker; the batch came later, and is refused")


def test_a_second_life(learner: Learner) -> None:
    """a producer restarts while its batch is in flight"""
    world = World(learner)
    world.do("send", 1, 0)
    world.do("start", 1)
    world.do("arrive", 1)
    world.do("send", 1, 0)
    world.do("arrive", 1)
    world.do("commit", 1)
    world.all_stable()
    world.offsets(0, 3, "the abort marker, a batch of the new life, and its commit marker")


def test_healthy_producers(learner: Learner) -> None:
    """nothing times out: no producer is refused, with any number of transactions"""
    world = World(learner)
    for turn in range(9):
        for producer in PRODUCERS:
            world.do("send", producer, turn % 2)
            world.do("arrive", producer)
            world.do("commit", producer)
    world.all_stable()
    world.offsets(0, 30, "15 batches and 15 markers")


def test_any_order(learner: Learner, seed: int) -> None:
    """twenty worlds, each with random steps"""
    random = Random(f"any/{seed}")
    for _ in range(20):
        World(learner).go_on(random, 50)
