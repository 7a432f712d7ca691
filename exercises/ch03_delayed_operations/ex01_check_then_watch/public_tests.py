"""Public tests of exercise 03-1, run by `kafka-edu lab check 03-1`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from .. import check_world as rules
from ..check_world import CheckWorld
from ..orders import (
    BadStepError,
    LearnersThread,
    Order,
    Row,
    ScriptedThread,
    Thread,
    draw,
    one_order,
    shown,
    try_all_orders,
)

Fault = Callable[[CheckWorld], str]
TOPICS = ("web", "pay", "log", "geo", "ads")
RANDOM_ORDERS = 400


def event_of(key: str) -> ScriptedThread:
    """Return the thread of a key's event: it makes the key ready, then checks the key's list."""
    return ScriptedThread(f"event of {key}", (("ready", key), ("check", key)))


class Threads:
    """The learner's thread together with the threads of some events."""

    def __init__(self, learner: Learner, keys: Sequence[str], events: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self._learner = learner
        made = LearnersThread("your thread", learner.make(self.keys))
        self._threads: tuple[Thread, ...] = (made, *[event_of(key) for key in events])
        self._asked = f"CheckThenWatch({list(keys)}).steps()"

    def hold(self, fault_of: Fault, expected: str, why: str, read: str) -> None:
        """Try all orders of the steps. Raises Mismatch if an order has the fault."""
        world = CheckWorld(self.keys)
        try:
            found = try_all_orders(world, self._threads, fault_of)
        except BadStepError as error:
            raise self._bad(error) from None
        if found.first is not None:
            counted = f"{found.faulty:,} of {found.orders:,} orders fail"
            raise self._mismatch(found.first, expected, counted, why, read)

    def hold_in(
        self, random: Random, fault_of: Fault, expected: str, why: str, read: str
    ) -> Order[CheckWorld]:
        """Try one order of the steps that `random` chooses. Raises Mismatch if this order has the
        fault.
        """
        try:
            order = one_order(CheckWorld(self.keys), self._threads, random.choice, fault_of)
        except BadStepError as error:
            raise self._bad(error) from None
        if order.fault:
            raise self._mismatch(order, expected, "this order fails", why, read)
        return order

    def alone(self, *, ready: bool) -> Order[CheckWorld]:
        """Run only the learner's thread. All keys are ready, or none is. Return the order of its
        steps.
        """
        world = CheckWorld(self.keys, ready=frozenset(self.keys if ready else ()))
        try:
            return one_order(world, self._threads[:1], lambda left: left[0], lambda _: "")
        except BadStepError as error:
            raise self._bad(error) from None

    def _mismatch(
        self, order: Order[CheckWorld], expected: str, came: str, why: str, read: str
    ) -> Mismatch:
        self._learner.answered_at = 0  # the line is that of `play`; the picture has the others
        if not rules.lost_wake_up(order.world):
            order = until_return(order)
        words = {
            f"{verb} {key}": f"{says} {key}"
            for key in self.keys
            for verb, says in (("ready", "ready:"), ("check", "check"))
        }
        return Mismatch(
            self._asked,
            Words(expected),
            Words(came),
            why,
            drawing=draw(order, self._threads, words),
            read=read,
        )

    def _bad(self, error: BadStepError) -> Mismatch:
        self._learner.answered_at = error.line
        return Mismatch(self._asked, Words("a step"), error.step, str(error), read="that yield")


def until_return(order: Order[CheckWorld]) -> Order[CheckWorld]:
    """Cut an order after the step with which the learner's thread returns."""
    ends = [number for number, row in enumerate(order.rows, 1) if row.ended and row.thread == 0]
    return order._replace(rows=order.rows[: ends[0]])


def steps_of(order: Order[CheckWorld]) -> list[Row]:
    return [row for row in order.rows if not row.ended]


def list_of(order: Order[CheckWorld]) -> tuple[str, ...]:
    return tuple(
        [f"{number:>2}  {shown(row, {})}" for number, row in enumerate(order.rows, 1)],
    )


@pytest.fixture
def threads(learner: Learner) -> Callable[[str, str], Threads]:
    """A function that makes Threads: threads("web-0 web-1", "web-0") has the keys web-0 and web-1,
    and one event, of web-0.
    """

    def make(keys: str, events: str) -> Threads:
        return Threads(learner, keys.split(), events.split())

    return make


MakeThreads = Callable[[str, str], Threads]


def test_ready_at_once(threads: MakeThreads) -> None:
    """an operation that is ready at once needs one try, no list and no time-out"""
    order = threads("web-0 web-1", "").alone(ready=True)
    came = [row.step for row in steps_of(order)]
    if came != ["try"]:
        raise Mismatch(
            "the steps when all keys are ready before",
            ["try"],
            came,
            "most operations are completed by the first try. They should cost no more than that",
            drawing=list_of(order),
            read="the first step",
        )
    if order.world.returned != "mine":
        raise Mismatch(
            "what steps returns when its first try completes the operation",
            "mine",
            order.world.returned,
            'the answer of that "try" was True, so your thread completed it',
            drawing=list_of(order),
        )


def test_waits(threads: MakeThreads) -> None:
    """an operation that is not ready is in all lists, has a time-out, and waits"""
    order = threads("web-0 web-1 web-2", "").alone(ready=False)
    world = order.world
    came = sorted(world.watched), world.armed, world.returned
    expected = ["web-0", "web-1", "web-2"], True, "waits"
    if came != expected:
        raise Mismatch(
            "the lists, whether the time-out is armed, and what steps returns, without any event",
            expected,
            came,
            "the event that completes it may be that of any key, and if none comes, its time-out"
            " ends it",
            drawing=list_of(order),
            read="the loop over self.keys, and what follows",
        )


def test_two_threads(threads: MakeThreads) -> None:
    """no order of two threads loses the wake-up: the operation is always completed"""
    threads("web-0", "web-0").hold(
        rules.lost_wake_up,
        "completed in every order",
        "the event checked a list without the operation, and no later step tried the operation",
        "what your thread does between the last watch and its end",
    )


def test_three_threads(threads: MakeThreads) -> None:
    """no order of three threads and two keys loses the wake-up"""
    threads("web-0 web-1", "web-0 web-1").hold(
        rules.lost_wake_up,
        "completed in every order",
        "the later event checked a list without the operation, and no step tried it afterwards",
        "when the second try comes: before or after the last watch?",
    )


def test_time_out(threads: MakeThreads) -> None:
    """the time-out runs exactly as long as the operation waits"""
    for keys in ("web-0", "web-0 web-1"):
        threads(keys, keys).hold(
            rules.time_out_left,
            "a time-out exactly while it waits",
            "the thread that completes an operation cancels its time-out, if it is armed",
            "the steps from the arm on: what may happen just before it?",
        )


def test_result(threads: MakeThreads) -> None:
    """steps returns who completed the operation, as far as the thread knows"""
    for keys in ("web-0", "web-0 web-1"):
        threads(keys, keys).hold(
            rules.wrong_result,
            "mine, theirs or waits",
            '"mine" after a "try" that answered True, "theirs" after a "look" that did, else'
            ' "waits"',
            "the return statements",
        )


def test_tries(threads: MakeThreads) -> None:
    """the thread tries the operation at most twice, with any number of keys"""
    threads("web-0 web-1 web-2 web-3", "web-2").hold(
        rules.too_many_tries,
        "2 tries at most",
        "a try looks at every partition of the request, so one try for each key costs the square",
        "the loop over self.keys",
    )


def test_stops(threads: MakeThreads) -> None:
    """a thread that knows of the completion does nothing more with the operation"""
    threads("web-0 web-1", "web-0 web-1").hold(
        rules.goes_on,
        "nothing but a disarm",
        "a completed operation needs no list, no try and no time-out",
        'what follows a "look" or "try" that answers True',
    )


def test_dead_entries(threads: MakeThreads) -> None:
    """after the operation was completed, it is put into at most one more list"""
    threads("web-0 web-1 web-2", "web-0 web-1 web-2").hold(
        rules.dead_entries,
        "at most 1 entry after completion",
        "such an entry stays until the purge. Before each further list your thread can look",
        "the loop over self.keys",
    )


def test_many(learner: Learner, seed: int) -> None:
    """hundreds of random orders, with random keys and events"""
    random = Random(seed)
    for _ in range(8):
        topic, count = random.choice(TOPICS), random.randint(1, 5)
        keys = [f"{topic}-{random.randrange(10)}{number}" for number in range(count)]
        events = [random.choice(keys) for _ in range(random.randint(0, 2))] + keys
        random.shuffle(events)
        if random.random() < 0.3:
            events.pop()
        threads = Threads(learner, keys, events)
        for _ in range(RANDOM_ORDERS // 8):
            for fault_of, expected, why in (
                (rules.lost_wake_up, "completed", "all is ready, so somebody must complete it"),
                (rules.time_out_left, "a time-out exactly while it waits", "see test_time_out"),
                (rules.too_many_tries, "2 tries at most", "see test_tries"),
                (rules.dead_entries, "at most 1 entry after completion", "see test_dead_entries"),
            ):
                threads.hold_in(random, fault_of, expected, why, "the steps, in their order")
