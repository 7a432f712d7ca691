"""Public tests of exercise 15-2. `kafka-edu lab check 15-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner
from kafka_edu.record.record_batch import NO_PRODUCER_ID

from ...runner.mismatch import Mismatch
from ..committed_world import ABORT, COMMIT, PLAIN, Batch, CommittedWorld

NOBODY: Final = NO_PRODUCER_ID


class Partition:
    """The learner's object of one partition, compared with the broker's log and reader."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self.world = CommittedWorld()

    def write(self, *producers: int, count: int = 1) -> None:
        """Let each of these producers write a batch."""
        for producer in producers:
            begins = producer != NOBODY and producer not in self.world.open
            batch = self.world.write(producer, count)
            if begins:
                self._made.call("opened", producer, batch.base)

    def decide(self, producer: int, kind: str) -> None:
        """Write the marker that ends the producer's transaction."""
        is_open = producer in self.world.open
        batch = self.world.decide(producer, kind)
        if is_open:
            self._made.call("ended", producer, batch.base)

    def stable(self, high_watermark: int | None = None) -> int:
        """Move the high watermark, and compare the LSO. Raises Mismatch."""
        world = self.world
        mark = world.end if high_watermark is None else high_watermark
        world.replicate(mark)
        expected = world.log.last_stable_offset
        came = self._made.call("last_stable", mark)
        if came != expected or isinstance(came, bool):
            raise Mismatch(
                f"last_stable({mark})",
                expected,
                came,
                self._why_stable(mark, expected, came),
                drawing=self._drawing(world.batches),
                read="last_stable",
            )
        return expected

    def _why_stable(self, mark: int, expected: int, came: object) -> str:
        if expected == mark:
            return "no transaction that begins below the high watermark is unstable"
        producer = next(one.producer for one in self.world.batches if one.base == expected)
        if self.world.open.get(producer) == expected:
            return f"producer {producer}'s transaction at {expected} is open, and the oldest"
        return f"the marker of the transaction at {expected} is not below the high watermark {mark}"

    def aborted(self, start: int, end: int) -> None:
        """Compare the aborted transactions of a fetch. Raises Mismatch."""
        rows = [(one.producer_id, one.first_offset, one.last_offset) for one in self.world.index]
        expected = tuple(self.world.aborted(start, end))
        came = self._made.call("aborted", rows, start, end)
        if came == expected:
            return
        wrong = [row for row in rows if (row[:2] in expected) != (_has(came, row[:2]))]
        why = (
            "the answer has the rows in the order of the index"
            if not wrong
            else f"the transaction from {wrong[0][1]} to its marker at {wrong[0][2]}"
            f" {'overlaps' if wrong[0][:2] in expected else 'does not overlap'} the fetch"
        )
        raise Mismatch(
            f"aborted({rows}, {start}, {end})", expected, came, why, drawing=(), read="aborted"
        )

    def read(self, start: int = 0, end: int | None = None) -> None:
        """Compare the batches that the program gets from these offsets. Raises Mismatch."""
        world = self.world
        end = world.end if end is None else end
        batches = [one for one in world.batches if one.last >= start and one.base < end]
        start = batches[0].base if batches else start
        aborted = world.aborted(start, end)
        delivered = {*world.read(start, end)} if batches else set()
        expected = tuple(one.base for one in batches if one.base in delivered)
        came = self._made.call("read", batches, aborted)
        if came == expected:
            return
        wrong = next(
            (one for one in batches if (one.base in expected) != _has(came, one.base)), None
        )
        raise Mismatch(
            f"read(batches {start} to {end - 1}, {aborted})",
            expected,
            came,
            self._why_read(wrong, wrong is not None and wrong.base in expected),
            drawing=self._drawing(batches),
            read="read",
        )

    def _why_read(self, wrong: Batch | None, wanted: bool) -> str:
        if wrong is None:
            return "the batches are returned once, in their order"
        if wrong.kind in (COMMIT, ABORT):
            return f"the batch at {wrong.base} is a marker, which no program gets"
        if wrong.kind == PLAIN:
            return f"the batch at {wrong.base} belongs to no transaction"
        ended = "is not aborted" if wanted else "is aborted"
        return f"the transaction of producer {wrong.producer} to which {wrong.base} belongs {ended}"

    def _drawing(self, batches: Sequence[Batch]) -> tuple[str, ...]:
        return tuple(
            f"offset {one.base}: {one.kind}"
            + (f" of producer {one.producer}" if one.producer != NOBODY else "")
            for one in batches[-14:]
        )


def _has(came: object, one: object) -> bool:
    return isinstance(came, tuple) and one in came


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    one = Partition(learner)
    one.write(1, 2, 1)
    one.stable()
    one.decide(1, ABORT)
    one.stable(3)
    one.stable(4)
    one.decide(2, COMMIT)
    one.write(1)
    one.stable()
    one.aborted(2, 5)
    one.aborted(4, 6)
    one.read()


def test_no_transactions(learner: Learner) -> None:
    """producers without ids: the LSO is the high watermark, and everything is read"""
    one = Partition(learner)
    one.stable(0)
    one.write(NOBODY, NOBODY, count=3)
    for mark in (0, 2, 6):
        one.stable(mark)
    one.aborted(0, 6)
    one.read()


def test_the_marker_must_be_replicated(learner: Learner) -> None:
    """a marker is in the log, and the high watermark reaches it step by step"""
    one = Partition(learner)
    one.write(NOBODY, 7, 7, NOBODY)
    one.decide(7, COMMIT)
    one.write(NOBODY, NOBODY)
    for mark in range(one.world.end + 1):
        one.stable(mark)


def test_the_next_transaction_of_a_producer(learner: Learner) -> None:
    """a producer's next transaction begins before the marker of the last one is replicated"""
    one = Partition(learner)
    one.write(NOBODY, 3)
    one.decide(3, COMMIT)
    one.write(3)
    one.decide(3, ABORT)
    one.write(3, NOBODY)
    for mark in range(one.world.end + 1):
        one.stable(mark)


def test_one_that_hangs(learner: Learner) -> None:
    """one transaction stays open, and other producers commit after it"""
    one = Partition(learner)
    one.write(5, 6)
    for producer in (6, 8, 9):
        one.write(producer)
        one.decide(producer, COMMIT)
        one.stable()
    one.decide(5, ABORT)
    one.stable()
    one.read()


def test_overlaps(learner: Learner) -> None:
    """fetches that begin and end at each offset around two aborted transactions"""
    one = Partition(learner)
    one.write(NOBODY, 1, 2, NOBODY, 1)
    one.decide(2, ABORT)
    one.write(NOBODY)
    one.decide(1, ABORT)
    one.write(NOBODY)
    for start in range(one.world.end):
        for end in range(start + 1, one.world.end + 1):
            one.aborted(start, end)


def test_the_filter(learner: Learner) -> None:
    """aborted, committed and plain batches of several records, read from each batch on"""
    one = Partition(learner)
    one.write(1, 2, count=2)
    one.write(NOBODY, 1)
    one.decide(2, ABORT)
    one.write(2, 2)
    one.decide(1, ABORT)
    one.write(1, NOBODY)
    one.decide(2, COMMIT)
    one.decide(1, COMMIT)
    one.write(2)
    one.decide(2, ABORT)
    one.write(NOBODY)
    for batch in one.world.batches:
        one.read(batch.base)
        one.read(0, batch.last + 1)


def test_the_order_of_the_markers(learner: Learner) -> None:
    """the transaction that began last was aborted first"""
    one = Partition(learner)
    one.write(1, 2, 3)
    for producer in (3, 2, 1):
        one.decide(producer, ABORT)
    one.write(1, 2)
    one.decide(2, COMMIT)
    one.decide(1, ABORT)
    one.read()
    one.read(1)
    one.aborted(0, one.world.end)


def test_a_marker_without_records(learner: Learner) -> None:
    """a producer's abort marker comes to a partition in which it has written nothing"""
    one = Partition(learner)
    one.write(NOBODY)
    one.decide(4, ABORT)
    one.write(4)
    one.decide(4, COMMIT)
    one.stable()
    one.read()


def test_random(learner: Learner, seed: int) -> None:
    """four producers, two hundred steps"""
    random = Random(f"committed/{seed}")
    play(Partition(learner), random, 4, 200)


def play(one: Partition, random: Random, producers: int, steps: int) -> None:
    """Let producers write, commit and abort at random. Compare all answers. Raises Mismatch."""
    mark = 0
    for _ in range(steps):
        world = one.world
        match random.random():
            case luck if luck < 0.4:
                one.write(random.randrange(producers), count=random.randint(1, 3))
            case luck if luck < 0.5:
                one.write(NOBODY, count=random.randint(1, 3))
            case luck if luck < 0.7 and world.open:
                one.decide(random.choice(sorted(world.open)), random.choice((ABORT, COMMIT)))
            case luck if luck < 0.85:
                mark = random.randint(mark, world.end)
                one.stable(mark)
            case luck if luck < 0.92 and world.end:
                start = random.randrange(world.end)
                one.aborted(start, random.randint(start + 1, world.end))
            case _ if world.batches:
                first, last = sorted(random.choices(world.batches, k=2))
                one.read(first.base, last.last + 1)
