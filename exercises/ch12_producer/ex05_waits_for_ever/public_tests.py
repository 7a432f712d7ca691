"""Public tests of exercise 12-5. `kafka-edu lab check 12-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..linger_world import BATCH_SIZE, LINGER_MS, LingerWorld, WrongAnswerError, trickle
from .material import run

WANTED: Final = "(number of the batch, ms at which it had to go)"
LINES: Final = 10
START_MS: Final = 1_000
WEB: Final = "web-0"


class Asked:
    """An accumulator with the learner's code, as the simulated producer calls it."""

    def __init__(self, learner: Learner, batch_size: int, linger_ms: int) -> None:
        self._made = learner.make(batch_size, linger_ms)

    def append(self, partition: str, size: int, now_ms: int) -> object:
        """Return the number of the record's batch."""
        return self._made.call("append", partition, size, now_ms)

    def ready(self, now_ms: int) -> object:
        """Return the numbers of the batches that are sent now."""
        return self._made.call("ready", now_ms)

    def next_ms(self, now_ms: int) -> object:
        """Return the ms until the producer has to wake up; None if no batch waits."""
        return self._made.call("next_ms", now_ms)


class World:
    """A producer with the learner's code. Each answer is checked."""

    def __init__(
        self, learner: Learner, batch_size: int = BATCH_SIZE, linger_ms: int = LINGER_MS
    ) -> None:
        made = Asked(learner, batch_size, linger_ms)
        self.world = LingerWorld(made, batch_size, linger_ms, START_MS, strict=True)

    def records(self, *records: tuple[int, int], partition: str = WEB) -> None:
        """Send records. Each is given as (ms after the start, bytes). Raises Mismatch."""
        try:
            for after_ms, size in records:
                self.world.record(partition, size, START_MS + after_ms)
        except WrongAnswerError as error:
            raise self._mismatch(error) from None

    def until(self, after_ms: int) -> None:
        """Let time pass. Raises Mismatch."""
        try:
            self.world.until(START_MS + after_ms)
        except WrongAnswerError as error:
            raise self._mismatch(error) from None

    def trickle(self, random: Random, partitions: Sequence[str], records: int) -> None:
        """Send random records, and then wait until no batch waits. Raises Mismatch."""
        try:
            trickle(self.world, random, partitions, records)
            self.world.until(self.world.now_ms + 10_000)
        except WrongAnswerError as error:
            raise self._mismatch(error) from None
        assert not self.world.open

    def _mismatch(self, error: WrongAnswerError) -> Mismatch:
        events = list(enumerate(self.world.events, 1))[-LINES:]
        return Mismatch(
            error.call,
            error.expected,
            error.came,
            error.why,
            drawing=tuple(f"{number:>3}  {text}" for number, text in events),
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the batch that waits, and the ms at which it had to be sent"""
    made = run(material)
    batch, due_ms = came = two_numbers(learner, WANTED, (BATCH_SIZE, made.linger_ms))
    if batch != made.batch:
        why = (
            f"batch {batch} went in time, or its time is not over yet"
            if batch in made.others
            else f"there is no batch {batch}"
        )
        raise wrong_numbers(WANTED, came, why)
    if due_ms != made.due_ms:
        why = f"linger.ms is {made.linger_ms}: when did the first record of batch {batch} come?"
        raise wrong_numbers(WANTED, came, why)


def test_a_record_now_and_then(learner: Learner) -> None:
    """a record each 30 ms, and linger.ms is 50"""
    world = World(learner)
    world.records(*((30 * number, 90) for number in range(12)))
    world.until(2_000)


def test_one_record(learner: Learner) -> None:
    """a single record is sent after linger.ms"""
    world = World(learner)
    world.records((0, 90))
    world.until(500)
    world.records((600, 90))
    world.until(700)


def test_full(learner: Learner) -> None:
    """full batches go at once: exactly full, no room for the next record, or too large"""
    world = World(learner)
    world.records((0, 400), (0, 600), (1, 999), (2, 2), (3, 998), (4, 1_000), (5, 5_000), (6, 10))
    world.until(500)


def test_partitions(learner: Learner) -> None:
    """two partitions, whose times do not affect each other"""
    world = World(learner)
    world.records((0, 90))
    world.records((20, 90), partition="web-1")
    world.records((40, 90))
    world.records((45, 90), partition="web-1")
    world.records((60, 90))
    world.until(500)


def test_no_linger(learner: Learner) -> None:
    """linger.ms is 0: each record goes at once"""
    world = World(learner, BATCH_SIZE, 0)
    world.records((0, 90), (0, 90), (7, 90))
    world.until(100)


def test_at_that_very_ms(learner: Learner) -> None:
    """records one ms before linger.ms is over, at that ms, and one ms later"""
    for at_ms in (49, 50, 51):
        world = World(learner)
        world.records((0, 90), (at_ms, 90))
        world.until(500)


def test_any_rate(learner: Learner, seed: int) -> None:
    """twelve producers, with records at random rates"""
    random = Random(f"rate/{seed}")
    for _ in range(12):
        world = World(learner, BATCH_SIZE, random.choice((0, 7, 50, 80)))
        world.trickle(random, [f"web-{n}" for n in range(random.randint(1, 4))], 50)
