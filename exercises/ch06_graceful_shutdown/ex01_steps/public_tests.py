"""Public tests of exercise 06-1. `kafka-edu lab check 06-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.controller.shutdown_steps import Came, Operation, ShutdownSteps
from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch

BEGIN: Final[Came] = ("begin",)
WAITED: Final[Came] = ("waited",)
CONNECTED: Final[Came] = ("connected",)
FAILED: Final[Came] = ("failed",)
DONE: Final[Came] = ("answer", "NONE", [])
LEFT: Final[Came] = ("answer", "NONE", ["web-0"])
MOVED: Final[Came] = ("answer", "NOT_CONTROLLER", [])
NOBODY: Final[Came] = ("controller", None)


class Compared:
    """A broker of the learner's class. Each of its answers is compared with the right answer."""

    def __init__(self, learner: Learner, max_retries: int, backoff_ms: int) -> None:
        self._name = f"Shutdown({max_retries}, {backoff_ms})"
        self._made = learner.make(max_retries, backoff_ms)
        self._right = ShutdownSteps(max_retries, backoff_ms)
        self._max_retries = max_retries
        self._story: list[str] = []
        self._attempts = 0

    def next(self, came: Came) -> Operation:
        """Call `next`, compare the answer with the right answer, and return the right answer.
        Raises Mismatch.
        """
        expected = self._right.next(came)
        answer = self._made.call("next", came)
        self._attempts += expected == ("find",)
        if answer != expected or (answer == ("stop", 1) and type(answer[1]) is not bool):
            raise Mismatch(
                f"{self._name}: next({came})",
                expected,
                answer,
                self._why(came, expected),
                drawing=tuple(self._story[-8:]),
                read="the table, and the four points below it",
            )
        self._story.append(f"{came} → {expected}")
        return expected

    def story(self, *came: Came) -> None:
        """Give the broker these events in order, and compare each answer."""
        for each in came:
            self.next(each)

    def _why(self, came: Came, expected: Operation) -> str:
        match came, expected:
            case _, ("find",):
                return "each attempt begins by finding the controller: it may have changed"
            case _, ("connect", id_):
                return f"there is no connection to broker {id_}: connect first"
            case ("controller", id_), ("ask",):
                return f"the connection to broker {id_} is open: ask over it"
            case _, ("ask",):
                return "there is a connection now: ask"
            case _, ("stop", True):
                return "no error, and nothing remains: the controller has let the broker go"
            case ("begin",), _:
                return "with no attempt at all the broker stops at once"
            case _, ("stop", _):
                return (
                    f"that was attempt {self._attempts} of {self._max_retries}, the last one:"
                    " nothing is waited for any more"
                )
            case ("answer", "NONE", _), _:
                return "partitions remain: that is no success, and attempts are left"
        return f"attempt {self._attempts} of {self._max_retries} has failed: wait, and try again"


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    two = Compared(learner, 2, 500)
    two.story(BEGIN, ("controller", 0), CONNECTED, LEFT, WAITED, ("controller", 0), DONE)


def test_at_once(learner: Learner) -> None:
    """the controller lets the broker go at the first attempt"""
    for retries in (1, 3):
        Compared(learner, retries, 5_000).story(BEGIN, ("controller", 0), CONNECTED, DONE)


def test_the_last_attempt(learner: Learner) -> None:
    """after its last attempt the broker stops at once, without another wait"""
    Compared(learner, 1, 5_000).story(BEGIN, ("controller", 1), CONNECTED, LEFT)
    Compared(learner, 1, 5_000).story(BEGIN, NOBODY)
    Compared(learner, 1, 5_000).story(BEGIN, ("controller", 1), FAILED)
    three = Compared(learner, 3, 100)
    three.story(BEGIN, ("controller", 1), CONNECTED, LEFT, WAITED, ("controller", 1), LEFT)
    three.story(WAITED, ("controller", 1), LEFT)


def test_no_attempt(learner: Learner) -> None:
    """with controlled.shutdown.max.retries=0 the broker does not ask"""
    Compared(learner, 0, 5_000).next(BEGIN)


def test_an_error(learner: Learner) -> None:
    """an answer with an error is a failure, even if no partition remains"""
    two = Compared(learner, 2, 700)
    two.story(BEGIN, ("controller", 2), CONNECTED, MOVED, WAITED, ("controller", 2), MOVED)


def test_another_controller(learner: Learner) -> None:
    """the controller changes between two attempts"""
    four = Compared(learner, 4, 700)
    four.story(BEGIN, ("controller", 2), CONNECTED, MOVED, WAITED, ("controller", 0), CONNECTED)
    four.story(LEFT, WAITED, ("controller", 2), CONNECTED, MOVED, WAITED, ("controller", 2), DONE)


def test_nobody_is_the_controller(learner: Learner) -> None:
    """there is no controller during two attempts, and then there is one"""
    three = Compared(learner, 3, 700)
    three.story(BEGIN, NOBODY, WAITED, NOBODY, WAITED, ("controller", 0), CONNECTED, DONE)


def test_a_connection_that_breaks(learner: Learner) -> None:
    """a connection breaks, once while connecting and once while asking"""
    four = Compared(learner, 4, 200)
    four.story(BEGIN, ("controller", 0), FAILED, WAITED, ("controller", 0), CONNECTED, FAILED)
    four.story(WAITED, ("controller", 0), CONNECTED, LEFT, WAITED, ("controller", 0), FAILED)


def test_nobody_keeps_the_connection(learner: Learner) -> None:
    """for a moment there is no controller; the connection to the old one stays open"""
    three = Compared(learner, 3, 200)
    three.story(BEGIN, ("controller", 0), CONNECTED, LEFT, WAITED, NOBODY)
    three.story(WAITED, ("controller", 0), DONE)


def test_random(learner: Learner, seed: int) -> None:
    """sixty random shutdowns"""
    random = Random(f"shutdowns/{seed}")
    for _ in range(60):
        run(Compared(learner, random.randint(0, 5), random.randrange(100, 6_000, 100)), random)


def run(broker: Compared, random: Random, success: float = 0.2) -> None:
    """Let one broker stop, with random answers to its operations. Raises Mismatch."""
    operation = broker.next(BEGIN)
    while (came := comes_after(operation, random, success)) is not None:
        operation = broker.next(came)


def comes_after(operation: Operation, random: Random, success: float) -> Came | None:
    """Return a random event that can follow an operation; None if the broker has stopped."""
    match operation:
        case ("find",):
            return random.choice((NOBODY, *(("controller", broker) for broker in (0, 1, 1, 1))))
        case ("connect", _):
            return FAILED if random.random() < 0.2 else CONNECTED
        case ("ask",):
            if random.random() < success:
                return DONE
            return random.choice((FAILED, MOVED, LEFT, ("answer", "NONE", ["a-1", "b-0"])))
        case ("wait", _):
            return WAITED
    return None
