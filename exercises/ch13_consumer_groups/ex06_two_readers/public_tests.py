"""Public tests of exercise 13-6. `kafka-edu lab check 13-6` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..handover_world import HandoverWorld, Row, happen, right
from .material import run

WANTED: Final = "(number of the generation, number of the partition)"
LINES: Final = 9


class Asked:
    """The learner's class in the leader of a group. Each answer is checked."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self.world: HandoverWorld | None = None

    def assign(self, members: Sequence[Row]) -> Mapping[str, Sequence[int]]:
        """Return the learner's answer, which is right. Raises Mismatch if it is wrong."""
        came = self._made.call(
            "assign", [[row.member, [*row.has], [*row.wanted]] for row in members]
        )
        expected = right(members)
        drawing = [
            f"{row.member} has {[*row.has]}, and shall have {[*row.wanted]}" for row in members
        ]
        before = self.world.events[-LINES:] if self.world is not None else []
        if not isinstance(came, dict) or came.keys() != expected.keys():
            raise Mismatch("assign(…)", Words("a dict with every member"), came, "that is its form")
        for row in members:
            has = came[row.member]
            if not isinstance(has, list) or sorted(has) != sorted(expected[row.member]):
                raise Mismatch(
                    f"assign(…), and member {row.member}",
                    expected[row.member],
                    has,
                    _why(row, members, has),
                    drawing=(*before, *drawing),
                    read="assign",
                )
        return expected


def _why(row: Row, rows: Sequence[Row], came: object) -> str:
    for one in came if isinstance(came, list) else ():
        others = [other.member for other in rows if one in other.has and other != row]
        if others:
            return f"{others[0]} reads partition {one} still, so two members would"
        if one not in row.wanted:
            return f"{row.member} must not have partition {one} in the end"
    return "a partition without an owner is given at once: otherwise no member reads it"


def play(learner: Learner, partitions: int) -> HandoverWorld:
    """Return a group with the learner's class."""
    asked = Asked(learner)
    asked.world = HandoverWorld(asked, partitions)
    return asked.world


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the generation, and the partition with two readers"""
    made = run(material)
    generation, partition = came = two_numbers(learner, WANTED, ())
    if generation != made.generation:
        if not 1 <= generation <= made.generations:
            why = f"events.txt has the generations 1 to {made.generations}"
        elif generation < made.generation:
            why = f"in generation {generation} no member gets a partition that another member has"
        else:
            why = f"that is too late: there is one before generation {generation}"
        raise wrong_numbers(WANTED, came, why)
    if partition != made.partition:
        why = f"compare the owned and the given partitions in generation {generation}"
        raise wrong_numbers(WANTED, came, why)


def test_missed(learner: Learner) -> None:
    """the old member misses the answer, and still reads everything"""
    world = play(learner, 4)
    world.reads["a"] = set()
    world.settle()
    world.reads["b"] = set()
    world.rebalance(missing=["a"])
    world.rebalance(missing=["a"])
    world.settle()


def test_both_miss(learner: Learner) -> None:
    """both members miss the answer: the next rebalance begins in the same state"""
    world = play(learner, 5)
    world.reads |= {"a": set(), "b": set()}
    world.settle()
    world.reads["c"] = set()
    world.rebalance(missing=["a", "b", "c"])
    world.rebalance(missing=["c"])
    world.settle()


def test_handed_over(learner: Learner) -> None:
    """nobody misses an answer: a given-up partition gets its new member in the next generation"""
    world = play(learner, 6)
    for name in "abc":
        world.reads[name] = set()
        world.settle()


def test_gone(learner: Learner) -> None:
    """a member is gone: its partitions are free at once"""
    world = play(learner, 6)
    world.reads |= {"a": set(), "b": set(), "c": set()}
    world.settle()
    del world.reads["b"]
    world.settle()


def test_the_newcomer_misses(learner: Learner) -> None:
    """the newcomer misses the answer with its partitions: the next answer has them again"""
    world = play(learner, 4)
    world.reads["a"] = set()
    world.settle()
    world.reads["b"] = set()
    world.rebalance()
    world.rebalance(missing=["b"])
    world.settle()


def test_another_leader(learner: Learner) -> None:
    """another member leads: its class has never seen this group"""
    rows = [Row("a", (0, 1, 2, 3), (0, 1)), Row("b", (), (2, 3))]
    Asked(learner).assign(rows)
    Asked(learner).assign([Row("a", (0, 1), (0, 1)), Row("b", (), (2, 3))])


def test_groups(learner: Learner, seed: int) -> None:
    """twenty groups whose members come and go, and miss answers"""
    random = Random(f"handover/{seed}")
    for _ in range(20):
        world = play(learner, random.randint(1, 9))
        for _ in range(8):
            happen(world, random, "abcd")
