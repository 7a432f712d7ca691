"""Public tests of exercise 16-7. Run them with `kafka-edu lab check 16-7`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..segments_made import Batch, Made, random_segment, written

ROUNDS: Final = 12
PLAIN: Final = tuple(Batch() for _ in range(8))


class Checked:
    """Calls the learner's Segment about one segment, and checks the answers."""

    def __init__(self, learner: Learner, made: Made) -> None:
        self._segment = learner.make(made.base_offset, made.log, made.index_file)
        self.made = made

    def _agrees(self, method: str, expected: object, why: str, *arguments: object) -> None:
        came = self._segment.call(method, *arguments)
        if isinstance(came, dict):  # JSON has no tuples
            came = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in came.items()
            }
        if came != expected or isinstance(came, bool):
            shown = ", ".join(map(str, arguments))
            raise Mismatch(
                f"{method}({shown}) of a segment of {len(self.made.log)} bytes",
                expected,
                came,
                why,
                drawing=self.made.drawing(),
                read=method,
            )

    def batches(self, why: str = "a batch is 12 bytes longer than its length says") -> None:
        came = self._segment.call("batches")
        expected = tuple(row.shown for row in self.made.rows)
        if came == expected:
            return
        rows = came if isinstance(came, tuple) else ()
        for number, (right, row) in enumerate(zip(expected, rows, strict=False)):
            if right != row:
                raise Mismatch(
                    f"batches(), batch {number}", right, row, why, drawing=self.made.drawing()
                )
        raise Mismatch(
            "batches()",
            f"{len(expected)} batches",
            f"{len(rows)} batches" if isinstance(came, tuple) else came,
            why,
            drawing=self.made.drawing(),
        )

    def codecs(
        self, why: str = "count the batches of users, their records and their bytes"
    ) -> None:
        self._agrees("codecs", self.made.codecs(), why)

    def start(self, offset: int, why: str = "") -> None:
        said = why or (
            f"the entries are {list(self.made.entries[:6])}, offset and position. A search begins"
            f" at the last one that is not above {offset}"
        )
        self._agrees("start", self.made.start(offset), said, offset)

    def find(self, offset: int, why: str = "") -> None:
        start = self.made.start(offset)
        said = why or (
            f"the search begins at position {start}, as start({offset}) says, and ends at the first"
            f" batch whose last offset is not below {offset}. Each head that it reads counts"
        )
        self._agrees("find", self.made.find(offset), said, offset)

    def longest_walk(
        self,
        why: str = "the first offset of a batch has the longest way to it: from start(offset) to"
        " the batch's position",
    ) -> None:
        self._agrees("longest_walk", self.made.longest_walk(), why)

    def offsets(self) -> list[int]:
        """Return the first and last offset of each batch, and the offsets next to them."""
        ends = {row.first for row in self.made.rows} | {row.last for row in self.made.rows}
        return sorted({at + by for at in ends for by in (-1, 0, 1)})


MakeSegment = Callable[[Made], Checked]


@pytest.fixture
def segment(learner: Learner) -> MakeSegment:
    """A function that gives a made segment to the learner's Segment, with checks."""
    return lambda made: Checked(learner, made)


def test_batches(segment: MakeSegment) -> None:
    """position, offsets and number of records of each batch"""
    segment(written([])).batches()
    segment(written([Batch(1)])).batches()
    segment(written(PLAIN, 368_769)).batches()


def test_codec_names(segment: MakeSegment) -> None:
    """the name of each batch's codec"""
    segment(written([Batch(codec=codec, records=9) for codec in range(5)])).batches(
        "1 is gzip, 2 snappy, 3 lz4, 4 zstd"
    )


def test_attributes(segment: MakeSegment) -> None:
    """the codec of a batch that belongs to a transaction"""
    made = written([Batch(codec=codec, transactional=True) for codec in range(5)])
    why = "only the bits 0 to 2 of the attributes are the codec; bit 4 says transactional"
    segment(made).batches(why)
    segment(made).codecs(why)


def test_compacted(segment: MakeSegment) -> None:
    """the number of records in compacted batches"""
    made = written([Batch(3, lost=2), Batch(2, skip=7), Batch(1, lost=9)])
    why = "compaction removed records and left the offsets: only the head knows the count"
    segment(made).batches(why)
    segment(made).codecs(why)


def test_markers(segment: MakeSegment) -> None:
    """`batches` contains markers, but `codecs` does not count them"""
    made = written([Batch(transactional=True), Batch(marker=True), Batch()])
    segment(made).batches("a marker is a batch too: its position and offset are taken")
    segment(made).codecs("a marker is a control batch, bit 5 of the attributes: no user wrote it")


def test_codecs(segment: MakeSegment) -> None:
    """the number of batches, records and bytes of each codec"""
    made = written([Batch(9, codec, width=90) for codec in (0, 1, 2, 3, 4, 1, 4, 4)])
    segment(made).codecs("the bytes of a batch are those of the whole batch, its head included")
    segment(written([])).codecs()


@pytest.mark.parametrize("missing", [1, 60, 61, 130])
def test_cut(segment: MakeSegment, missing: int) -> None:
    """the last batch is cut at its end, so it does not count"""
    made = written([*PLAIN[:3], Batch(width=60)], cut=missing)
    why = f"the last {missing} bytes of the last batch are missing, so it does not count"
    one = segment(made)
    one.batches(why)
    one.codecs(why)
    one.find(made.rows[-1].last + 1, why)
    one.longest_walk(why)


def test_start(segment: MakeSegment) -> None:
    """the position at which a search for an offset begins"""
    made = written(PLAIN)
    one = segment(made)
    for offset in one.offsets():
        one.start(offset)


def test_base_offset(segment: MakeSegment) -> None:
    """the index has offsets relative to the base offset"""
    made = written(PLAIN, 5_000_000_000)
    one = segment(made)
    for offset in one.offsets():
        one.start(
            offset,
            f"the entries hold offsets less 5000000000: {list(made.entries)} is what they mean",
        )


def test_active(segment: MakeSegment) -> None:
    """the index of an active segment ends with zeros, which are no entries"""
    made = written(PLAIN, 368_769, active=True)
    one = segment(made)
    why = "the zeros behind the entries are room for more entries, and no entries themselves"
    for offset in one.offsets():
        one.start(offset, why)
        one.find(offset, why)
    one.longest_walk(why)


def test_heads(segment: MakeSegment) -> None:
    """how many batch headers a search reads"""
    one = segment(written(PLAIN))
    for offset in one.offsets():
        if offset <= one.made.rows[-1].last:
            one.find(offset)


def test_in_a_gap(segment: MakeSegment) -> None:
    """the search for an offset that was compacted away"""
    made = written([Batch(), Batch(skip=5), Batch(lost=4), Batch(skip=3), Batch()])
    one = segment(made)
    for offset in range(made.rows[-1].last + 1):
        one.find(offset, f"offset {offset} belongs to the batch with it, or to the next one")


def test_behind(segment: MakeSegment) -> None:
    """the search for an offset after the last batch"""
    one = segment(written(PLAIN))
    end = one.made.rows[-1].last + 1
    for offset in (end, end + 1, end + 1000):
        one.find(offset, f"the last batch ends with offset {end - 1}: there is nothing to find")
    segment(written([])).find(0, "there is no batch")


def test_longest_walk(segment: MakeSegment) -> None:
    """how sparse the index is: the longest distance from the start of a search to its batch"""
    for made in (
        written(PLAIN),
        written(PLAIN, interval=10_000),
        written([*PLAIN, Batch(9, width=90), *PLAIN[:5]], interval=700),
        written([]),
    ):
        segment(made).longest_walk()


def test_many(segment: MakeSegment, seed: int) -> None:
    """random segments"""
    random = Random(seed)
    for _ in range(ROUNDS):
        one = segment(random_segment(random))
        one.batches()
        one.codecs()
        one.longest_walk()
        for offset in random.sample(one.offsets(), min(6, len(one.offsets()))):
            one.start(offset)
            one.find(offset)
