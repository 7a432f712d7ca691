import pytest

from kafka_edu.protocol.types import (
    ProtocolError,
    read_unsigned_varint,
    read_varint,
    read_varlong,
    skip_tagged_fields,
    unsigned_varint,
    varint,
    varlong,
)


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (0xFFFF_FFFF, "ffffffff0f")],
)
def test_an_unsigned_varint_has_seven_bits_a_byte_lowest_first(value: int, data: str) -> None:
    assert unsigned_varint(value).hex() == data
    assert read_unsigned_varint(b"x" + bytes.fromhex(data) + b"x", 1) == (value, 1 + len(data) // 2)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (-2, "03"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
    ],
)
def test_zigzag_keeps_small_negatives_short(value: int, data: str) -> None:
    assert varint(value).hex() == data
    assert read_varint(bytes.fromhex(data), 0) == (value, len(data) // 2)
    assert varlong(value).hex() == data
    assert read_varlong(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**40, -(2**40)])
def test_a_varlong_has_up_to_ten_bytes(value: int) -> None:
    data = varlong(value)
    assert len(data) <= 10
    assert read_varlong(data, 0) == (value, len(data))


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ProtocolError, match="2147483648 does not fit"):
        varint(2**31)
    with pytest.raises(ProtocolError, match="does not fit"):
        varlong(-(2**63) - 1)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff"])
def test_a_varint_that_ends_early_is_refused(data: bytes) -> None:
    for read in (read_unsigned_varint, read_varint, read_varlong):
        with pytest.raises(ProtocolError, match="end inside"):
            read(data, 0)


def test_a_varint_that_does_not_end_is_refused() -> None:
    with pytest.raises(ProtocolError, match="longer than 5"):
        read_unsigned_varint(b"\x80" * 6, 0)
    with pytest.raises(ProtocolError, match="longer than 10"):
        read_varlong(b"\x80" * 11, 0)


def test_unknown_tagged_fields_are_skipped_in_any_order_and_number() -> None:
    # tag 5: 2 bytes; tag 5 again: none; tag 1: 1 byte
    assert skip_tagged_fields(bytes.fromhex("0502aabb05000101cc77"), 0, 3) == 9


@pytest.mark.parametrize(("data", "count"), [("0502aa", 1), ("0500", 1_000_000), ("", 1)])
def test_tagged_fields_that_do_not_fit_are_refused(data: str, count: int) -> None:
    with pytest.raises(ProtocolError):
        skip_tagged_fields(bytes.fromhex(data), 0, count)
