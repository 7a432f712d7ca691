"""The world of exercise 12-5: a producer whose accumulator decides when each batch is sent."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

BATCH_SIZE: Final = 1_000
LINGER_MS: Final = 50


class Accumulator(Protocol):
    """The accumulator that is tried: the starter's, or a learner's."""

    def append(self, partition: str, size: int, now_ms: int) -> object: ...

    def ready(self, now_ms: int) -> object: ...

    def next_ms(self, now_ms: int) -> object: ...


class WrongAnswerError(Exception):
    """An answer that the rules do not allow."""

    def __init__(self, call: str, expected: object, came: object, why: str) -> None:
        super().__init__(why)
        self.call = call
        self.expected = expected
        self.came = came
        self.why = why


class Waiting(NamedTuple):
    """A batch that waits, by the rules."""

    number: int
    partition: str
    size: int
    first_ms: int


class LingerWorld:
    """A producer in virtual time. It wakes up when the accumulator says so, and for each record.

    With `strict`, each answer is checked, and a wrong one raises WrongAnswerError. Otherwise the
    answers are used unchecked, even wrong ones.
    """

    def __init__(
        self, made: Accumulator, batch_size: int, linger_ms: int, start_ms: int, *, strict: bool
    ) -> None:
        self._made = made
        self._batch_size = batch_size
        self._linger_ms = linger_ms
        self._strict = strict
        self.now_ms = start_ms
        self.events: list[str] = []
        self.open: dict[str, Waiting] = {}
        """The batch of each partition that takes records."""
        self._full: list[Waiting] = []
        self._numbers = 0
        self._wake_ms: int | None = None

    def record(self, partition: str, size: int, at_ms: int) -> None:
        """Send a record at this time. Before that, batches may be sent. Raises WrongAnswerError."""
        self.until(at_ms)
        before = self.open.get(partition)
        if before is None or before.size + size > self._batch_size:
            if before is not None:
                self._full.append(before)
            self._numbers += 1
            batch = Waiting(self._numbers, partition, size, at_ms)
            text = f"begins batch {batch.number} of {partition}"
        else:
            batch = before._replace(size=before.size + size)
            text = (
                f"goes into batch {batch.number} of {partition}: {batch.size:,} bytes of"
                f" {self._batch_size:,}"
            )
        self.open[partition] = batch
        self._note(f"a record of {size} bytes {text}")
        came = self._made.append(partition, size, at_ms)
        if came != batch.number or isinstance(came, bool):
            why = (
                "the batch has no room for it, or there is none: a new one begins"
                if batch.size == size
                else f"batch {batch.number} has room for it"
            )
            call = f"append({partition!r}, {size}, {at_ms})"
            raise WrongAnswerError(call, batch.number, came, why)
        self._look()

    def until(self, at_ms: int) -> None:
        """Let time pass, with all wake-ups before this time. Raises WrongAnswerError."""
        while self._wake_ms is not None and self._wake_ms <= at_ms:
            self.now_ms = self._wake_ms
            self._look()
        self.now_ms = at_ms

    def overdue(self) -> list[Waiting]:
        """Return the batches that still wait although they had to be sent."""
        limit_ms = self.now_ms - self._linger_ms
        return [batch for batch in self.open.values() if batch.first_ms < limit_ms]

    def _look(self) -> None:
        """Ask the accumulator which batches are sent now, and when to wake up."""
        came = self._made.ready(self.now_ms)
        if not isinstance(came, list | tuple):
            raise WrongAnswerError(
                f"ready({self.now_ms})", "a list of numbers", came, "it lists batches"
            )
        if self._strict:
            self._check_ready(list(came))
        gone = {*came}
        for batch in sorted([*self._full, *self.open.values()]):
            if batch.number in gone:
                self._note(f"batch {batch.number} of {batch.partition} goes: {batch.size:,} bytes")
        self._full = [batch for batch in self._full if batch.number not in gone]
        self.open = {name: one for name, one in self.open.items() if one.number not in gone}
        wake = self._made.next_ms(self.now_ms)
        if self._strict:
            self._check_wake(wake)
        self._wake_ms = self.now_ms + max(1, wake) if isinstance(wake, int) else None

    def _goes(self, batch: Waiting) -> bool:
        """Return whether an open batch has to be sent now."""
        return batch.size >= self._batch_size or self.now_ms >= batch.first_ms + self._linger_ms

    def _check_ready(self, came: Sequence[object]) -> None:
        call = f"ready({self.now_ms})"
        expected = sorted([*self._full, *(one for one in self.open.values() if self._goes(one))])
        numbers = [batch.number for batch in expected]
        if came == numbers and not any(isinstance(one, bool) for one in came):
            return
        raise WrongAnswerError(call, numbers, list(came), self._why_ready(numbers, came))

    def _why_ready(self, numbers: Sequence[int], came: Sequence[object]) -> str:
        for batch in sorted(self._full):
            if batch.number not in came:
                return f"batch {batch.number} is full: another one has begun behind it"
        for batch in sorted(self.open.values()):
            waited_ms = self.now_ms - batch.first_ms
            if batch.number in numbers and batch.number not in came:
                if batch.size >= self._batch_size:
                    return f"batch {batch.number} is full: it has {batch.size} bytes"
                return (
                    f"the first record of batch {batch.number} came {waited_ms} ms ago, and"
                    f" linger.ms is {self._linger_ms}"
                )
            if batch.number in came and batch.number not in numbers:
                return (
                    f"batch {batch.number} has room, and its first record came only"
                    f" {waited_ms} ms ago"
                )
        return "each batch that goes is there once, the lowest number first"

    def _check_wake(self, came: object) -> None:
        waits = [one.first_ms + self._linger_ms - self.now_ms for one in self.open.values()]
        expected = min(waits, default=None)
        if came == expected and not isinstance(came, bool):
            return
        if expected is None:
            why = "nothing waits, so there is nothing to wake up for"
        else:
            why = (
                f"in {expected} ms linger.ms of the oldest batch is over, and no other event wakes"
                " it"
            )
        raise WrongAnswerError(f"next_ms({self.now_ms})", expected, came, why)

    def _note(self, text: str) -> None:
        self.events.append(f"{self.now_ms:>7,} ms  {text}")


def trickle(world: LingerWorld, random: Random, partitions: Sequence[str], records: int) -> None:
    """Send records to the partitions. Each partition has its own rate, with some bursts."""
    gaps = {name: random.choice((5, 20, 45, 60, 200)) for name in partitions}
    due = {name: world.now_ms + random.randint(0, gaps[name]) for name in partitions}
    for _ in range(records):
        name = min(partitions, key=lambda one: due[one])
        world.record(name, random.choice((40, 90, 200, 990, 1_000, 1_400)), due[name])
        due[name] += random.choice((0, 1, gaps[name] // 2, gaps[name], 2 * gaps[name]))
