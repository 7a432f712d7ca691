"""Reading the varints of many records at once: varints of every size, up to the end of the data."""

import numpy as np
import pytest

from kafka_edu.record.record import InvalidRecordError, varint
from kafka_edu.record.record_columns import varints

NUMBERS = [0, -1, 63, -64, 64, -65, 8_191, -8_192, 8_192, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]


def read(numbers: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Return the numbers that were read, where each one ended, and where each one should end."""
    pieces = [varint(number) for number in numbers]
    ends = np.cumsum([len(piece) for piece in pieces])
    begins = np.concatenate(([0], ends[:-1]))
    found, after = varints(np.frombuffer(b"".join(pieces), np.uint8), begins)
    return found.tolist(), after.tolist(), ends.tolist()


@pytest.mark.parametrize("longest", range(1, len(NUMBERS) + 1))
def test_varints_of_all_sizes_are_read_together(longest: int) -> None:
    """The last one ends where the data ends."""
    for numbers in (NUMBERS[:longest], NUMBERS[:longest][::-1], [NUMBERS[longest - 1], 0]):
        found, after, ends = read(numbers)
        assert (found, after) == (numbers, ends)


def test_no_positions_are_no_varints() -> None:
    found, after = varints(np.frombuffer(b"\x00", np.uint8), np.array([], np.int64))
    assert (found.size, after.size) == (0, 0)


@pytest.mark.parametrize("data", [b"\x02\x80", b"\x02\xff\xff", b"\x02\x80\x80\x80"])
def test_a_varint_that_is_cut_off_is_an_error(data: bytes) -> None:
    with pytest.raises(InvalidRecordError, match="over the end"):
        varints(np.frombuffer(data, np.uint8), np.array([0, 1]))


def test_a_varint_of_more_than_ten_bytes_is_an_error() -> None:
    with pytest.raises(InvalidRecordError, match="longer than 10 bytes"):
        varints(np.frombuffer(b"\xff" * 20, np.uint8), np.array([0]))
