"""Hidden tests of exercise 03-4: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random
from typing import TYPE_CHECKING, TypeVar

from kafka_edu.learner.learner import Learner

from .public_tests import Threads

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")
ORDERS = 15


class Visits(Random):
    """Chooses which thread does the next step. Again and again, thread 0 does a few steps, and then
    a different thread does all of its steps.
    """

    def __init__(self, first: int, every: int) -> None:
        super().__init__(0)
        self._every = every
        self._due = first
        self._steps = 0
        self._visitor: object = None

    def choice(self, seq: "SupportsLenAndGetItem[T]") -> T:
        """Return the thread that does the next step."""
        left = [seq[at] for at in range(len(seq))]
        if self._visitor in left:
            return next(one for one in left if one == self._visitor)
        others = [one for one in left if one != 0]
        if others and (len(others) == len(left) or self._steps >= self._due):
            self._due = self._steps + self._every
            self._visitor = others[0]
            return others[0]
        self._steps += 1
        return left[0]


def test_news_all_the_time(learner: Learner) -> None:
    """events come again and again while a thread has the lock, and no event is lost"""
    for size in range(3, 8):
        keys = [f"web-{number}" for number in range(size)]
        threads = Threads(learner, [(1, keys)], watched=True)
        for key in keys:
            threads.event(key)
        for every in range(3, 8):
            for first in range(4, 9):
                threads.hold_in(Visits(first, every))


def test_event_without_news(learner: Learner) -> None:
    """no order of two events loses the wake-up if one of the events makes no key ready"""
    threads = Threads(learner, [(1, ["web-0"])], watched=True)
    threads.event("web-0").event("web-0", ready=False).hold()


def test_many_operations(learner: Learner, seed: int) -> None:
    """random orders of requests for five operations, and of the events of their keys"""
    random = Random(f"operations/{seed}")
    keys = ("web-0", "web-1", "pay-0")
    for _ in range(ORDERS):
        waits_for = [(n, random.sample(keys, random.randint(1, 3))) for n in range(1, 6)]
        threads = Threads(learner, waits_for, watched=False)
        for number, _ in waits_for:
            threads.request(number)
        for key in keys:
            threads.event(key)
        threads.hold_in(random)
