"""The right batches for exercise 01-2, from the broker's own code, and the names of their bytes."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.protocol.types import read_varint, read_varlong
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER, HEADER_BYTES, BatchHeader, build_batch

from .hexadecimal import first_difference, point

NAMES: Final = BatchHeader._fields
COMPUTED: Final = ("batch_length", "crc")
"""The fields that are computed from the other bytes. They are compared last."""


class Place(NamedTuple):
    """A named field of a batch. Its bytes begin at `begin` and end before `end`."""

    name: str
    begin: int
    end: int


class Settings(NamedTuple):
    """The arguments with which a BatchBuilder is made."""

    max_bytes: int = 1_000_000
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


def right_batch(settings: Settings, records: Sequence[Record]) -> bytes:
    """Return the bytes of the right batch with these records."""
    return build_batch(
        records,
        producer_id=settings.producer_id,
        producer_epoch=settings.producer_epoch,
        base_sequence=settings.base_sequence,
        is_transactional=settings.transactional,
    )


def fields_of(batch: bytes) -> list[Place]:
    """Return the places of all header fields, then one place for each whole record."""
    places = []
    begin = 0
    for name, code in zip(NAMES, HEADER.format[1:], strict=True):
        end = begin + {"q": 8, "i": 4, "I": 4, "h": 2, "b": 1}[code]
        places.append(Place(name, begin, end))
        begin = end
    assert begin == HEADER_BYTES
    number = 0
    while begin < len(batch):
        length, inner = read_varint(batch, begin)
        places.append(Place(f"record {number}", begin, inner + length))
        begin = inner + length
        number += 1
    return places


def parts_of_record(batch: bytes, record: Place) -> list[Place]:
    """Return the places of all parts of one record, such as its key and the key's length."""
    places: list[Place] = []
    begin = record.begin

    def number(name: str) -> int:
        nonlocal begin
        value, end = read_varlong(batch, begin)
        places.append(Place(f"{record.name}: {name}", begin, end))
        begin = end
        return value

    def content(name: str) -> None:
        nonlocal begin
        length = max(number(f"length of the {name}"), 0)
        places.append(Place(f"{record.name}: {name}", begin, begin + length))
        begin += length

    number("length")
    places.append(Place(f"{record.name}: attributes", begin, begin + 1))
    begin += 1
    number("timestamp delta")
    number("offset delta")
    content("key")
    content("value")
    for header in range(number("number of headers")):
        content(f"name of header {header}")
        content(f"value of header {header}")
    assert begin == record.end
    return [place for place in places if place.begin < place.end]


def first_wrong(batch: bytes, came: bytes) -> Place:
    """Return the first field of the right batch `batch` that is different in `came`.

    The length and the checksum depend on all other bytes, so they are compared last.
    """
    header, records = fields_of(batch)[: len(NAMES)], fields_of(batch)[len(NAMES) :]
    plain = [place for place in header if place.name not in COMPUTED]
    computed = [place for place in header if place.name in COMPUTED]
    for place in (*plain, *records, *computed):
        if batch[place.begin : place.end] != came[place.begin : place.end]:
            if place in header:
                return place
            at = place.begin + first_difference(
                batch[place.begin : place.end], came[place.begin : place.end]
            )
            return next(part for part in parts_of_record(batch, place) if at < part.end)
    return Place("behind the last record", len(batch), len(came))


def draw_both(expected: bytes, came: bytes, at: int, note: str) -> tuple[str, ...]:
    """Return lines that show both batches around the byte `at`, with a caret and a note."""
    ruler, right, caret = point(expected, at, note)
    _, wrong, _ = point(came, at, note)
    return (
        ruler,
        right.replace("bytes   ", "expected", 1),
        wrong.replace("bytes", "came ", 1),
        caret,
    )
