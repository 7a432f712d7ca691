"""Simulated producers, whose callbacks the class of 12-4 stores. Only the order of events counts.

A broker may refuse a batch as too large. The producer then divides the batch into smaller batches,
its parts. A part may be divided again.
"""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

TOO_LARGE: Final = "MESSAGE_TOO_LARGE"
FAILURES: Final = ("NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "NETWORK_EXCEPTION")
"""The errors after which a batch is sent again, until delivery.timeout.ms is over."""
Called = tuple[int, int]
"""A callback that is called: the place of its record in the batch, and the record."""


class Callbacks(Protocol):
    """The class of the exercise. The place of a record is its position in its batch, from 0 on."""

    def added(self, batch: int, place: int, record: int) -> object:
        """A record with a callback was put into a batch."""

    def divided(self, batch: int, parts: Sequence[tuple[int, int]]) -> object:
        """A batch was divided into `parts`: (number of the part, number of its records)."""

    def ended(self, batch: int) -> object:
        """A batch has ended. Return (place, record) of each callback that has to be called now."""


class WrongAnswerError(Exception):
    """An answer of the class is wrong."""

    def __init__(self, call: str, expected: object, came: object, why: str) -> None:
        super().__init__(why)
        self.call, self.expected, self.came, self.why = call, expected, came, why


class Row(NamedTuple):
    """A record in its batch."""

    record: int
    has_callback: bool


class CallbackWorld:
    """A producer. With `strict`, each answer is checked, and a wrong one raises WrongAnswerError.
    Otherwise the world uses all answers unchecked, even wrong ones.
    """

    def __init__(self, made: Callbacks, *, strict: bool) -> None:
        self._made = made
        self._strict = strict
        self.events: list[str] = []
        self.calls: list[str] = []
        """The calls of the class, as text."""
        self.open: dict[str, int] = {}
        """The batch of each partition that takes records."""
        self.batches: dict[int, list[Row]] = {}
        """The records of each batch without an end."""
        self._partitions: dict[int, str] = {}
        self._offsets: dict[str, int] = {}
        self.records = self.numbers = 0
        self.called: list[int] = []
        """The records whose callbacks were called, in this order."""
        self.ends: dict[int, int] = {}
        """Record with a callback → the batch that the record was in when the batch ended."""

    def record(self, partition: str, *, callback: bool = True) -> int:
        """Let a record come, and return the number of its batch."""
        self.records += 1
        batch = self.open.get(partition)
        if batch is None:
            batch = self.open[partition] = self._begin(partition)
        rows = self.batches[batch]
        place = len(rows)
        rows.append(Row(self.records, callback))
        without = "" if callback else ", and has no callback"
        self.events.append(
            f"record {self.records} goes into batch {batch} of {partition}, at place {place}"
            + without
        )
        if callback:
            self._tell("added", batch, place, self.records)
        return batch

    def _begin(self, partition: str) -> int:
        self.numbers += 1
        self._partitions[self.numbers] = partition
        self.batches[self.numbers] = []
        return self.numbers

    def _tell(self, method: str, *arguments: object) -> None:
        self.calls.append(f"{method}({', '.join(map(repr, arguments))})")
        match method, arguments:
            case "added", (int(batch), int(place), int(record)):
                self._made.added(batch, place, record)
            case "divided", (int(batch), list(parts)):
                self._made.divided(batch, parts)

    def send(self, batch: int) -> None:
        """Close a batch, and send it."""
        partition = self._partitions[batch]
        if self.open.get(partition) == batch:
            del self.open[partition]
        self.events.append(f"batch {batch} is sent: {_records(len(self.batches[batch]))}")

    def again(self, batch: int, error: str) -> None:
        """Let a batch be refused. It waits to be sent again, and no callback is called."""
        self.events.append(f"batch {batch}: {error}. It will be sent again")

    def divide(self, batch: int, counts: Sequence[int]) -> list[int]:
        """Divide a batch into parts with these numbers of records. Return the parts' ids."""
        rows = self.batches.pop(batch)
        partition = self._partitions[batch]
        assert sum(counts) == len(rows)
        parts = [self._begin(partition) for _ in counts]
        first = 0
        for part, count in zip(parts, counts, strict=True):
            self.batches[part] = rows[first : first + count]
            first += count
        sizes = list(zip(parts, counts, strict=True))
        listed = ", ".join(f"batch {part} has {_records(count)}" for part, count in sizes)
        self.events.append(f"batch {batch}: {TOO_LARGE}. It is divided: {listed}")
        self._tell("divided", batch, sizes)
        return parts

    def end(self, batch: int, error: str = "") -> None:
        """Let a batch be stored, or fail with an error. Raises WrongAnswerError."""
        rows = self.batches.pop(batch)
        partition = self._partitions[batch]
        base = self._offsets.get(partition, 0)
        if error:
            self.events.append(f"batch {batch} fails: {error}")
        else:
            self._offsets[partition] = base + len(rows)
            self.events.append(
                f"batch {batch} is stored: {_records(len(rows))}, from offset {base} on"
            )
        expected = [(place, row.record) for place, row in enumerate(rows) if row.has_callback]
        self.ends |= {record: batch for _, record in expected}
        came = self._made.ended(batch)
        if self._strict:
            self._check(batch, expected, came)
        self.calls.append(f"ended({batch}) → {expected}")
        for place, record in pairs(came) or []:
            self.called.append(record)
            where = error or f"offset {base + place}"
            self.events.append(f"the callback of record {record} is called: {where}")

    def _check(self, batch: int, expected: list[Called], came: object) -> None:
        found = pairs(came)
        if found == expected:
            return
        call = f"ended({batch})"
        if found is None:
            why = "the answer is a list of (place, record)"
            raise WrongAnswerError(call, expected, came, why)
        raise WrongAnswerError(call, expected, found, self._why(batch, expected, found))

    def _why(self, batch: int, expected: list[Called], found: list[Called]) -> str:
        places = {record: place for place, record in expected}
        for place, record in expected:
            if record not in [one for _, one in found]:
                return (
                    f"record {record} is in batch {batch}, at place {place}, and this is its end:"
                    " its callback never comes"
                )
        for place, record in found:
            if record not in places:
                return f"record {record} is not in batch {batch}, or it has no callback"
            if place != places[record]:
                return f"record {record} is at place {places[record]} of batch {batch}"
        if len(found) > len(expected):
            return "each callback is called once"
        return "the callbacks are called in the order of the records"

    def partition_of(self, batch: int) -> str:
        """Return the partition of a batch."""
        return self._partitions[batch]

    def lost(self) -> list[int]:
        """Return the records whose batch has ended, but whose callback was not called."""
        return sorted(set(self.ends) - set(self.called))


def pairs(came: object) -> list[Called] | None:
    """Return an answer of the method `Callbacks.ended` as a list of (place, record): the record's
    place in its batch, and the record. Return None if the answer is not such a list.
    """
    if not isinstance(came, list | tuple):
        return None
    found: list[Called] = []
    for one in came:
        match one:
            case (int(place), int(record)):
                found.append((place, record))
            case _:
                return None
    return found


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def live(
    world: CallbackWorld,
    random: Random,
    limits: dict[str, int],
    records: int,
    *,
    unwatched: float = 0.2,
) -> None:
    """Send `records` records, and let all batches end. A broker takes at most `limits` records in a
    batch of a partition.
    """
    waiting: list[int] = []
    for _ in range(records):
        partition = random.choice([*limits])
        batch = world.record(partition, callback=random.random() >= unwatched)
        if random.random() < 0.12:
            world.send(batch)
            waiting.append(batch)
        if waiting and random.random() < 0.25:
            _answer(world, random, limits, waiting)
    for batch in list(world.open.values()):
        world.send(batch)
        waiting.append(batch)
    while waiting:
        _answer(world, random, limits, waiting)


def _answer(
    world: CallbackWorld, random: Random, limits: dict[str, int], waiting: list[int]
) -> None:
    """Let the broker answer one of the batches that were sent."""
    batch = waiting.pop(random.randrange(len(waiting)))
    count = len(world.batches[batch])
    limit = limits[world.partition_of(batch)]
    draw = random.random()
    if draw < 0.12:
        world.again(batch, random.choice(FAILURES))
        waiting.append(batch)
    elif count > limit:
        half = (count + 1) // 2
        counts = [half, count - half]
        if count > 3 and random.random() < 0.3:
            counts = [half - 1, count - half, 1]
        waiting += world.divide(batch, counts)
    else:
        world.end(batch, "TimeoutException" if draw > 0.92 else "")
