"""A log, its segments' sparse indexes, and readers, for exercise 09-7.

The log is the broker's own, on a disk in memory. It is a copy of a compacted log, so offsets are
missing between its batches. Each segment also has an index made by the code under test, and the
readers use this index. The broker's own index shows which entry and which position are right.
"""

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple, Protocol

from kafka_edu.log.offset_index import OffsetIndex

from .made_logs import NOW_MS, append_at, empty_log, plain_batch

INTERVALS: Final = (150, 250, 400)
"""Values of index.interval.bytes. They are small, so that a few batches need entries."""
ROLLS_AFTER: Final = 5
"""The minimum number of batches in a segment of a random log."""
Entry = tuple[int, int]
"""(offset relative to the segment's base offset, position in the segment)"""


class Indexes(Protocol):
    """The interface of the index code under test. Each segment has its own object."""

    def append(self, last: int, size: int) -> object:
        """A batch is written at the end. Return the batch's entry, or None if it gets none."""
        ...

    def look_up(self, offset: int) -> object:
        """Return the position at which a reader begins to walk to the offset."""
        ...


class Batch(NamedTuple):
    """One batch in a segment of the log."""

    first: int
    last: int
    position: int
    size: int


class Written(NamedTuple):
    """The entry that a batch got, and the right entry. `since`: the bytes from the start of
    the last batch with an entry to the start of this batch.
    """

    batch: Batch
    came: object
    right: Entry | None
    since: int


class Read(NamedTuple):
    """A look-up, and the reader that used it."""

    wanted: int
    came: object
    right: int
    got: int | None
    """The offset of the first record that the reader got; None if it got none."""
    should_get: int | None
    used: int
    """The number of the event that added the entry used by this look-up; 0 without an entry."""

    @property
    def missed(self) -> bool:
        """Whether the reader did not get the record that it wanted."""
        return self.got != self.should_get


class Segment:
    """A segment: its batches, and the index that is under test."""

    def __init__(self, base: int, code: Indexes, ours: OffsetIndex) -> None:
        self.base = base
        self.code = code
        self.ours = ours
        self.batches: list[Batch] = []
        self.added: dict[int, int] = {}
        """Position in an entry → the number of the event that added the entry."""
        self.indexed = 0
        """The position in bytes at which the batch of the last right entry begins."""

    @property
    def size(self) -> int:
        return sum(batch.size for batch in self.batches)


class IndexWorld:
    """The log and its readers. `events` lists what has happened."""

    def __init__(self, make: Callable[[int, int], Indexes], interval: int) -> None:
        """`make(base_offset, interval)` returns the index of a segment."""
        self._make = make
        self._interval = interval
        self._log = empty_log(index_interval_bytes=interval)
        self.events: list[str] = []
        self.entries: set[int] = set()
        """The numbers of the events that added an entry."""
        self.segments: list[Segment] = []
        self.reads: list[Read] = []
        self._begin()

    @property
    def end(self) -> int:
        """The log's end: the lowest offset with which the next batch may begin."""
        return self._log.log_end_offset

    def _say(self, words: str) -> int:
        """Add an event to `events`, and return its number."""
        self.events.append(words)
        return len(self.events)

    def _begin(self) -> None:
        base = self._log.active_segment.base_offset
        ours = self._log.active_segment.offset_index
        self.segments.append(Segment(base, self._make(base, self._interval), ours))
        self._say(f"a segment begins: its base offset is {base}")

    def go_on(self, random: Random) -> None:
        """Do one random step."""
        full = len(self.segments[-1].batches) >= ROLLS_AFTER
        match random.choices(("write", "read", "roll"), (6, 4, full))[0]:
            case "write":
                self._write_any(random)
            case "read":
                self._read_any(random)
            case _:
                self.roll()

    def _write_any(self, random: Random) -> None:
        gap = random.choice((0, 0, 0, 1, 4))
        self.write(self.end + gap, random.choice((1, 2, 3, 5)), random.randint(1, 12))

    def _read_any(self, random: Random) -> None:
        every = [batch for segment in self.segments for batch in segment.batches]
        if not every:
            return
        at = random.randrange(len(every))
        batch, before = every[at], every[at - 1].last if at else -1
        wanted = (batch.first, batch.last, random.randint(batch.first, batch.last), before + 1)
        self.read(random.choice(wanted))

    def roll(self) -> None:
        """Close the segment, and begin the next one."""
        self._log.roll(NOW_MS)
        self._begin()

    def write(self, first: int, records: int, value_bytes: int) -> Written:
        """Write a batch. Its first offset is at the log's end or after it."""
        segment, bytes_of_it = self.segments[-1], plain_batch(records, value_bytes)
        batch = Batch(first, first + records - 1, segment.size, len(bytes_of_it))
        entries = segment.ours.entries
        append_at(self._log, first, bytes_of_it)
        right = None
        if segment.ours.entries > entries:
            entry = segment.ours.entry(entries)
            right = entry.offset - segment.base, entry.position
        since = batch.position - segment.indexed
        segment.indexed = right[1] if right is not None else segment.indexed
        segment.batches.append(batch)
        self._say(f"{in_words(batch)} written at byte {batch.position}: {batch.size} bytes")
        came = segment.code.append(batch.last, batch.size)
        match came:
            case (int(relative), int(position)):
                words = f"relative offset {relative}, byte {position}"
                segment.added[position] = number = self._say(f"  the index gets an entry: {words}")
                self.entries.add(number)
        return Written(batch, came, right, since)

    def segment_of(self, offset: int) -> Segment:
        """Return the segment in which an offset is looked up."""
        return next(one for one in reversed(self.segments) if one.base <= offset)

    def read(self, wanted: int) -> Read:
        """Let a reader look up an offset, and walk from the position that it gets."""
        segment = self.segment_of(wanted)
        came = segment.code.look_up(wanted)
        read = Read(
            wanted=wanted,
            came=came,
            right=segment.ours.lookup(wanted).position,
            got=self._first_record(segment, came, wanted),
            should_get=self._first_record(segment, 0, wanted),
            used=segment.added.get(came, 0) if isinstance(came, int) else 0,
        )
        self.reads.append(read)
        where = f"byte {came} of segment {segment.base}"
        got = "no record" if read.got is None else f"record {read.got}"
        self._say(f"a reader wants {wanted}: led to {where}, it gets {got}")
        return read

    def _first_record(self, segment: Segment, position: object, wanted: int) -> int | None:
        """Return the first offset that a reader gets if it begins to walk at `position`."""
        if not isinstance(position, int):
            return None
        for one in self.segments[self.segments.index(segment) :]:
            for batch in one.batches:
                behind = one is not segment or batch.position >= position
                if behind and batch.last >= wanted:
                    return max(batch.first, wanted)
        return None


def in_words(batch: Batch) -> str:
    """Return a text with a verb that names the offsets of a batch."""
    if batch.first == batch.last:
        return f"offset {batch.first} is"
    return f"offsets {batch.first} to {batch.last} are"
