"""Key → the offset of its last record, in a table of fixed size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.log.cleaner.offset_map import NOT_FOUND, SLOT_BYTES, OffsetMap


def test_the_last_offset_of_a_key_counts() -> None:
    offsets = OffsetMap(10 * SLOT_BYTES)
    for offset, key in enumerate((b"a", b"b", b"a", b"c", b"a")):
        offsets.put(key, offset)
    assert [offsets.get(key) for key in (b"a", b"b", b"c", b"d")] == [4, 1, 3, NOT_FOUND]
    assert offsets.entries == 3


def test_an_empty_map_knows_nothing() -> None:
    assert OffsetMap(2 * SLOT_BYTES).get(b"a") == NOT_FOUND


def test_one_slot_stays_free_so_that_a_search_ends() -> None:
    offsets = OffsetMap(4 * SLOT_BYTES)
    for number in range(3):
        offsets.put(b"%d" % number, number)
    assert offsets.is_full
    assert offsets.get(b"unknown") == NOT_FOUND
    with pytest.raises(ValueError, match="full"):
        offsets.put(b"x", 9)


@given(st.lists(st.tuples(st.binary(max_size=4), st.integers(0, 2**62)), max_size=60))
def test_it_is_a_dict_of_bounded_size(puts: list[tuple[bytes, int]]) -> None:
    offsets, expected = OffsetMap(80 * SLOT_BYTES), {}
    for key, offset in puts:
        offsets.put(key, offset)
        expected[key] = offset
    assert offsets.entries == len(expected)
    assert {key: offsets.get(key) for key in expected} == expected
