"""The fields of a batch as lists. They are always the same as in the records that `read_records`
returns.
"""

import random
import sys
from collections.abc import Callable

import pytest

from kafka_edu.common.errors import KafkaException
from kafka_edu.record import record_fields
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    HEADER_BYTES,
    TimestampType,
    build_batch,
    parse_header,
    read_records,
)
from kafka_edu.record.record_fields import MANY, RecordFields, _plain_fields, read_fields


def fields(batch: bytes) -> RecordFields:
    return read_fields([(memoryview(batch), parse_header(batch))])


def rows(found: RecordFields) -> list[tuple[object, ...]]:
    return list(zip(*found, strict=False))


def plain(n: int) -> Record:
    return Record(1_000 + n, 1_700_000_000_000 + n // 3, None, b"v" * (n % 90))


SHAPES: list[tuple[str, bool, Callable[[int], Record]]] = [
    ("without keys", True, plain),
    ("with keys", True, lambda n: plain(n)._replace(key=b"k%d" % n)),
    ("with empty keys", True, lambda n: plain(n)._replace(key=b"")),
    ("with large values", True, lambda n: plain(n)._replace(value=b"v" * (n * 97))),
    ("older than the first", True, lambda n: plain(n)._replace(timestamp=5_000 - n * 40)),
    ("with gaps", True, lambda n: plain(n)._replace(offset=1_000 + n * 70)),
    ("some with keys", False, lambda n: plain(n)._replace(key=b"k" if n % 7 else None)),
    ("some without a value", False, lambda n: plain(n)._replace(value=b"v" if n % 7 else None)),
    (
        "some with headers",
        False,
        lambda n: plain(n)._replace(headers=() if n % 7 else (("h", b"x"),)),
    ),
]


@pytest.mark.parametrize("count", [1, MANY - 1, MANY, 600])
@pytest.mark.parametrize(("_name", "at_once", "make"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_the_fields_are_those_of_the_records(
    _name: str, at_once: bool, make: Callable[[int], Record], count: int
) -> None:
    batch = build_batch([make(n) for n in range(count)])
    assert rows(fields(batch)) == [tuple(record) for record in read_records(batch)]
    if count >= MANY:  # the fast way is taken for these, and for no others
        found = _plain_fields([batch[HEADER_BYTES:]], [parse_header(batch)])
        assert (found is not None) == at_once


def test_a_small_batch_is_read_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    monkeypatch.setattr(
        record_fields, "_plain_fields", lambda sections, headers: taken.append(len(sections))
    )
    for count in (MANY - 1, MANY):
        fields(build_batch([plain(n) for n in range(count)]))
    assert len(taken) == 1


def test_without_numpy_all_records_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)  # its import fails
    record_fields._has_numpy.cache_clear()
    batch = build_batch([plain(n) for n in range(MANY * 2)])
    try:
        assert rows(fields(batch)) == [tuple(record) for record in read_records(batch)]
        assert not record_fields._has_numpy()
    finally:
        record_fields._has_numpy.cache_clear()


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("count", [3, MANY])
def test_the_leader_s_time_counts_for_all(count: int, codec: CompressionType) -> None:
    batch = build_batch(
        [plain(n) for n in range(count)],
        compression=codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        max_timestamp=77,
    )
    found = fields(batch)
    assert list(found.timestamps) == [77] * count
    assert rows(found) == [tuple(record) for record in read_records(batch)]


@pytest.mark.parametrize("magic", [0, 1])
def test_an_older_format_has_the_same_fields(magic: int) -> None:
    message = build_records([Record(5, 100, b"k", b"v")], magic)
    header = parse_header(build_batch([plain(0)]))._replace(magic=magic)
    assert rows(read_fields([(message, header)])) == [(5, 100 if magic else -1, b"k", b"v", ())]


def test_a_batch_without_records_has_empty_fields() -> None:
    batch = build_batch([plain(0)])
    empty = parse_header(batch)._replace(records_count=0, batch_length=HEADER_BYTES - 12)
    assert rows(read_fields([(batch[:HEADER_BYTES], empty)])) == []


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("sizes", [(1, 2, 3), (40, 1, 90), (MANY, MANY)])
def test_several_batches_have_the_fields_of_all(
    sizes: tuple[int, ...], codec: CompressionType
) -> None:
    batches, first = [], 0
    for number, size in enumerate(sizes):
        batches.append(
            build_batch(
                [plain(n)._replace(timestamp=n * number) for n in range(first, first + size)],
                compression=codec,
                timestamp_type=TimestampType(number % 2),
            )
        )
        first += size + 5
    found = read_fields([(memoryview(batch), parse_header(batch)) for batch in batches])
    assert rows(found) == [tuple(record) for batch in batches for record in read_records(batch)]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_records_give_the_same_answer_as_one_by_one(seed: int) -> None:
    """A byte is changed, or the end is cut off. Both ways to read give the same fields or the same
    error.
    """
    chance = random.Random(seed)
    batch = bytearray(build_batch([plain(n)._replace(key=b"key") for n in range(MANY)]))
    if seed % 4:
        batch[chance.randrange(HEADER_BYTES, len(batch))] ^= 1 << chance.randrange(8)
    else:
        del batch[-chance.randrange(1, 200) :]
    header = parse_header(batch)
    section = bytes(batch)

    def outcome(read: Callable[[], object]) -> object:
        try:
            return read()
        except KafkaException as error:
            return type(error), str(error)

    one_by_one = outcome(lambda: [tuple(record) for record in read_records(section)])
    assert outcome(lambda: rows(read_fields([(section, header)]))) == one_by_one
