"""Public tests of exercise 09-7. `kafka-edu lab check 09-7` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..index_world import INTERVALS, IndexWorld, Read, Segment, Written
from .material import Run, run

WANTED: Final = "(offset that a reader did not get, number of the event that added the entry)"
LINES: Final = 8
SMALL: Final = 6
"""The value size in bytes with which three records make a batch of 100 bytes."""


class Asked:
    """An index with the learner's code."""

    def __init__(self, made: LearnerObject) -> None:
        self._made = made

    def append(self, last: int, size: int) -> object:
        """Return the entry that the learner's code makes for this batch, or None."""
        return self._made.call("append", last, size)

    def look_up(self, offset: int) -> object:
        """Return the position that the learner's code finds for this offset."""
        return self._made.call("look_up", offset)


class Log:
    """A log with the learner's indexes. Each answer is compared with the broker's own index."""

    def __init__(self, learner: Learner, interval: int) -> None:
        self.interval = interval
        self.world = IndexWorld(lambda *given: Asked(learner.make(*given)), interval)

    def write(self, batches: int = 1, records: int = 3, *, gap: int = 0) -> None:
        """Write batches, each of 100 bytes if `records` is 3. Raises Mismatch for a wrong entry."""
        for _ in range(batches):
            world = self.world
            self.check_entry(world.write(world.end + gap, records, SMALL))

    def look(self, *offsets: int) -> None:
        """Look up these offsets. Raises Mismatch if a position is wrong."""
        for offset in offsets:
            self.check_position(self.world.read(offset))

    def look_everywhere(self) -> None:
        """Look up all offsets, including those in gaps. Raises Mismatch if a position is wrong."""
        self.look(*range(self.world.end))

    def go_on(self, random: Random, turns: int) -> None:
        """Do this number of random steps: write, or look up an offset. Raises Mismatch."""
        for _ in range(turns):
            what = random.random()
            if what < 0.1 and self.world.segments[-1].batches:
                self.world.roll()
            elif what < 0.6:
                world, gap = self.world, random.choice((0, 0, 1, 7))
                written = world.write(world.end + gap, random.randint(1, 6), random.randint(1, 20))
                self.check_entry(written)
                self.look(written.batch.last)
            elif self.world.end:
                self.look(random.randrange(self.world.end))

    def check_entry(self, written: Written) -> None:
        """Compare the learner's entry for a batch with the broker's entry. Raises Mismatch."""
        batch, came, right, since = written
        if came == right and type(came) is type(right):
            return
        segment = self.world.segments[-1]
        base = segment.base
        start = batch.position - since
        behind = f"{since} bytes behind {'the batch of the last entry' if start else 'the start'}"
        after = batch.position + batch.size
        if right is None:
            why = f"the batch begins {behind}, and the interval is {self.interval}"
        elif came is None:
            why = f"the batch begins {behind}: that is more than {self.interval}"
        elif isinstance(came, tuple) and came[1:] == (after,) and came[0] == right[0]:
            why = f"its batch begins at byte {batch.position}; byte {after} is the one behind it"
        elif isinstance(came, tuple) and came[1:] == right[1:]:
            why = f"the last offset of its batch is {batch.last}, and the base offset {base}"
        else:
            why = f"an entry names its own batch: {batch.last} - {base}, at byte {batch.position}"
        raise Mismatch(
            f"append({batch.last}, {batch.size}), segment {base}",
            right,
            came,
            why,
            drawing=_drawing(segment, batch.position, None),
            read="append",
        )

    def check_position(self, read: Read) -> None:
        """Check the look-up's position, and the record that the reader got. Raises Mismatch."""
        segment = self.world.segment_of(read.wanted)
        if read.came == read.right and isinstance(read.came, int):
            return
        starts = [batch.position for batch in segment.batches]
        if read.missed:
            why = f"a reader that begins there does not get record {read.should_get}"
        elif read.came not in starts:
            why = "no batch begins there"
        else:
            early = sum(read.came <= start < read.right for start in starts)
            why = f"right for the reader, but it walks over {early} batches more than it needs"
        raise Mismatch(
            f"look_up({read.wanted}), segment {segment.base}",
            read.right,
            read.came,
            why,
            drawing=_drawing(segment, read.right, read.came),
            read="look_up",
        )


def _drawing(segment: Segment, right: int, came: object) -> tuple[str, ...]:
    """Draw the batches near the position `right`, and mark where the learner's look-up leads."""
    batches = segment.batches
    middle = next((n for n, one in enumerate(batches) if one.position == right), 0)
    shown = batches[max(0, middle - LINES // 2) :][:LINES]

    def mark(position: int) -> str:
        return "  ← right" * (position == right) + "  ← your code" * (position == came)

    return tuple(
        f"byte {one.position:>5}: {one.first} to {one.last}{mark(one.position)}" for one in shown
    )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the offset that was not found, and the event that added the entry"""
    made = run(material)
    offset, event = came = two_numbers(learner, WANTED, (0, made.interval))
    if offset != made.missed.wanted:
        raise wrong_numbers(WANTED, came, _why_not_offset(made, offset))
    if event != made.missed.used:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_offset(made: Run, offset: int) -> str:
    wanted = [read for read in made.reads if read.wanted == offset]
    if not wanted:
        return f"no reader wanted offset {offset}"
    if wanted[0].got != offset:
        return f"offset {offset} is not in the log: the reader rightly got the next one"
    return f"the reader that wanted {offset} got it"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    if event not in made.entries:
        return f"event {event} adds no entry: {made.events[event - 1].strip()}"
    return f"the entry of event {event} is not the one that this reader was led by"


def test_each_entry(learner: Learner) -> None:
    """ten batches of 100 bytes: which batches get an entry, and what the entry contains"""
    Log(learner, 150).write(10)


def test_around_the_interval(learner: Learner) -> None:
    """a batch begins exactly one interval after the last indexed batch, or one byte more or less"""
    for interval in (99, 100, 101, 199, 200, 201, 300):
        Log(learner, interval).write(9)


def test_every_offset(learner: Learner) -> None:
    """every offset is looked up: the first and the last of each batch, and those between"""
    log = Log(learner, 250)
    log.write(12)
    log.look_everywhere()


def test_single_records(learner: Learner) -> None:
    """batches of one record: the first offset of a batch is also its last offset"""
    log = Log(learner, 100)
    log.write(14, 1)
    log.look_everywhere()


def test_next_segments(learner: Learner) -> None:
    """segments that begin at 15 and at 33, each with an index of its own"""
    log = Log(learner, 150)
    log.write(5)
    log.world.roll()
    log.write(6)
    log.world.roll()
    log.write(4)
    log.look_everywhere()


def test_gaps(learner: Learner) -> None:
    """offsets are missing between the batches"""
    log = Log(learner, 150)
    for gap in (0, 4, 0, 1, 9, 0, 2, 3):
        log.write(1, gap=gap)
    log.look_everywhere()


def test_while_it_grows(learner: Learner) -> None:
    """offsets are looked up after each batch"""
    log = Log(learner, 150)
    for _ in range(8):
        log.write(1)
        log.look(0, log.world.end // 2, log.world.end - 1)


def test_any_order(learner: Learner, seed: int) -> None:
    """thirty random logs, with random batches, gaps, segments and readers"""
    random = Random(f"any/{seed}")
    for _ in range(30):
        Log(learner, random.choice(INTERVALS)).go_on(random, 40)
