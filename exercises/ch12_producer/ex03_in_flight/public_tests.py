"""Public tests of exercise 12-3. `kafka-edu lab check 12-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..flight_rules import (
    FATAL,
    OUT_OF_ORDER,
    RETRIABLE,
    STORED,
    FlightWorld,
    Result,
    RightInFlight,
    Sent,
)

A, B = "web-0", "web-1"
Make = Callable[..., "Compared"]


class Compared:
    """An object of the learner's class. Each of its answers is compared with the right one."""

    def __init__(
        self, learner: Learner, max_in_flight: int = 5, idempotent: bool = True, retries: int = 10
    ) -> None:
        self._made: LearnerObject = learner.make(max_in_flight, idempotent, retries)
        self._right = RightInFlight(max_in_flight, idempotent, retries)
        self._story = [f"InFlight({max_in_flight}, {idempotent}, {retries})"]

    def may_send(self, broker: int, partition: str, batch: int) -> bool:
        """Compare whether a batch may go. Raises Mismatch."""
        expected = self._right.may_send(broker, partition, batch)
        came = self._made.call("may_send", broker, partition, batch)
        call = f"may_send({broker}, {partition!r}, {batch})"
        if came is not expected:
            why = self._why_send(broker, partition, batch, expected)
            raise self._mismatch(call, expected, came, why, "may_send")
        self._story.append(f"{call} → {came}")
        return expected

    def _why_send(self, broker: int, partition: str, batch: int, expected: bool) -> str:
        right = self._right
        requests, flying = right.requests.get(broker, 0), right.in_flight(partition)
        if requests >= right.max_in_flight:
            return f"broker {broker} has {requests} requests without an answer, and no more may go"
        if not expected and right.idempotent:
            return f"batch {right.oldest(partition)} of {partition} is older, and has no end yet"
        if not expected:
            return f"batch {flying[0]} of {partition} is in flight: the partition is muted"
        if not right.idempotent and right.max_in_flight > 1:
            return "nothing keeps the order here, and the broker has room for a request"
        if not right.idempotent:
            return f"no batch of {partition} is in flight, so it is not muted"
        if batch not in right.batches:
            return f"batch {batch} goes for the first time, and broker {broker} has room"
        return f"batch {batch} is the oldest of {partition} without an end: it is the next one"

    def sent(self, broker: int, batches: Sequence[Sent]) -> None:
        """Call `sent`: a request is in flight."""
        self._right.sent(broker, batches)
        self._made.call("sent", broker, list(batches))
        self._story.append(f"sent({broker}, {list(batches)})")

    def go(self, broker: int, *batches: Sent) -> None:
        """Check that these batches may be sent, and send them. Raises Mismatch."""
        for partition, batch in batches:
            assert self.may_send(broker, partition, batch)
        self.sent(broker, batches)

    def answered(self, broker: int, results: Sequence[Result]) -> list[str]:
        """Compare the result of each batch. Raises Mismatch."""
        before = dict(self._right.batches)
        expected = self._right.answered(broker, results)
        rows = [tuple(one) for one in results]
        came = self._made.call("answered", broker, rows)
        call = f"answered({broker}, {rows})"
        if came != tuple(expected):
            words = list(came) if isinstance(came, tuple) else came
            why = "the answer is a list with one word for each batch"
            if isinstance(words, list) and len(words) == len(expected):
                place = next(n for n, word in enumerate(expected) if words[n] != word)
                result = results[place]
                known = before[result.batch]
                why = self._why_word(result, expected[place], known.ended, known.again)
            raise self._mismatch(call, expected, words, why, "answered")
        self._story.append(f"{call} → {expected}")
        return expected

    def _why_word(self, result: Result, expected: str, ended: bool, again: int) -> str:
        name = f"batch {result.batch}"
        if ended:
            return f"{name} has expired: its records have their error, and it is not sent again"
        if result.error in STORED:
            return f"{result.error}: {name} is stored"
        if again == self._right.retries:
            return f"{name} has gone again {again} times, and retries is {again}"
        if result.error == OUT_OF_ORDER:
            if expected == "again":
                return f"an older batch has no end yet: {name} goes again, after it"
            return f"no older batch is on its way: {name} would be refused again and again"
        if expected == "again":
            return f"{result.error} may be over soon"
        return f"{result.error} does not go away"

    def expired(self, partition: str, batch: int) -> None:
        """Call `expired`: a batch has expired."""
        self._right.expired(partition, batch)
        self._made.call("expired", partition, batch)
        self._story.append(f"expired({partition!r}, {batch})")

    def _mismatch(self, call: str, expected: object, came: object, why: str, read: str) -> Mismatch:
        story = (self._story[0], *self._story[1:][-9:])
        return Mismatch(call, expected, came, why, drawing=story, read=read)


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an object of the learner's class."""
    return lambda *settings: Compared(learner, *settings)


def error(partition: str, batch: int, name: str) -> Result:
    """Return a result with this error."""
    return Result(partition, batch, name, name in RETRIABLE)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make(5, True, 10)
    made.go(0, (A, 1))
    made.go(0, (A, 2))
    assert made.answered(0, [error(A, 1, "NOT_ENOUGH_REPLICAS")]) == ["again"]
    assert made.answered(0, [error(A, 2, OUT_OF_ORDER)]) == ["again"]
    assert not made.may_send(0, A, 2)
    made.go(0, (A, 1))
    assert made.answered(0, [error(A, 1, "NONE")]) == ["done"]
    assert made.may_send(0, A, 2)
    made = make(1, False, 10)
    made.go(0, (A, 1))
    assert not made.may_send(1, A, 2)


def test_the_limit(make: Make) -> None:
    """one broker has the maximum number of requests in flight, and another broker has not"""
    for limit, idempotent in ((1, False), (2, False), (3, True), (5, True)):
        made = make(limit, idempotent)
        for number in range(limit):
            made.go(0, (f"web-{number}", number))
        assert not made.may_send(0, "web-9", 9)
        made.go(1, ("web-8", 8))
        made.answered(0, [error("web-0", 0, "NONE")])
        made.go(0, ("web-9", 9))
        assert not made.may_send(0, "web-7", 7)


def test_a_request_of_many(make: Make) -> None:
    """a request with three batches counts once, and each batch has its own result"""
    made = make(2, True)
    made.go(0, (A, 1), (B, 2), ("web-2", 3))
    made.go(0, (A, 4))
    assert not made.may_send(0, B, 5)
    words = made.answered(
        0, [error(A, 1, "NONE"), error(B, 2, RETRIABLE[0]), error("web-2", 3, FATAL[0])]
    )
    assert words == ["done", "again", "failed"]
    assert made.may_send(0, B, 2)


def test_muted(make: Make) -> None:
    """one request in flight: the leader moves, and the partition is muted all the same"""
    made = make(1, False)
    made.go(0, (A, 1))
    assert not made.may_send(2, A, 2)
    made.go(2, (B, 3))
    made.answered(0, [error(A, 1, "NETWORK_EXCEPTION")])
    assert made.may_send(0, A, 1)
    assert not made.may_send(2, A, 1)
    made.go(0, (A, 1))
    made.answered(0, [error(A, 1, "NONE")])
    made.answered(2, [error(B, 3, "NONE")])
    made.go(2, (A, 2))


def test_no_order(make: Make) -> None:
    """two or five requests in flight without idempotence: nothing keeps the order"""
    for limit in (5, 2):
        made = make(limit, False)
        made.go(0, (A, 1))
        made.go(0, (A, 2))
        made.answered(0, [error(A, 1, RETRIABLE[0])])
        made.answered(0, [error(A, 2, "NONE")])
        made.go(0, (A, 3))
        made.go(1, (A, 1))


def test_one_after_the_other(make: Make) -> None:
    """three batches come back, and are sent again one at a time"""
    made = make()
    for batch in (1, 2, 3):
        made.go(0, (A, batch))
    for batch in (1, 2, 3):
        made.answered(0, [error(A, batch, "NETWORK_EXCEPTION")])
    for batch in (1, 2, 3):
        for later in range(batch + 1, 4):
            assert not made.may_send(1, A, later)
        made.go(1, (A, batch))
        made.answered(1, [error(A, batch, "NONE")])
    made.go(1, (A, 4))


def test_partitions_do_not_wait_for_others(make: Make) -> None:
    """an older batch of another partition is not finished yet"""
    made = make()
    made.go(0, (A, 1))
    made.go(0, (B, 2))
    made.answered(0, [error(A, 1, RETRIABLE[1])])
    made.answered(0, [error(B, 2, RETRIABLE[1])])
    assert made.may_send(0, B, 2)
    made.go(0, (B, 2))
    assert made.answered(0, [error(B, 2, OUT_OF_ORDER)]) == ["failed"]


def test_each_error(make: Make) -> None:
    """whether a batch is done, is sent again or fails, for each error"""
    for idempotent in (True, False):
        for name in (*RETRIABLE, *FATAL, *STORED, OUT_OF_ORDER):
            made = make(5, idempotent)
            made.go(0, (A, 1))
            made.answered(0, [error(A, 1, name)])
            made.may_send(0, A, 2)


def test_retries(make: Make) -> None:
    """a batch is sent again as often as `retries` says, and then it fails"""
    for retries in (0, 1, 3):
        made = make(5, True, retries)
        for _ in range(retries + 1):
            made.go(0, (A, 1))
            made.answered(0, [error(A, 1, RETRIABLE[0])])
        made.go(0, (A, 2))
        made.answered(0, [error(A, 2, OUT_OF_ORDER)])
    made = make(5, True, 1)
    for batch in (1, 2):
        made.go(0, (A, batch))
    made.answered(0, [error(A, 1, RETRIABLE[0])])
    made.answered(0, [error(A, 2, OUT_OF_ORDER)])
    made.go(0, (A, 1))
    assert made.answered(0, [error(A, 1, "DUPLICATE_SEQUENCE_NUMBER")]) == ["done"]


def test_expired_in_the_queue(make: Make) -> None:
    """the oldest batch expires while it waits: the next one may go"""
    made = make()
    for batch in (1, 2):
        made.go(0, (A, batch))
    for batch in (1, 2):
        made.answered(0, [error(A, batch, RETRIABLE[0])])
    assert not made.may_send(0, A, 2)
    made.expired(A, 1)
    made.go(0, (A, 2))
    assert made.answered(0, [error(A, 2, OUT_OF_ORDER)]) == ["failed"]
    made.expired(A, 7)
    made.go(0, (A, 8))


def test_expired_in_flight(make: Make) -> None:
    """a batch expires in flight: it still counts as in flight until its answer comes"""
    for name in ("NONE", RETRIABLE[0], OUT_OF_ORDER):
        made = make(1, False)
        made.go(0, (A, 1))
        made.expired(A, 1)
        assert not made.may_send(1, A, 2)
        assert made.answered(0, [error(A, 1, name)]) == ["failed"]
        made.go(1, (A, 2))


def test_any_order(make: Make, seed: int) -> None:
    """nine producers, with random errors, leaders that move and batches that expire"""
    random = Random(f"any/{seed}")
    for limit, idempotent in ((1, False), (3, False), (5, True)):
        for _ in range(3):
            made = make(limit, idempotent, random.choice((1, 4, 1_000)))
            brokers, partitions = random.randint(1, 3), random.randint(1, 4)
            FlightWorld(made, random, brokers, partitions, idempotent).run(150)
