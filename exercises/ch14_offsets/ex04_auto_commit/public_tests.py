"""Public tests of exercise 14-4. `kafka-edu lab check 14-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..auto_commit_world import Answer, AutoCommitWorld, Offsets, RightAutoCommit
from .material import run

WANTED: Final = "(offset of the first record that is lost, ms of the commit that lost it)"
A, B = "web-0", "web-1"
Make = Callable[..., "Compared"]


class Compared:
    """An object of the learner's class. Each of its answers is compared with the right one."""

    def __init__(self, learner: Learner, interval_ms: int = 1_000, most: int = 3) -> None:
        self._made = learner.make(interval_ms, most)
        self._right = RightAutoCommit(interval_ms, most)
        self._story = [f"AutoCommit({interval_ms}, {most})"]

    def fetched(self, partition: str, offsets: Sequence[int]) -> None:
        """Call `fetched`: records are in the buffer."""
        self._right.fetched(partition, offsets)
        self._made.call("fetched", partition, list(offsets))
        self._story.append(f"fetched({partition!r}, {list(offsets)})")

    def poll(self, now_ms: int) -> Answer:
        """Compare the commit and the records of one poll(). Raises Mismatch."""
        right = self._right
        rest_ms, before = right.rest_ms(now_ms), dict(right.committed)
        offsets, records = expected = right.poll(now_ms)
        came = self._made.call("poll", now_ms)
        call = f"poll({now_ms})"
        if came != (offsets, tuple(records)):
            why = "the answer is a pair: a dict of offsets, and a list of records"
            match came:
                case (dict() as other, tuple()) if other != offsets:
                    why = self._why(offsets, other, before, rest_ms)
                case (dict(), tuple()):
                    why = f"the first {right.most} records of the buffer are returned, in its order"
            raise Mismatch(call, expected, came, why, drawing=self._shown(), read="poll")
        self._story.append(f"{call} → {expected}")
        return expected

    def _why(
        self,
        expected: Offsets,
        came: dict[object, object],
        before: Offsets,
        rest_ms: int,
    ) -> str:
        """Return in one sentence why the commit of a poll() is wrong."""
        if rest_ms > 0:
            return f"{rest_ms} ms of the interval are left"
        for one in sorted({*expected, *map(str, came)}):
            right, wrong = expected.get(one), came.get(one)
            if right == wrong:
                continue
            at = right if right is not None else before.get(one, -1)
            if isinstance(wrong, int) and wrong > at:
                return f"{one} {wrong} covers records that the program has not done yet"
            if right is None:
                return f"nothing of {one} is new since its last commit"
            if wrong is None:
                return f"the records of {one} before {right} are done, and not committed"
            return f"the records of {one} before {right} are done: earlier calls have returned them"
        raise AssertionError("both commits are the same")

    def revoked(self, partitions: Sequence[str]) -> Offsets:
        """Compare what is committed before partitions are given up. Raises Mismatch."""
        expected = self._right.revoked(partitions)
        came = self._made.call("revoked", list(partitions))
        call = f"revoked({list(partitions)})"
        if came != expected:
            why = "all that poll() has returned of them is done, and the buffer is not"
            raise Mismatch(call, expected, came, why, drawing=self._shown(), read="revoked")
        self._story.append(f"{call} → {expected}")
        return expected

    def _shown(self) -> tuple[str, ...]:
        return (self._story[0], *self._story[1:][-9:])


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an object of the learner's class."""
    return lambda *settings: Compared(learner, *settings)


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the record that was never handled, and the commit that lost it"""
    made = run(material)
    offset, commit_ms = came = two_numbers(learner, WANTED, (1_000, 3))
    if offset != made.offset:
        if offset in made.done:
            why = f"record {offset} is done"
        elif offset in made.lost:
            why = f"record {offset} is lost too, and it is not the first one"
        else:
            why = f"record {offset} was never returned, or there is no such record"
        raise wrong_numbers(WANTED, came, why)
    if commit_ms != made.commit_ms:
        if commit_ms in made.commits:
            why = f"the commit at {commit_ms} is right: all covered records had been handled"
        else:
            why = f"no commit was sent at {commit_ms} ms"
        raise wrong_numbers(WANTED, came, why)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make()
    made.fetched(A, [10, 11, 12, 13, 14])
    assert made.poll(0) == ({}, [(A, 10), (A, 11), (A, 12)])
    assert made.poll(1_200) == ({A: 13}, [(A, 13), (A, 14)])
    assert made.poll(1_300) == ({}, [])
    assert made.poll(2_200) == ({A: 15}, [])


def test_the_interval(make: Make) -> None:
    """the first poll() begins an interval; when it is over, the next poll() begins another one"""
    made = make(1_000, 1)
    made.fetched(A, range(20))
    for now_ms in (500, 501, 1_499, 1_500, 1_501, 2_499, 2_500, 9_000, 9_999, 10_000):
        made.poll(now_ms)


def test_nothing_new(make: Make) -> None:
    """the interval is over, and there are no new records, or only records of one partition"""
    made = make(100, 2)
    for now_ms in (0, 100, 200):
        made.poll(now_ms)
    made.fetched(A, [0, 1])
    made.fetched(B, [5, 6])
    for now_ms in (300, 400, 450, 500, 600, 700):
        made.poll(now_ms)
    made.fetched(B, [7])
    for now_ms in (750, 850, 950):
        made.poll(now_ms)


def test_each_poll_commits(make: Make) -> None:
    """an interval of 0 ms: each poll() commits what the previous poll() has returned"""
    made = make(0, 2)
    made.fetched(A, [0, 1, 2, 3])
    made.fetched(B, [7])
    assert made.poll(1) == ({}, [(A, 0), (A, 1)])
    assert made.poll(1) == ({A: 2}, [(A, 2), (A, 3)])
    assert made.poll(2) == ({A: 4}, [(B, 7)])
    assert made.poll(3) == ({B: 8}, [])


def test_a_full_buffer(make: Make) -> None:
    """poll() returns only a part of the buffer: only that part is committed"""
    made = make(100, 3)
    made.fetched(A, range(100))
    for now_ms in range(0, 800, 40):
        made.poll(now_ms)
    made.fetched(A, [250, 260])
    for now_ms in range(800, 1_400, 90):
        made.poll(now_ms)


def test_revoked(make: Make) -> None:
    """a partition is given up, and comes back at an earlier record"""
    made = make(1_000, 3)
    made.fetched(A, [0, 1, 2, 3])
    made.fetched(B, [9])
    made.poll(0)
    assert made.revoked([A]) == {A: 3}
    made.poll(1_000)
    assert made.revoked([B]) == {B: 10}
    made.fetched(A, [1, 2])
    made.poll(2_000)
    made.poll(3_000)
    assert made.revoked([A, B]) == {}


def test_any_life(make: Make, seed: int) -> None:
    """six consumers that are killed, and lose no record"""
    random = Random(f"auto/{seed}")
    for _ in range(6):
        interval_ms, most = random.choice((1, 100, 400)), random.randint(1, 6)
        world = AutoCommitWorld(random, {A: 0, B: 1_000}, 60)
        for number in range(3):
            world.begin(make(interval_ms, most), f"member {number}")
            for _ in range(random.randint(10, 60)):
                world.step(revoke=True)
            world.kill()
            assert world.lost() == []
