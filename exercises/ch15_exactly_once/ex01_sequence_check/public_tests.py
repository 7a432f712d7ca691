"""Public tests of exercise 15-1. `kafka-edu lab check 15-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..sequence_rules import Answer, Producer

LAST: Final = 2**31 - 1
"""The largest sequence number."""


class Partition:
    """The learner's object for one producer, compared with the broker's own state."""

    def __init__(self, learner: Learner, end: int = 0) -> None:
        self._made = learner.make()
        self.right = Producer(end)

    def check(self, epoch: int, first: int, count: int = 1) -> Answer:
        """Compare the answer for this batch, and return it. Raises Mismatch."""
        expected = self.right.check(epoch, first, count)
        came = self._made.call("check", epoch, first, count)
        if came == expected and not (isinstance(came, tuple) and isinstance(came[1], bool)):
            return expected
        raise Mismatch(
            f"check({epoch}, {first}, {count})",
            expected,
            came,
            self._why(expected, epoch, first, count),
            drawing=self._drawing(),
            read="check",
        )

    def write(self, epoch: int, first: int, count: int = 1) -> None:
        """Write the batch without a check."""
        offset = self.right.written(epoch, first, count)
        self._made.call("written", epoch, first, count, offset)

    def send(self, epoch: int, first: int, count: int = 1) -> Answer:
        """Check a batch. If the answer is "write", write it. Return the answer. Raises Mismatch."""
        answer = self.check(epoch, first, count)
        if answer == "write":
            self.write(epoch, first, count)
        return answer

    def fence(self, epoch: int) -> None:
        """Raise the epoch, as the transaction coordinator does."""
        self.right.fence(epoch)
        self._made.call("fence", epoch)

    def _drawing(self) -> tuple[str, ...]:
        known = self.right.epoch
        if known is None:
            return ("nothing is known of this producer",)
        return (
            f"the known epoch is {known}",
            *(f"numbers {a} to {b} at offset {offset}" for a, b, offset in self.right.batches),
        )

    def _why(self, expected: Answer, epoch: int, first: int, count: int) -> str:
        known, batches = self.right.epoch, self.right.batches
        if known is None:
            return "nothing is known of this producer, so it may begin with any number"
        match expected:
            case ("duplicate", offset):
                last = (first + count - 1) % (LAST + 1)
                return f"the batch with the numbers {first} to {last} is at offset {offset}"
            case "INVALID_PRODUCER_EPOCH":
                return f"epoch {known} is known, and {epoch} is older"
        if epoch != known:
            return f"epoch {epoch} is new, and a new epoch begins at 0"
        if not batches:
            return f"epoch {known} was set by the coordinator, and begins at 0"
        follows = 0 if batches[-1][1] == LAST else batches[-1][1] + 1
        if expected == "write":
            return f"{batches[-1][1]} was the last number, and {follows} follows"
        return f"{follows} must come next, and none of the last five has these numbers"


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    one = Partition(learner, 40)
    one.send(0, 0, 3)
    one.check(0, 0, 3)
    one.check(0, 0, 2)
    one.check(0, 4)
    one.check(0, 3)
    one.check(1, 3)
    one.send(1, 0)
    one.check(0, 3)


def test_any_beginning(learner: Learner) -> None:
    """an unknown producer may begin with any sequence number"""
    for epoch, first in ((0, 0), (0, 17), (5, 900), (0, LAST)):
        one = Partition(learner, 100)
        one.check(epoch, first, 4)
        one.send(epoch, first, 4)
        one.check(epoch, first, 4)
        one.check(epoch, first, 5)


def test_five_batches(learner: Learner) -> None:
    """six batches are written and sent again: the first batch is no longer known"""
    one = Partition(learner, 7)
    sizes = (3, 1, 2, 5, 1, 4)
    firsts = [sum(sizes[:number]) for number in range(len(sizes))]
    for first, count in zip(firsts, sizes, strict=True):
        one.send(2, first, count)
    for first, count in zip(firsts, sizes, strict=True):
        one.check(2, first, count)
        one.check(2, first, count + 1)
        one.check(2, first + 1, count)
    one.check(2, sum(sizes) + 1)
    one.send(2, sum(sizes))
    one.check(2, firsts[1], sizes[1])
    one.check(2, firsts[2], sizes[2])


def test_epochs(learner: Learner) -> None:
    """a new epoch begins at 0, and then batches of the old epoch are refused"""
    one = Partition(learner)
    one.send(3, 0, 2)
    one.check(4, 2)
    one.check(4, 1)
    one.check(2, 2)
    one.check(2, 0, 2)
    one.send(4, 0, 2)
    one.check(3, 0, 2)
    one.check(3, 2)
    one.check(4, 0, 2)
    one.send(9, 0)
    one.check(9, 1)
    one.check(9, 2)


def test_fence(learner: Learner) -> None:
    """the coordinator raises the epoch of a known producer, and of an unknown producer"""
    one = Partition(learner, 50)
    one.send(0, 0, 3)
    one.fence(1)
    one.check(0, 3)
    one.check(0, 0, 3)
    one.check(1, 3)
    one.send(1, 0, 3)
    one.check(1, 0, 3)
    other = Partition(learner)
    other.fence(6)
    other.check(6, 4)
    other.check(5, 0)
    other.check(6, 0)


def test_a_marker_of_the_same_epoch(learner: Learner) -> None:
    """a marker with the known epoch changes nothing"""
    one = Partition(learner)
    one.send(1, 0, 3)
    one.fence(1)
    one.check(1, 0, 3)
    one.check(1, 0)
    one.check(1, 3)


def test_the_wrap(learner: Learner) -> None:
    """the numbers reach 2,147,483,647, and continue with 0"""
    one = Partition(learner, 9)
    one.send(0, LAST - 4, 3)
    one.check(0, 0)
    one.send(0, LAST - 1, 2)
    one.check(0, 1)
    one.check(0, LAST - 1, 2)
    one.send(0, 0, 2)
    one.check(0, LAST - 1, 2)
    other = Partition(learner)
    other.send(0, LAST - 1, 4)
    other.check(0, LAST - 1, 4)
    other.check(0, LAST - 1, 2)
    other.check(0, 0)
    other.send(0, 2, 3)
    other.check(0, 2, 3)


def test_random(learner: Learner, seed: int) -> None:
    """a producer that repeats, skips, and is replaced, three hundred times"""
    random = Random(f"sequence/{seed}")
    one = Partition(learner, random.randrange(1_000))
    epoch, following = 0, 0
    for _ in range(300):
        count = random.randint(1, 4)
        match random.random():
            case luck if luck < 0.5:
                if one.send(epoch, following, count) == "write":
                    following = (following + count) % (LAST + 1)
            case luck if luck < 0.8 and one.right.batches:
                first, last, _ = random.choice(one.right.batches)
                one.check(epoch, first, last - first + random.randint(1, 2))
            case luck if luck < 0.9:
                one.check(epoch + random.randint(-1, 1), following + random.randrange(3), count)
            case _:
                epoch, following = epoch + 1, 0
                if random.random() < 0.5:
                    one.fence(epoch)
