"""Public tests of exercise 13-5. `kafka-edu lab check 13-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..storm_world import MEMBERS, PATTERN, StormWorld, WrongAnswerError, happen
from .material import run

WANTED: Final = "(number of the line, number of the member)"
LINES: Final = 8
A, B, ORDERS = ("web-a", 3), ("web-b", 2), ("orders", 1)


class Asked:
    """A watch with the learner's code."""

    def __init__(self, learner: Learner, pattern: str) -> None:
        self._made = learner.make(pattern)

    def sees(self, metadata: Sequence[tuple[str, int]]) -> object:
        """Return why the member joins again."""
        return self._made.call("sees", [list(row) for row in metadata])

    def joins(self) -> object:
        """Return the topics that the member sends when it joins."""
        return self._made.call("joins")

    def assigned(self, leads: bool) -> object:
        """Call `assigned`: the rebalance is over."""
        return self._made.call("assigned", leads)


class World:
    """A group with the learner's code. Each answer is checked."""

    def __init__(
        self, learner: Learner, *topics: tuple[str, int], random: Random | None = None
    ) -> None:
        self.events: list[str] = []
        self._random = random or Random(0)
        watches = [Asked(learner, PATTERN) for _ in range(MEMBERS)]
        try:
            self.world = StormWorld(watches, dict(topics), self._random, strict=True)
        except WrongAnswerError as error:
            raise _mismatch(error, ()) from None

    def metadata(self, member: int, *rows: tuple[str, int]) -> None:
        """Let a member see this metadata. Raises Mismatch."""
        try:
            self.world.metadata(member, list(rows))
        except WrongAnswerError as error:
            raise _mismatch(error, self.world.events) from None

    def happen(self, steps: int) -> None:
        """Let something happen at random. Raises Mismatch."""
        try:
            happen(self.world, self._random, steps)
        except WrongAnswerError as error:
            raise _mismatch(error, self.world.events) from None


def _mismatch(error: WrongAnswerError, events: Sequence[str]) -> Mismatch:
    lines = list(enumerate(events, 1))[-LINES:]
    drawing = tuple(f"{number:>3}  {text}" for number, text in lines)
    return Mismatch(error.call, error.expected, error.came, error.why, drawing=drawing)


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the line of the first needless join, and its member"""
    made = run(material)
    line, member = came = two_numbers(learner, WANTED, (PATTERN,))
    if line != made.line:
        if line in made.rightly:
            why = f"at line {line} the member has to join again: compare what it had and sees"
        elif not 1 <= line <= len(made.events):
            why = f"events.txt has the lines 1 to {len(made.events)}"
        elif "joins again" not in made.events[line - 1]:
            why = f"in line {line} no member joins again"
        else:
            why = f"line {line} is needless too, but it is not the first one"
        raise wrong_numbers(WANTED, came, why)
    if member != made.member:
        raise wrong_numbers(WANTED, came, f"line {line} says which member joins again")


def test_another_order(learner: Learner) -> None:
    """the same topics in a different order: no member joins again"""
    world = World(learner, A, B, ORDERS)
    for rows in ((A, B, ORDERS), (B, A, ORDERS), (ORDERS, B, A), (A, ORDERS, B)):
        for member in (1, 2, 3):
            world.metadata(member, *rows)


def test_a_new_topic(learner: Learner) -> None:
    """a new topic matches the pattern, and a second new topic does not"""
    world = World(learner, A, ORDERS)
    world.metadata(2, A, ORDERS, ("clicks", 4))
    world.metadata(2, B, A, ORDERS)
    world.metadata(2, A, B, ORDERS)
    world.metadata(3, A, ORDERS, B)
    world.metadata(1, B, ORDERS, A)
    world.metadata(1, A, ORDERS, B)


def test_a_topic_goes(learner: Learner) -> None:
    """a topic is deleted, and comes back"""
    world = World(learner, A, B)
    world.metadata(3, A)
    world.metadata(3, A)
    world.metadata(3, B, A)
    world.metadata(3)


def test_another_topic_in_its_place(learner: Learner) -> None:
    """as many topics as before, but one topic has been replaced by a new topic"""
    world = World(learner, A, B)
    world.metadata(2, A, ("web-c", 2))


def test_partitions(learner: Learner) -> None:
    """a topic gets partitions: the leader alone joins again"""
    world = World(learner, A, B, ORDERS)
    for member in (2, 3, 1):
        world.metadata(member, B, ("web-a", 5), ORDERS)
    world.metadata(1, ("web-a", 5), B, ORDERS)
    world.metadata(1, ("web-a", 5), B, ("orders", 9))


def test_another_leader(learner: Learner) -> None:
    """another member leads: only the new leader compares the numbers of partitions"""
    world = World(learner, A, B)
    world.world.lead(2)
    world.metadata(1, ("web-a", 5), B)
    world.metadata(2, B, ("web-a", 5))
    world.metadata(2, ("web-a", 5), B)


def test_the_whole_name(learner: Learner) -> None:
    """a topic whose name has the pattern in its middle does not match"""
    world = World(learner, A)
    world.metadata(1, A, ("old-web-a", 1))
    world.metadata(2, ("web", 2), A)


def test_groups(learner: Learner, seed: int) -> None:
    """twelve groups whose topics come, go and grow"""
    random = Random(f"groups/{seed}")
    for _ in range(12):
        World(learner, A, B, ORDERS, random=random).happen(60)
