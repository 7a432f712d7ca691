"""Public tests of exercise 14-2. `kafka-edu lab check 14-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable
from random import Random

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..reset_rules import EARLIEST, LATEST, NONE, POLICIES, Answer, Place, ResetWorld, RightReset

A, B = "web-0", "web-1"
Make = Callable[[str], "Compared"]


class Compared:
    """An object of the learner's class. Each of its answers is compared with the right one."""

    def __init__(self, learner: Learner, policy: str) -> None:
        self._made: LearnerObject = learner.make(policy)
        self._right = RightReset(policy)
        self._story = [f"Reset({policy!r})"]

    def begin(self, partition: str, committed: int | None) -> Answer:
        """Compare where a partition begins. Raises Mismatch."""
        expected = self._right.begin(partition, committed)
        if committed is None:
            why = f"nothing is committed, so the policy {self._right.policy} decides"
        else:
            why = f"offset {committed} is committed. The policy is for those without an offset"
        return self._compare("begin", (partition, committed), expected, why)

    def asked(self, partition: str, place: Place) -> Answer:
        """Compare the answer when the program wants to read from `place`. Raises Mismatch."""
        expected = self._right.asked(partition, place)
        why = "the program has chosen this place, so the policy does not matter"
        return self._compare("asked", (partition, place), expected, why)

    def out_of_range(self, partition: str, offset: int) -> Answer:
        """Compare the answer for an offset that the log does not have. Raises Mismatch."""
        expected = self._right.out_of_range(partition, offset)
        why = f"the log has no offset {offset}, so the policy {self._right.policy} decides"
        return self._compare("out_of_range", (partition, offset), expected, why)

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer:
        """Compare the answer for a truncated log. Raises Mismatch."""
        expected = self._right.truncated(partition, offset, end)
        if end is None:
            why = f"the leader knows no end, so the policy {self._right.policy} decides"
        elif end >= offset:
            why = f"the log is the same up to {end}, and all that was read before {offset} is there"
        elif self._right.policy == NONE:
            why = "records that were read are gone, and with none the program has to know it"
        else:
            why = f"the log is the same up to {end}: the records after it were not read yet"
        return self._compare("truncated", (partition, offset, end), expected, why)

    def found(self, partition: str, place: Place, offset: int | None) -> Answer:
        """Compare the answer after the leader has found an offset. Raises Mismatch."""
        waits = self._right.last.get(partition)
        expected = self._right.found(partition, place, offset)
        if expected is None:
            why = (
                f"{partition} is gone, or was never there"
                if waits is None
                else f"{partition} does not wait for this place any more: its last was {waits}"
            )
        elif offset is None:
            why = "no record is as new as this time: the next one will be at the end of the log"
        else:
            why = f"{partition} waits for this place, and its offset is {offset}"
        return self._compare("found", (partition, place, offset), expected, why)

    def sought(self, partition: str, offset: int) -> None:
        """Call `sought`: the program has called seek()."""
        self._right.sought(partition, offset)
        self._made.call("sought", partition, offset)
        self._story.append(f"sought({partition!r}, {offset})")

    def gone(self, partition: str) -> None:
        """Call `gone`: the consumer does not have the partition any more."""
        self._right.gone(partition)
        self._made.call("gone", partition)
        self._story.append(f"gone({partition!r})")

    def _compare(
        self, method: str, arguments: tuple[object, ...], expected: Answer, why: str
    ) -> Answer:
        came = self._made.call(method, *arguments)
        call = f"{method}({', '.join(map(repr, arguments))})"
        if repr(came) != repr(expected):
            story = (self._story[0], *self._story[1:][-9:])
            raise Mismatch(call, expected, came, why, drawing=story, read=method)
        self._story.append(f"{call} → {expected}")
        return expected


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an object of the learner's class."""
    return lambda policy: Compared(learner, policy)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make(EARLIEST)
    assert made.begin(A, 70) == ("go", 70)
    assert made.out_of_range(A, 70) == ("look", EARLIEST)
    assert made.asked(A, 1_700_000_000_000) == ("look", 1_700_000_000_000)
    assert made.found(A, EARLIEST, 30) is None
    assert made.found(A, 1_700_000_000_000, None) == ("look", LATEST)
    assert made.found(A, LATEST, 95) == ("go", 95)
    assert made.truncated(A, 95, 90) == ("go", 90)
    assert make(NONE).begin(A, None) == ("fail",)


@pytest.mark.parametrize("policy", POLICIES)
def test_begin(make: Make, policy: str) -> None:
    """with a committed offset, with the offset 0, and without one"""
    made = make(policy)
    made.begin(A, 70)
    made.begin(B, 0)
    made.begin("web-2", None)


@pytest.mark.parametrize("policy", POLICIES)
def test_out_of_range(make: Make, policy: str) -> None:
    """offsets that are too old or too new, and the offset 0"""
    made = make(policy)
    made.begin(A, 70)
    for offset in (70, 0, 1_000_000):
        made.out_of_range(A, offset)


@pytest.mark.parametrize("policy", POLICIES)
def test_asked(make: Make, policy: str) -> None:
    """the program asks for the beginning, the end and a time, including the time 0"""
    made = make(policy)
    made.begin(A, 70)
    for place in (EARLIEST, LATEST, 1_700_000_000_000, 0):
        made.asked(A, place)
        made.found(A, place, 12)


@pytest.mark.parametrize("policy", POLICIES)
def test_truncated(make: Make, policy: str) -> None:
    """the leader's log differs from an offset before, at or after the position, or from 0 on"""
    made = make(policy)
    for end in (40, 69, 70, 71, 500, 0, None):
        made.begin(A, 70)
        made.truncated(A, 70, end)


def test_no_record_is_so_new(make: Make) -> None:
    """a time that is later than all records, and an answer of the leader with the offset 0"""
    for policy in POLICIES:
        made = make(policy)
        made.asked(A, 5_000)
        made.found(A, 5_000, None)
        made.found(A, LATEST, 0)


def test_answers_that_come_late(make: Make) -> None:
    """the leader answers an old question after a newer question was asked"""
    made = make(LATEST)
    made.begin(A, None)
    made.asked(A, EARLIEST)
    assert made.found(A, LATEST, 95) is None
    assert made.found(A, EARLIEST, 3) == ("go", 3)
    assert made.found(A, EARLIEST, 4) is None
    made.asked(A, 7_000)
    made.asked(A, 8_000)
    assert made.found(A, 7_000, None) is None
    assert made.found(A, 8_000, 50) == ("go", 50)


def test_an_answer_after_a_seek(make: Make) -> None:
    """the program calls seek() before the leader has answered"""
    made = make(EARLIEST)
    made.begin(A, None)
    made.sought(A, 12)
    assert made.found(A, EARLIEST, 3) is None
    made.out_of_range(A, 12)
    assert made.found(A, EARLIEST, 3) == ("go", 3)
    made.asked(A, LATEST)
    made.truncated(A, 12, 20)
    assert made.found(A, LATEST, 95) is None


def test_an_answer_after_an_error(make: Make) -> None:
    """with the policy none, the position becomes invalid before the leader has answered"""
    made = make(NONE)
    made.asked(A, EARLIEST)
    made.out_of_range(A, 12)
    assert made.found(A, EARLIEST, 3) is None
    made.asked(A, EARLIEST)
    made.begin(A, None)
    assert made.found(A, EARLIEST, 3) is None
    made.asked(A, EARLIEST)
    made.begin(A, 8)
    assert made.found(A, EARLIEST, 3) is None


def test_gone(make: Make) -> None:
    """a partition is revoked before the leader has answered, and comes back"""
    made = make(EARLIEST)
    made.begin(A, None)
    made.begin(B, None)
    made.gone(A)
    assert made.found(A, EARLIEST, 3) is None
    assert made.found(B, EARLIEST, 8) == ("go", 8)
    made.begin(A, None)
    assert made.found(A, EARLIEST, 4) == ("go", 4)
    made.gone(B)
    made.gone("web-9")


def test_any_log(make: Make, seed: int) -> None:
    """nine consumers; the logs that they read get records, lose old ones, and are truncated"""
    random = Random(f"logs/{seed}")
    for policy in POLICIES:
        for _ in range(3):
            ResetWorld(make(policy), random, random.randint(1, 4)).run(120)
