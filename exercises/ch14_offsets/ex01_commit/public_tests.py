"""Public tests of exercise 14-1. `kafka-edu lab check 14-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..commit_rules import INTERVAL_MS, CommitWorld, Offsets, RightCommits

A, B = "web-0", "web-1"
Make = Callable[..., "Compared"]


class Compared:
    """An object of the learner's class. Each of its answers is compared with the right one."""

    def __init__(self, learner: Learner, interval_ms: int = INTERVAL_MS) -> None:
        self._made: LearnerObject = learner.make(interval_ms)
        self._right = RightCommits(interval_ms)
        self._story = [f"Commits({interval_ms})"]

    def assigned(self, partitions: Sequence[str]) -> None:
        """Call `assigned`: the consumer has these partitions too."""
        self._right.assigned(partitions)
        self._tell("assigned", list(partitions))

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        """Call `polled`: poll() has returned these records."""
        self._right.polled(partition, offsets)
        self._tell("polled", partition, list(offsets))

    def done(self, partition: str, *offsets: int) -> None:
        """Call `done` for these records, one after the other."""
        for offset in offsets:
            self._right.done(partition, offset)
            self._tell("done", partition, offset)

    def answered(self, stored: bool) -> None:
        """Call `answered` with the result of the commit in flight."""
        self._right.answered(stored)
        self._tell("answered", stored)

    def lost(self, partitions: Sequence[str]) -> None:
        """Call `lost`: the consumer has lost partitions."""
        self._right.lost(partitions)
        self._tell("lost", list(partitions))

    def due(self, now_ms: int) -> Offsets:
        """Compare what is committed between two polls. Raises Mismatch."""
        right = self._right
        flying, rest_ms = right.in_flight, right.rest_ms(now_ms)
        before = {one: right.committable(one) for one in right.records}
        expected = right.due(now_ms)
        came = self._made.call("due", now_ms)
        if came != expected:
            if came and flying is not None:
                why = "a commit has no answer yet: the older one could be stored last"
            elif came and rest_ms:
                why = f"{rest_ms} ms of the interval are left"
            else:
                why = self._why(expected, came, before)
            raise self._mismatch(f"due({now_ms})", expected, came, why, "due")
        self._story.append(f"due({now_ms}) → {expected}")
        return expected

    def revoked(self, partitions: Sequence[str]) -> Offsets:
        """Compare what is committed before partitions are given up. Raises Mismatch."""
        right = self._right
        flying = dict(right.in_flight or {})
        before = {one: right.committable(one) for one in right.records}
        expected = right.revoked(partitions)
        came = self._made.call("revoked", list(partitions))
        call = f"revoked({list(partitions)})"
        if came != expected:
            why = self._why(expected, came, before)
            known = came if isinstance(came, dict) else {}
            if any(one in flying and one not in known for one in expected):
                why = "the commit in flight may fail, and this is the last chance"
            elif known.keys() - set(partitions):
                why = "a partition that the consumer keeps is not committed here"
            raise self._mismatch(call, expected, came, why, "revoked")
        self._story.append(f"{call} → {expected}")
        return expected

    def _why(self, expected: Offsets, came: object, before: dict[str, int | None]) -> str:
        """Return in one sentence why the first difference is wrong."""
        if not isinstance(came, dict):
            return "the answer is a dict from the partition to the offset"
        for one in sorted({*expected, *came}):
            wrong = came.get(one)
            if wrong == expected.get(one):
                continue
            if one not in before:
                return f"the consumer does not have {one}: another member may have it"
            if one not in expected:
                return f"{one} has not come further than what is stored, or than its first record"
            if wrong is None:
                return f"{one} has come further, up to {before[one]}"
            if wrong > expected[one]:
                return f"record {expected[one]} of {one} is not done: it would be lost in a crash"
            return f"all records of {one} before {expected[one]} are done"
        raise AssertionError("both answers are the same")

    def _tell(self, method: str, *arguments: object) -> None:
        self._made.call(method, *arguments)
        self._story.append(f"{method}({', '.join(map(repr, arguments))})")

    def _mismatch(self, call: str, expected: object, came: object, why: str, read: str) -> Mismatch:
        story = (self._story[0], *self._story[1:][-9:])
        return Mismatch(call, expected, came, why, drawing=story, read=read)


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an object of the learner's class."""
    return lambda *settings: Compared(learner, *settings)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make()
    made.assigned([A, B])
    made.polled(A, [4, 5, 6, 8, 9])
    made.due(0)
    made.done(A, 5, 4, 8)
    assert made.due(1_000) == {A: 6}
    made.done(A, 6, 9)
    assert made.due(2_500) == {}
    made.answered(True)
    assert made.due(2_500) == {A: 10}
    made.polled(B, [0, 1])
    made.done(B, 0)
    assert made.revoked([A, B]) == {A: 10, B: 1}
    made.assigned([A])
    made.answered(True)
    made.polled(A, [10])
    assert made.revoked([A]) == {}


def test_any_order_of_the_ends(make: Make) -> None:
    """records are finished in the order in which they came, in reverse order, and mixed"""
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)):
        made = make(0)
        made.assigned([A])
        made.polled(A, [0, 1, 2, 3])
        for now_ms, offset in enumerate(order):
            made.done(A, offset)
            if made.due(now_ms):
                made.answered(True)


def test_gaps(make: Make) -> None:
    """compaction has removed records at the beginning, between two polls and at the end"""
    made = make(0)
    made.assigned([A])
    made.polled(A, [7, 12])
    made.done(A, 7)
    assert made.due(1) == {A: 12}
    made.answered(True)
    made.done(A, 12)
    assert made.due(2) == {A: 13}
    made.answered(True)
    made.polled(A, [20])
    assert made.due(3) == {A: 20}


def test_the_interval(make: Make) -> None:
    """the interval begins with the first call of `due`, and again with each commit"""
    made = make(1_000)
    made.assigned([A])
    made.polled(A, [0, 1, 2, 3])
    made.done(A, 0)
    for now_ms in (5_000, 5_001, 5_999):
        assert made.due(now_ms) == {}
    made.due(6_000)
    made.answered(True)
    for now_ms in (6_001, 6_999, 7_000, 9_000):
        made.due(now_ms)
    made.done(A, 1)
    made.due(9_001)
    made.answered(True)
    made.done(A, 2)
    for now_ms in (9_002, 10_000, 10_001):
        made.due(now_ms)


def test_only_what_is_new(make: Make) -> None:
    """partitions without progress, without records, and with a hole at their front"""
    made = make(0)
    made.assigned([A, B, "web-2"])
    made.polled(A, [3, 4, 5])
    made.polled(B, [8, 9])
    made.done(A, 4, 5)
    assert made.due(1) == {}
    made.done(B, 8)
    assert made.due(2) == {B: 9}
    made.answered(True)
    assert made.due(3) == {}
    made.done(A, 3)
    assert made.due(4) == {A: 6}


def test_a_commit_that_fails(make: Make) -> None:
    """after a failed commit its offsets are due again, together with later progress"""
    made = make(1_000)
    made.assigned([A, B])
    made.polled(A, [0, 1, 2])
    made.polled(B, [0])
    made.due(0)
    made.done(A, 0)
    made.done(B, 0)
    made.due(1_000)
    made.done(A, 1)
    made.answered(False)
    assert made.due(1_999) == {}
    assert made.due(2_000) == {A: 2, B: 1}


def test_one_in_flight(make: Make) -> None:
    """an answer does not come for a long time"""
    made = make(1_000)
    made.assigned([A])
    made.polled(A, [0, 1, 2])
    made.due(0)
    made.done(A, 0)
    made.due(1_000)
    made.done(A, 1)
    for now_ms in (2_000, 9_000, 60_000):
        assert made.due(now_ms) == {}
    made.answered(True)
    assert made.due(60_000) == {A: 2}


def test_revoked_at_once(make: Make) -> None:
    """a rebalance waits neither for the interval nor for the commit in flight"""
    made = make(1_000)
    made.assigned([A, B])
    made.polled(A, [0, 1])
    made.polled(B, [0, 1])
    made.due(0)
    made.done(A, 0)
    made.done(B, 1)
    made.due(1_000)
    assert made.revoked([A, B]) == {A: 1}
    assert made.due(9_000) == {}
    made.answered(True)
    assert made.due(9_000) == {}


def test_one_of_two_is_revoked(make: Make) -> None:
    """the consumer keeps a partition (cooperative), and commits it when it is time"""
    made = make(1_000)
    made.assigned([A, B])
    made.polled(A, [0, 1])
    made.polled(B, [0, 1])
    made.due(0)
    made.done(A, 0)
    made.done(B, 0)
    assert made.revoked([B]) == {B: 1}
    made.done(B, 1)
    made.done(A, 1)
    assert made.due(999) == {}
    assert made.due(1_000) == {A: 2}
    made.assigned(["web-2"])
    made.answered(True)
    made.polled("web-2", [7])
    made.done("web-2", 7)
    assert made.due(2_000) == {"web-2": 8}


def test_lost(make: Make) -> None:
    """partitions are lost: their offsets are not committed any more"""
    made = make(0)
    made.assigned([A, B])
    made.polled(A, [0, 1])
    made.polled(B, [0, 1])
    made.done(A, 0)
    made.done(B, 0)
    made.lost([A])
    made.done(A, 1)
    assert made.due(1) == {B: 1}
    made.answered(True)
    made.lost([B])
    assert made.revoked([]) == {}


def test_it_comes_back(make: Make) -> None:
    """a partition comes back: it begins at another record, and the old answer does not count"""
    made = make(0)
    made.assigned([A])
    made.polled(A, [0, 1, 2, 3])
    made.done(A, 0, 1, 2, 3)
    assert made.due(1) == {A: 4}
    made.lost([A])
    made.assigned([A])
    made.polled(A, [2, 3])
    made.answered(True)
    made.done(A, 2)
    assert made.due(2) == {A: 3}
    made.answered(True)
    made.done(A, 3)
    assert made.revoked([A]) == {A: 4}
    made.assigned([A])
    assert made.revoked([A]) == {}


def test_it_was_reset(make: Make) -> None:
    """a partition comes back at an earlier record, because somebody has reset the group"""
    made = make(0)
    made.assigned([A])
    made.polled(A, [10, 11])
    made.done(A, 10, 11)
    made.due(1)
    made.answered(True)
    made.revoked([A])
    made.assigned([A])
    made.polled(A, [0, 1])
    made.done(A, 0)
    assert made.due(2) == {A: 1}
    made.answered(True)
    made.lost([A])
    made.assigned([A])
    made.polled(A, [7])
    assert made.due(3) == {}


def test_any_group(make: Make, seed: int) -> None:
    """groups whose members join, are expelled and are killed, and whose commits fail"""
    random = Random(f"group/{seed}")
    for _ in range(6):
        members = [make() for _ in range(random.randint(2, 4))]
        CommitWorld(members, random, random.randint(1, 4), 30).run(120)
