"""Public tests of exercise 03-4, run by `kafka-edu lab check 03-4`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..orders import (
    BadStepError,
    EndlessThreadError,
    LearnersThread,
    Order,
    Thread,
    draw,
    one_order,
    try_all_orders,
)
from ..purgatory_world import PurgatoryWorld, badly_left, lost_wake_up
from .material import Run, run

Fault = Callable[[PurgatoryWorld], str]
LOST = (
    "the last thread that knew of the news went away before the operation was tried with it, and"
    " the thread that held the lock did not know that it had to try again"
)
RANDOM_ORDERS = 150


class Threads:
    """Threads that run the learner's methods on operations, each of which waits for some keys."""

    def __init__(
        self, learner: Learner, waits_for: Sequence[tuple[int, Sequence[str]]], watched: bool
    ) -> None:
        """If `watched` is true, all operations already are in the watch lists of their keys."""
        self._learner = learner
        self._made = learner.make()
        self._threads: list[Thread] = []
        keys = tuple((number, tuple(names)) for number, names in waits_for)
        lists = tuple((name, number) for number, names in keys for name in names)
        self._world = PurgatoryWorld(keys, lists=lists if watched else ())

    def request(self, operation: int) -> "Threads":
        """Add a thread that handles the request of this operation. Return self."""
        keys = dict(self._world.keys)[operation]
        arguments = ["try_complete_else_watch", [operation, list(keys)]]
        self._threads.append(
            LearnersThread(f"request of operation {operation}", self._made, arguments)
        )
        return self

    def event(self, key: str, *, ready: bool = True) -> "Threads":
        """Add a thread for an event of `key`. If `ready` is true, the thread first makes the key
        ready.
        """
        first = [("ready", key)] if ready else []
        arguments = ["check_and_complete", [key]]
        self._threads.append(LearnersThread(f"event of {key}", self._made, arguments, first))
        return self

    def hold(self) -> None:
        """Try all orders of the steps. Raises Mismatch if an order goes wrong."""
        for fault_of, expected, why in (
            (lost_wake_up, "completed in every order", LOST),
            (
                badly_left,
                "every lock given back, and each completion returned once",
                "a thread that locks must unlock, and maybe_try_complete returns True only to"
                " the thread that completed the operation",
            ),
        ):
            try:
                found = try_all_orders(self._world, self._threads, fault_of)
            except (BadStepError, EndlessThreadError) as error:
                raise self._bad(error) from None
            if found.first is not None:
                came = f"{found.faulty:,} of {found.orders:,} orders fail"
                raise self._mismatch(found.first, expected, came, why)

    def hold_in(self, random: Random) -> None:
        """Try one order of the steps that `random` chooses. Raises Mismatch if this order goes
        wrong.
        """
        order = self.one(random.choice)
        if order.fault:
            raise self._mismatch(order, "completed", "this order fails", LOST)

    def one(self, choose: Callable[[Sequence[int]], int]) -> Order[PurgatoryWorld]:
        """Return the order that `choose` makes. Raises Mismatch if a step is not a valid step."""
        try:
            return one_order(self._world, self._threads, choose, lost_wake_up)
        except (BadStepError, EndlessThreadError) as error:
            raise self._bad(error) from None

    @property
    def _asked(self) -> str:
        return " and ".join(thread.title for thread in self._threads) + ", at the same time"

    def _mismatch(
        self, order: Order[PurgatoryWorld], expected: str, came: str, why: str
    ) -> Mismatch:
        self._learner.answered_at = 0  # the line is that of `play`; the picture has the others
        return Mismatch(
            self._asked,
            Words(expected),
            Words(came),
            why,
            drawing=draw(order, self._threads),
            read="what a thread does that gets the lock, and one that does not",
        )

    def _bad(self, error: BadStepError | EndlessThreadError) -> Mismatch:
        if isinstance(error, BadStepError):
            self._learner.answered_at = error.line
            return Mismatch(
                self._asked, Words("a step that is allowed here"), error.step, str(error)
            )
        self._learner.answered_at = 0
        return Mismatch(
            self._asked,
            Words("every thread comes to its end"),
            Words("a thread that waits for another one"),
            f"{error} Two threads that wait for each other's locks never end",
            read="the loop",
        )


MakeThreads = Callable[..., Threads]


@pytest.fixture
def threads(learner: Learner) -> MakeThreads:
    """A function that makes Threads, such as threads((1, ["web-0"]), watched=True)."""

    def make(*waits_for: tuple[int, Sequence[str]], watched: bool) -> Threads:
        return Threads(learner, waits_for, watched)

    return make


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the operation, and the event at which its wake-up was lost"""
    made = run(material)
    came = learner.make().call("diagnosis")
    asked = "diagnosis()"
    expected = Words("(number of the operation, number of the event, name of the method)")
    match came:
        case (int(operation), int(event), str()):
            pass
        case _:
            raise Mismatch(asked, expected, came, "the answer has three values")
    if operation != made.found.operation:
        raise Mismatch(
            asked, expected, came, _why_not_operation(made, operation), read="events.txt"
        )
    if event != made.found.event:
        raise Mismatch(asked, expected, came, _why_not_event(made, event), read="events.txt")


def _why_not_operation(made: Run, operation: int) -> str:
    waits_for = dict(made.world.keys)
    if operation not in waits_for:
        return f"events.txt has the operations 1 to {len(waits_for)}"
    if operation in made.world.completed:
        return f"operation {operation} was completed by a try, so it was woken"
    never = [key for key in waits_for[operation] if key not in made.world.ready]
    return f"operation {operation} timed out, and rightly: {never[0]} never was ready"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.lines):
        return f"events.txt has the events 1 to {len(made.lines)}"
    line = made.lines[event - 1]
    if line.operation != made.found.operation:
        return f"event {event}, {line.text!r}, is not of operation {made.found.operation}"
    if event < made.found.event:
        return f"after event {event}, {line.text!r}, the operation could still have been woken"
    return f"at event {event}, {line.text!r}, no thread was left that would try the operation again"


def test_method(learner: Learner) -> None:
    """diagnosis names the method that is wrong"""
    came = learner.make().call("diagnosis")
    method = came[2] if isinstance(came, tuple) and len(came) == 3 else came
    reasons = {
        "try_complete_else_watch": (
            "this method is right: it tries again after the last watch. What did that try do?"
        ),
        "check_and_complete": (
            "this method is right: it goes through the whole list. What did its try do?"
        ),
        "play": "play is the tests' own",
    }
    if method != "maybe_try_complete":
        why = reasons.get(str(method), "the class has no method of that name")
        raise Mismatch("diagnosis()", Words("the method that is wrong"), method, why)


def test_alone(threads: MakeThreads, learner: Learner) -> None:
    """a thread that is alone tries once, and completes an operation that is ready"""
    order = threads((1, ["web-0"]), watched=True).event("web-0").one(lambda left: left[0])
    learner.answered_at = 0  # the line of `play` says nothing
    came = order.world.completed == {1}, order.world.tries
    if came != (True, 1):
        raise Mismatch(
            "whether one event alone completes the operation, and by how many tries",
            (True, 1),
            came,
            "without another thread, no news can have come meanwhile",
        )
    order = threads((1, ["web-0", "web-1"]), watched=True).event("web-0").one(lambda left: left[0])
    learner.answered_at = 0
    if order.world.tries != 1:
        raise Mismatch(
            "how many tries one event makes of an operation that is not ready yet",
            1,
            order.world.tries,
            "a second try without news can only find the same again",
        )


def test_request_and_event(threads: MakeThreads) -> None:
    """no order of a request and an event loses the wake-up"""
    threads((1, ["web-0"]), watched=False).request(1).event("web-0").hold()


def test_two_events(threads: MakeThreads) -> None:
    """no order of the events of two keys loses the wake-up"""
    threads((1, ["web-0", "pay-0"]), watched=True).event("web-0").event("pay-0").hold()


def test_two_operations(threads: MakeThreads) -> None:
    """no order of two events loses the wake-up of one of two operations"""
    made = threads((1, ["web-0", "pay-0"]), (2, ["pay-0"]), watched=True)
    made.event("web-0").event("pay-0").hold()


def test_many(threads: MakeThreads, seed: int) -> None:
    """hundreds of random orders, with random operations and threads"""
    random = Random(seed)
    for _ in range(6):
        names = [f"web-{number}" for number in range(random.randint(1, 3))]
        waits_for = [
            (number, random.sample(names, random.randint(1, len(names))))
            for number in range(1, random.randint(2, 4))
        ]
        made = threads(*waits_for, watched=False)
        for number, _ in waits_for:
            made.request(number)
        for name in names:
            made.event(name)
        for _ in range(RANDOM_ORDERS // 6):
            made.hold_in(random)
