"""Public tests of exercise 01-2, run by `kafka-edu lab check 01-2`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.record.record import Record

from ...runner.mismatch import Mismatch
from ..batches import (
    Place,
    Settings,
    draw_both,
    fields_of,
    first_wrong,
    parts_of_record,
    right_batch,
)
from ..hexadecimal import first_difference, point

NOW: Final = 1_600_000_000_000
Content = bytes | None
Headers = Sequence[tuple[str, Content]]
WHY: Final = {
    "base_offset": "it is 0, because only the leader knows the real one",
    "batch_length": "it counts the bytes behind this field, so not the first 12",
    "partition_leader_epoch": "it is -1, because only the leader knows the real one",
    "crc": "all other bytes are right. It is the checksum of the bytes behind this field, those"
    " from 21 on",
    "attributes": "bit 4 (16) says transactional, and all other bits are 0",
    "last_offset_delta": "it is the offset of the last record minus that of the first, so one less"
    " than the number of records",
    "base_timestamp": "it is the timestamp of the first record, whatever comes later",
    "max_timestamp": "it is the latest timestamp, wherever that record is in the batch",
    "length": "the length of a record counts what follows it, not itself",
    "timestamp delta": "it is the timestamp minus that of the first record of this batch",
    "offset delta": "it is 0 for the first record of this batch, then 1, 2, 3 …",
    "length of the key": "it is a varint with zigzag; -1 stands for null",
    "length of the value": "it is a varint with zigzag; -1 stands for null",
    "number of headers": "it is a varint, also if it is 0",
}


class Checked:
    """The learner's BatchBuilder. Each answer is compared with the right batch."""

    def __init__(self, learner: Learner, settings: Settings) -> None:
        self._settings = settings
        self._made = learner.make(*settings)
        self._records: list[Record] = []
        self._asked = f"BatchBuilder({', '.join(map(str, settings))})"

    def append(
        self, timestamp: int, key: Content, value: Content, headers: Headers = ()
    ) -> int | None:
        """Call `append`, and return the right answer. Raises Mismatch if `append` is wrong."""
        came = self._made.call("append", timestamp, key, value, list(headers))
        record = Record(len(self._records), timestamp, key, value, tuple(headers))
        with_it = [*self._records, record]
        size = len(right_batch(self._settings, with_it))
        before = len(right_batch(self._settings, self._records)) if self._records else 61
        expected = size - before
        limit = self._settings.max_bytes
        too_long = bool(self._records) and size > limit
        if came != (None if too_long else expected):
            why = f"the batch has {before} bytes before and {size} with it; {limit} is the limit"
            drawing: tuple[str, ...] = ()
            if too_long:
                why += ", so it does not fit"
            elif came is None:
                why += ", so it fits" if self._records else ". The first record is always taken"
            else:
                delta = timestamp - with_it[0].timestamp
                why = f"these are its parts; it is {delta:,} ms later than the first record"
                drawing = _parts(right_batch(self._settings, with_it))
            raise Mismatch(
                f"append of record {len(self._records)} (timestamp {timestamp - NOW:+,} ms, key"
                f" {_size(key)}, value {_size(value)}, {len(headers)} headers)",
                None if too_long else expected,
                came,
                why,
                drawing=drawing,
                read="what you return, and when you keep the record",
            )
        if too_long:
            return None
        self._records = with_it
        return expected

    def closes(self) -> None:
        """Call `close`. Raises Mismatch if the bytes that it returns are not the right batch."""
        expected = right_batch(self._settings, self._records)
        batch, _ = self._close()
        if batch == expected:
            return
        place = first_wrong(expected, batch)
        right, wrong = expected[place.begin : place.end], batch[place.begin : place.end]
        at = place.begin + first_difference(right, wrong)
        raise Mismatch(
            f"close() of {self._asked} after {len(self._records)} records: {place.name}",
            _Hexadecimal(f"<{right.hex(' ')}>, bytes {place.begin} to {place.end - 1}"),
            _Hexadecimal(f"<{wrong.hex(' ')}>"),
            WHY.get(place.name.partition(": ")[2] or place.name, "the table in README.md has it"),
            drawing=draw_both(expected, batch, at, place.name),
        )

    def names_its_fields(self) -> None:
        """Call `close`. Raises Mismatch if it does not name the right place of each field."""
        expected = right_batch(self._settings, self._records)
        _, came = self._close()
        places = [tuple(place) for place in fields_of(expected)]
        if list(came) == places:
            return
        pairs = list(zip(places, came, strict=False))
        number = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
        wanted = Place(*fields_of(expected)[number]) if number < len(places) else None
        drawing = point(expected, wanted.begin, wanted.name) if wanted is not None else ()
        raise Mismatch(
            f"the fields of close(), field {number} of 0 to {len(places) - 1}",
            tuple(wanted) if wanted is not None else _Hexadecimal("no more fields"),
            came[number] if number < len(came) else _Hexadecimal("no more fields"),
            "a field goes from its first byte up to, but not including, the byte behind it; first"
            " those of the header, then the records from 0",
            drawing=drawing,
        )

    def _close(self) -> tuple[bytes, tuple[object, ...]]:
        came = self._made.call("close")
        match came:
            case (bytes() as batch, tuple() as fields):
                return batch, fields
        raise Mismatch(
            "close()", _Hexadecimal("(bytes, list of fields)"), came, "the answer has two values"
        )


class _Hexadecimal(str):
    """A text, such as bytes in hexadecimal, that error messages show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _parts(batch: bytes) -> tuple[str, ...]:
    """Return lines that name the parts of the last record, with their bytes."""
    last = fields_of(batch)[-1]
    lines = []
    for name, begin, end in parts_of_record(batch, last):
        shown = batch[begin : min(end, begin + 6)].hex(" ") + (" …" if end > begin + 6 else "")
        lines.append(f"{end - begin:>4}  {shown:<20}  {name.partition(': ')[2]}")
    return tuple(lines)


def _size(content: Content) -> str:
    return "null" if content is None else f"of {len(content)} bytes"


MakeBuilder = Callable[..., Checked]


@pytest.fixture
def builder(learner: Learner) -> MakeBuilder:
    """A function that makes the learner's BatchBuilder: builder(setting=…)."""
    return lambda **settings: Checked(learner, Settings(**settings))


def test_sizes(builder: MakeBuilder) -> None:
    """append returns the number of bytes that a record takes"""
    one = builder()
    one.append(NOW, b"k", b"hello")
    one.append(NOW + 5, None, b"hi")
    one.append(NOW + 64, b"", b"x" * 60)


def test_one_record(builder: MakeBuilder) -> None:
    """key k and value hello make a batch of 74 bytes"""
    one = builder()
    one.append(NOW, b"k", b"hello")
    one.closes()


def test_null(builder: MakeBuilder) -> None:
    """null and empty are written differently"""
    for key, value in ((None, b""), (b"", None), (None, None), (b"", b"")):
        one = builder()
        one.append(NOW, key, value)
        one.closes()


def test_deltas(builder: MakeBuilder) -> None:
    """records whose timestamps rise, stay the same and fall"""
    one = builder()
    for later in (0, 70, 70, 100_000, 5):
        one.append(NOW + later, None, b"v")
    one.closes()
    other = builder()
    for later in (0, -1, -100):
        other.append(NOW + later, None, b"v")
    other.closes()


def test_headers(builder: MakeBuilder) -> None:
    """headers with names in UTF-8, and with values or null"""
    one = builder()
    one.append(NOW, b"k", b"v", [("trace", b"\x00\x01"), ("名", None), ("", b"")])
    one.append(NOW, b"k", b"v")
    one.closes()


def test_100_records(builder: MakeBuilder) -> None:
    """100 records: from number 64 on an offset delta takes two bytes"""
    one = builder()
    for number in range(100):
        one.append(NOW + number, None, b"x" * 20)
    one.closes()


def test_producer(builder: MakeBuilder) -> None:
    """a batch with a producer's id, epoch and sequence, in a transaction"""
    for transactional in (False, True):
        one = builder(
            producer_id=4_711, producer_epoch=3, base_sequence=12, transactional=transactional
        )
        one.append(NOW, b"k", b"v")
        one.append(NOW, b"k", b"v")
        one.closes()


def test_max_bytes(builder: MakeBuilder) -> None:
    """a record that does not fit is not added, and a shorter record may still fit"""
    one = builder(max_bytes=61 + 13 + 10)
    one.append(NOW, b"k", b"hello")
    one.append(NOW + 1_000_000, b"k", b"hello")
    one.append(NOW + 1, None, b"abcd")
    one.append(NOW + 2, None, b"abc")
    one.closes()


def test_first_record(builder: MakeBuilder) -> None:
    """the first record is always added, even if it is too long"""
    one = builder(max_bytes=70)
    one.append(NOW, None, b"a long value")
    one.append(NOW, None, None)
    one.closes()


def test_fields(builder: MakeBuilder) -> None:
    """close returns the place of each field"""
    one = builder()
    for number in range(3):
        one.append(NOW + number, b"k", b"x" * 30 * number)
    one.names_its_fields()


def test_any(builder: MakeBuilder, seed: int) -> None:
    """random batches"""
    random = Random(seed)

    def content() -> Content:
        return random.choice((None, random.randbytes(random.randrange(90))))

    for _ in range(4):
        made = builder(
            max_bytes=random.randint(70, 900),
            producer_id=random.randrange(1 << 40),
            producer_epoch=random.randrange(1 << 15),
            base_sequence=random.randrange(1 << 31),
            transactional=random.random() < 0.5,
        )
        now = random.randrange(1 << 41)
        for _ in range(random.randint(1, 9)):
            now += random.randint(-3_000, 3_000)
            headers = [(f"h{n}", content()) for n in range(random.choice((0, 0, 2)))]
            made.append(now, content(), content(), headers)
        made.closes()
        made.names_its_fields()
