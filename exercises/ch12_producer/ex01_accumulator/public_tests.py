"""Public tests of exercise 12-1. `kafka-edu lab check 12-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..drain_rules import (
    BACKOFF_MS,
    BATCH_SIZE,
    LINGER_MS,
    DrainWorld,
    RightAccumulator,
    Row,
    Sized,
)

NOW_MS: Final = 7_000
Make = Callable[..., "Compared"]


class Compared:
    """An accumulator of the learner's class. Each of its answers is compared with the right one."""

    def __init__(
        self,
        learner: Learner,
        batch_size: int = BATCH_SIZE,
        linger_ms: int = LINGER_MS,
        backoff_ms: int = BACKOFF_MS,
    ) -> None:
        self._made: LearnerObject = learner.make(batch_size, linger_ms, backoff_ms)
        self._right = RightAccumulator(batch_size, linger_ms, backoff_ms)
        self._requests: list[str] = []

    def ready(
        self, rows: Sequence[Row], now_ms: int = NOW_MS, at_once: bool = False
    ) -> tuple[list[int], int | None]:
        """Compare which partitions are ready, and then the wait. Raises Mismatch."""
        expected = self._right.ready(rows, now_ms, at_once)
        came = self._made.call("ready", list(rows), now_ms, at_once)
        if repr(came) != repr((tuple(expected[0]), expected[1])):
            right = self._right
            raise Mismatch(
                f"ready(rows, {now_ms}, {at_once})",
                expected,
                _listed(came),
                self._why_ready(rows, now_ms, at_once, expected, came),
                drawing=(
                    f"batch.size {right.batch_size}, linger.ms {right.linger_ms},"
                    f" retry.backoff.ms {right.backoff_ms}",
                    *(_drawn(row, now_ms) for row in rows[:12]),
                ),
                read="ready",
            )
        return expected

    def _why_ready(
        self,
        rows: Sequence[Row],
        now_ms: int,
        at_once: bool,
        expected: tuple[list[int], int | None],
        came: object,
    ) -> str:
        """Return in one sentence why the first difference is wrong."""
        if not (isinstance(came, tuple) and len(came) == 2 and isinstance(came[0], tuple)):
            return "the answer is a pair: a list of partitions, and ms or None"
        for row in rows:
            should, does = row["partition"] in expected[0], row["partition"] in came[0]
            if should != does:
                return self._why_row(row, now_ms, at_once, does)
        if sorted(came[0]) != list(came[0]) or len(set(came[0])) < len(came[0]):
            return "each partition is there once, in the order of the rows"
        waits = [
            (wait_ms, row["partition"], row["attempts"])
            for row in rows
            if not row["muted"] and (wait_ms := self._right.wait_ms(row, now_ms, at_once)) > 0
        ]
        if not waits:
            return "no partition becomes ready by time alone: a muted one waits for an answer"
        wait_ms, partition, attempts = min(waits)
        limit = "its back-off" if attempts else "linger.ms"
        return f"partition {partition} is the next one, when {limit} is over, in {wait_ms} ms"

    def _why_row(self, row: Row, now_ms: int, at_once: bool, does: bool) -> str:
        name, waited_ms = f"partition {row['partition']}", now_ms - row["since_ms"]
        if row["muted"]:
            return f"{name} is muted: a batch in flight may fail, and then it goes first"
        if row["attempts"]:
            if does:
                rest = self._right.backoff_ms - waited_ms
                return f"{name} has failed {waited_ms} ms ago: {rest} ms of the back-off are left"
            return f"{name} has waited for the back-off, and does not linger again"
        if does:
            rest = self._right.linger_ms - waited_ms
            return f"the only batch of {name} has room, and {rest} ms of linger.ms are left"
        if at_once:
            return f"{name} goes at once: a flush() waits for it, or a send() waits for its memory"
        if len(row["batches"]) > 1:
            return f"{name} has a second batch: no record goes into the first one any more"
        if row["batches"][0] >= self._right.batch_size:
            return f"the batch of {name} is full: it has {row['batches'][0]} bytes"
        return f"{name} has waited {waited_ms} ms, and linger.ms is {self._right.linger_ms}"

    def drain(self, broker: int, rows: Sequence[Sized], max_bytes: int) -> list[int]:
        """Compare the partitions of a request. Raises Mismatch."""
        last = self._right.last.get(broker)
        first = self._right.first(broker, rows)
        expected = self._right.drain(broker, rows, max_bytes)
        came = self._made.call("drain", broker, list(rows), max_bytes)
        call = f"drain({broker}, {list(rows)}, {max_bytes})"
        if repr(came) != repr(tuple(expected)):
            raise Mismatch(
                call,
                expected,
                _listed(came),
                _why_drain(last, first, expected, came, dict(rows), max_bytes),
                drawing=tuple(self._requests[-6:]),
                read="drain",
            )
        self._requests.append(f"{call} → {expected}")
        return expected


def _why_drain(
    last: int | None,
    first: int,
    expected: Sequence[int],
    came: object,
    sizes: dict[int, int],
    max_bytes: int,
) -> str:
    if not isinstance(came, tuple) or any(one not in sizes for one in came):
        return "the answer is a list of partitions that are in the rows"
    if not came:
        return "the first batch goes in any case: it would never fit better"
    if came[0] != first:
        if last is None:
            return f"nothing has gone to this broker: the smallest number, {first}, is the first"
        if first > last:
            return f"{last} was the last one to this broker, and {first} is the first behind it"
        return f"{last} was the last one to this broker; nothing is behind it, so {first} is first"
    total, taken = 0, list(expected)
    for one in came:
        total += sizes[one]
    if total > max_bytes and len(came) > 1:
        return f"together they have {total} bytes, and a request has at most {max_bytes}"
    if list(came)[: len(taken)] == taken:
        return "a batch before this one does not fit: the request ends there, and begins there next"
    return "one after the other goes, as long as all fit, and from the end on at the beginning"


def _listed(came: object) -> object:
    """Return the answer as the learner has written it: with lists, not tuples."""
    if isinstance(came, tuple) and len(came) == 2 and isinstance(came[0], tuple):
        return list(came[0]), came[1]
    return list(came) if isinstance(came, tuple) else came


def _drawn(row: Row, now_ms: int) -> str:
    """Return a row as a line."""
    return (
        f"partition {row['partition']}: batches {row['batches'][:4]}, for"
        f" {now_ms - row['since_ms']} ms, attempts {row['attempts']}"
        + (", muted" if row["muted"] else "")
    )


def row(
    partition: int,
    batches: Sequence[int],
    since_ms: int,
    attempts: int = 0,
    muted: bool = False,
) -> Row:
    """Return a row of `ready`."""
    return {
        "partition": partition,
        "batches": list(batches),
        "since_ms": since_ms,
        "attempts": attempts,
        "muted": muted,
    }


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes an accumulator of the learner's class."""
    return lambda *settings: Compared(learner, *settings)


EXAMPLE: Final = (
    row(0, [400], 6_980),
    row(1, [900, 120], 6_990),
    row(2, [1_000, 50], 6_940, 1),
    row(3, [200], 6_950),
    row(4, [1_000], 6_000, muted=True),
)


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make()
    assert made.ready(EXAMPLE) == ([1, 3], 30)
    assert made.ready(EXAMPLE, at_once=True) == ([0, 1, 3], 40)
    assert made.drain(7, [(0, 400), (1, 900), (3, 200)], 1_500) == [0, 1, 3]
    assert made.drain(7, [(0, 400), (1, 900), (3, 700)], 1_500) == [0, 1]
    assert made.drain(7, [(0, 400), (1, 900), (3, 700)], 1_500) == [3, 0]
    assert made.drain(8, [(2, 5_000)], 1_500) == [2]


def test_linger(make: Make) -> None:
    """a batch that is not full waits for linger.ms, from the first ms to the last ms"""
    made = make()
    for waited_ms in (0, 1, 48, 49, 50, 51, 5_000):
        made.ready([row(0, [999], NOW_MS - waited_ms)])
    made.ready([row(3, [10], NOW_MS - 20), row(5, [10], NOW_MS - 35), row(8, [10], NOW_MS - 5)])
    make(BATCH_SIZE, 0, BACKOFF_MS).ready([row(0, [1], NOW_MS)])
    made.ready([])


def test_full(make: Make) -> None:
    """batches of about batch.size bytes, and batches that have a second batch after them"""
    made = make()
    for batches in ([998], [999], [1_000], [1_001], [40_000], [5, 5], [5, 1_000], [1_000, 5]):
        made.ready([row(0, batches, NOW_MS)])


def test_at_once(make: Make) -> None:
    """flush: all batches are ready, except muted ones and those that wait for the back-off"""
    made = make()
    made.ready(
        [
            row(0, [5], NOW_MS),
            row(1, [5], NOW_MS, 1),
            row(2, [5], NOW_MS, 0, True),
            row(3, [5], NOW_MS - 99, 3),
            row(4, [5], NOW_MS - 100, 1),
            row(5, [5], NOW_MS - 100, 2, True),
        ],
        at_once=True,
    )


def test_back_off(make: Make) -> None:
    """a batch that failed, with linger.ms that is shorter or longer than the back-off"""
    for linger_ms in (0, 50, 500):
        made = make(BATCH_SIZE, linger_ms, BACKOFF_MS)
        for waited_ms in (0, 1, 49, 50, 99, 100, 101):
            for batches in ([10], [10, 10], [1_000]):
                made.ready([row(6, batches, NOW_MS - waited_ms, 1)])


def test_muted(make: Make) -> None:
    """only muted partitions, and muted partitions between other ones"""
    made = make()
    made.ready([row(0, [10], NOW_MS - 10, 0, True)])
    made.ready([row(0, [1_000], 0, 0, True), row(1, [10], NOW_MS - 20), row(2, [10], 0, 1, True)])


def test_the_first_fits_or_not(make: Make) -> None:
    """batches that fill a request exactly, or are larger than it"""
    made = make()
    made.drain(1, [(0, 700), (1, 800), (2, 1)], 1_500)
    made.drain(1, [(0, 700), (1, 800), (2, 1)], 1_500)
    made.drain(1, [(0, 9_000), (1, 10)], 1_500)
    made.drain(1, [(0, 9_000), (1, 10)], 1_500)
    made.drain(1, [(0, 10), (1, 9_000)], 1_500)
    made.drain(1, [(5, 1_500), (6, 0)], 1_500)


def test_the_next_is_small(make: Make) -> None:
    """a batch does not fit, and the smaller batch after it would fit"""
    made = make()
    made.drain(1, [(0, 1_000), (1, 1_000), (2, 10)], 1_500)
    made.drain(1, [(0, 1_000), (1, 1_000), (2, 10)], 1_500)


def test_none_starves(make: Make) -> None:
    """each request has room for one batch: each partition gets its turn"""
    made = make()
    rows = [(one, 1_000) for one in range(5)]
    assert [made.drain(3, rows, 1_000) for _ in range(7)] == [[0], [1], [2], [3], [4], [0], [1]]


def test_partitions_come_and_go(make: Make) -> None:
    """the partition that was last in a request is not ready any more, and other ones are"""
    made = make()
    for rows, _ in (
        ([(2, 900), (5, 900)], 2),
        ([(0, 900), (3, 900)], 3),
        ([(0, 900), (1, 900)], 0),
        ([(0, 900)], 0),
        ([(7, 900), (8, 900)], 7),
        ([(8, 900)], 8),
        ([(4, 900), (6, 900)], 4),
    ):
        made.drain(1, rows, 1_000)


def test_two_brokers(make: Make) -> None:
    """two brokers in turn, each with its own order"""
    made = make()
    for _ in range(5):
        made.drain(0, [(0, 900), (2, 900), (4, 900)], 1_000)
        made.drain(1, [(1, 900), (3, 900)], 1_000)


def test_any_order(make: Make, seed: int) -> None:
    """six producers, with random batches, errors and times"""
    random = Random(f"any/{seed}")
    for number in range(6):
        world = DrainWorld(
            make(), random, random.randint(1, 3), random.randint(1, 7), keeps_order=number % 2 == 0
        )
        world.run(40)
