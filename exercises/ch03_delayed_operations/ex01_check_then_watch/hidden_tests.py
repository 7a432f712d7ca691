"""Hidden tests of exercise 03-1: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random
from typing import TYPE_CHECKING, TypeVar

from kafka_edu.learner.learner import Learner

from .. import check_world as rules
from .public_tests import Fault, Threads

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")
FAULTS: tuple[tuple[Fault, str, str], ...] = (
    (
        rules.lost_wake_up,
        "completed",
        "all keys are ready, so a thread must complete the operation",
    ),
    (
        rules.time_out_left,
        "a time-out exactly while it waits",
        "the thread that completes an operation cancels its time-out, if it is armed",
    ),
    (
        rules.too_many_tries,
        "2 tries at most",
        "a try looks at every partition of the request",
    ),
    (
        rules.dead_entries,
        "at most 1 entry after completion",
        "an entry that is put in after completion stays until the purge",
    ),
    (rules.wrong_result, "mine, theirs or waits", "it returns what its own thread knows"),
    (rules.goes_on, "nothing but a disarm", "a completed operation needs nothing more"),
)


class Often(Random):
    """Random choices that let the learner's thread do only a third of all steps, so that events
    come while the learner's thread still puts the operation into the lists.
    """

    def choice(self, seq: "SupportsLenAndGetItem[T]") -> T:
        return seq[0] if self.random() < 0.35 else super().choice(seq)


def all_hold(threads: Threads, random: Random, orders: int) -> None:
    """Try random orders for each kind of fault. Raises Mismatch if an order has the fault."""
    for fault_of, expected, why in FAULTS:
        for _ in range(orders):
            threads.hold_in(random, fault_of, expected, why, "the steps, in their order")


def test_many_keys(learner: Learner, seed: int) -> None:
    """a request for twelve partitions, each with an event"""
    random = Often(f"many/{seed}")
    keys = [f"web-{number}" for number in range(12)]
    for _ in range(4):
        random.shuffle(keys)
        all_hold(Threads(learner, keys, keys), random, 6)


def test_events_that_repeat(learner: Learner, seed: int) -> None:
    """each key becomes ready several times, and each time its list is checked"""
    random = Often(f"busy/{seed}")
    for count in (1, 2, 3):
        keys = [f"pay-{number}" for number in range(count)]
        all_hold(Threads(learner, keys, keys * 4), random, 15)


def test_a_key_that_never_comes(learner: Learner, seed: int) -> None:
    """one partition of six has no event, so the operation waits for its time-out"""
    random = Often(f"never/{seed}")
    keys = [f"geo-{number}" for number in range(6)]
    for _ in range(6):
        missing = random.choice(keys)
        events = [key for key in keys if key != missing]
        all_hold(Threads(learner, keys, events * 2), random, 4)


def test_two_requests(learner: Learner, seed: int) -> None:
    """two requests, used in turns: they do not share their steps"""
    random = Often(f"two/{seed}")
    one = Threads(learner, ["log-0", "log-1"], ["log-0", "log-1"])
    other = Threads(learner, ["ads-0"], ["ads-0"])
    for _ in range(12):
        all_hold(random.choice([one, other]), random, 2)
