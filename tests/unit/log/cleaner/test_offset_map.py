"""Key → the offset of its last record, in a table of fixed size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.log.cleaner.offset_map import (
    LONGEST_EXACT,
    NOT_FOUND,
    SLOT_BYTES,
    OffsetMap,
    digest_of,
)

MANY = 1 << 40
KEYS = st.one_of(st.binary(max_size=3), st.binary(min_size=14, max_size=18))


def put(offsets: OffsetMap, *rows: tuple[bytes, int], most: int = MANY) -> int:
    keys = [key for key, _ in rows]
    return offsets.put(digest_of(*keys), np.array([at for _, at in rows], np.int64), most)


def get(offsets: OffsetMap, *keys: bytes) -> list[int]:
    return [int(offset) for offset in offsets.get(digest_of(*keys))]


def test_the_last_offset_of_a_key_counts() -> None:
    offsets = OffsetMap(10 * SLOT_BYTES)
    assert put(offsets, (b"a", 0), (b"b", 1), (b"a", 2), (b"c", 3), (b"a", 4)) == 5
    assert get(offsets, b"a", b"b", b"c", b"d") == [4, 1, 3, NOT_FOUND]
    assert offsets.entries == 3


def test_an_empty_map_knows_nothing() -> None:
    assert get(OffsetMap(2 * SLOT_BYTES), b"a", b"") == [NOT_FOUND, NOT_FOUND]


def test_one_slot_stays_free_so_that_a_search_ends() -> None:
    offsets = OffsetMap(4 * SLOT_BYTES)
    assert put(offsets, *((b"%d" % number, number) for number in range(9))) == 3
    assert get(offsets, b"0", b"1", b"2", b"3", b"unknown") == [0, 1, 2, NOT_FOUND, NOT_FOUND]


def test_a_full_map_takes_no_key_not_even_a_known_one() -> None:
    offsets = OffsetMap(10 * SLOT_BYTES)
    rows = [(b"a", 0), (b"b", 1), (b"a", 2), (b"c", 3), (b"a", 4), (b"d", 5)]
    assert put(offsets, *rows, most=3) == 4, "the pass ends before the key that comes next"
    assert get(offsets, b"a", b"b", b"c", b"d") == [2, 1, 3, NOT_FOUND]
    assert put(offsets, (b"a", 6), most=3) == 0
    assert OffsetMap(0).put(digest_of(b"a"), np.array([0]), MANY) == 0


@pytest.mark.parametrize("length", [0, 1, LONGEST_EXACT, LONGEST_EXACT + 1, 40])
def test_keys_that_differ_in_length_or_one_byte_are_different_keys(length: int) -> None:
    keys = {bytes(length), bytes(length + 1), bytes(length)[1:] + b"x", b"\xff" * length}
    offsets = OffsetMap(10 * SLOT_BYTES)
    put(offsets, *((key, at) for at, key in enumerate(sorted(keys))))
    assert get(offsets, *sorted(keys)) == list(range(len(keys)))


@given(
    st.lists(st.lists(st.tuples(KEYS, st.integers(0, 2**62)), max_size=20), max_size=5),
    st.integers(2, 60),
    st.integers(1, 60),
)
def test_it_is_a_dict_of_bounded_size(
    calls: list[list[tuple[bytes, int]]], slots: int, most: int
) -> None:
    offsets, expected = OffsetMap(slots * SLOT_BYTES), dict[bytes, int]()
    for rows in calls:
        taken = 0
        for key, offset in rows:
            if len(expected) >= min(most, slots - 1):
                break
            expected[key] = offset
            taken += 1
        assert put(offsets, *rows, most=most) == taken
    assert offsets.entries == len(expected)
    keys = {key for rows in calls for key, _ in rows}
    found = dict(zip(keys, get(offsets, *keys), strict=True))
    assert found == {key: expected.get(key, NOT_FOUND) for key in keys}
