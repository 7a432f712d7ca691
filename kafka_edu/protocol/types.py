"""The primitive types of the wire, and functions to read and write them.

(Spec P1; Kafka: Type.java, ByteUtils.java; book §6.1.)

    bool int8 int16 int32 int64 uint16 uint32 float64   big-endian, fixed size
    varint varlong       7 bits a byte, zigzag: −1 → 1, 1 → 2, so small negative numbers stay short
    unsigned varint      the same without zigzag; lengths and tags of flexible versions
    uuid                 16 bytes
    string               int16 length, then UTF-8       compact: unsigned varint of length + 1
    bytes                int32 length, then bytes       compact: unsigned varint of length + 1
    records              as bytes: record batches, never parsed here and never copied
    array                int32 count, then elements     compact: unsigned varint of count + 1

Null is written as length −1, or as 0 in the compact form. Whether the compact form is used depends
on the version (KIP-482), and whether null is allowed depends on the field. So a `WireType`
describes only the value itself. `codegen` generates code from these types.
"""

import uuid
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kafka_edu.common.transport import Part

T = TypeVar("T")

ZERO_UUID: Final = uuid.UUID(int=0)
"""The UUID that means "no id"."""

MAX_STRING_BYTES: Final = 0x7FFF
MAX_INT: Final = 0x7FFF_FFFF
"""The largest int in Java. Kafka reads an unsigned varint above it as a negative number."""


class ProtocolError(ValueError):
    """The bytes are not a valid message, or a value cannot be written on the wire.

    If a connection sends such bytes, it is closed.
    """


class WireType(Generic[T]):
    """One type of the wire. `T` is the Python type of its values."""

    def __init__(self, name: str, default: T) -> None:
        self.name = name
        self.default = default

    def __repr__(self) -> str:
        return self.name


class FixedType(WireType[T]):
    """A type of fixed size. `struct` reads or writes neighbouring fields of such types in one
    call.
    """

    def __init__(self, name: str, default: T, code: str, size: int) -> None:
        super().__init__(name, default)
        self.code = code
        """The format letter of this type in `struct`."""
        self.size = size
        """The size of a value in bytes."""


class VaryingIntType(WireType[int]):
    """An integer of 1 to 5 bytes (varint) or 1 to 10 bytes (varlong)."""


class UuidType(WireType[uuid.UUID]):
    """A UUID of 16 bytes."""


class StringType(WireType[str]):
    """UTF-8 of up to 32767 bytes.

    As in Java, bytes that are not UTF-8 are accepted and read as U+FFFD.
    """


class BytesType(WireType[bytes]):
    """Up to 2 GiB of bytes. Decoding copies them out of the frame."""


class RecordsType(WireType[Part]):
    """Record batches, which are not parsed here.

    Decoding returns a `memoryview` of the frame. In an encoded message, records are a separate
    part, which may be in a file (zero copy).
    """


class ArrayType(WireType[list[T]]):
    """A list of elements of one type. `of` is the type of the elements, or a struct class."""

    def __init__(self, of: WireType[T] | type[T]) -> None:
        super().__init__(f"[]{of.__name__ if isinstance(of, type) else of.name}", [])
        self.of: WireType[T] | type[T] = of


Bool: Final = FixedType("bool", False, "?", 1)
Int8: Final = FixedType("int8", 0, "b", 1)
Int16: Final = FixedType("int16", 0, "h", 2)
Int32: Final = FixedType("int32", 0, "i", 4)
Int64: Final = FixedType("int64", 0, "q", 8)
Uint16: Final = FixedType("uint16", 0, "H", 2)
Uint32: Final = FixedType("uint32", 0, "I", 4)
Float64: Final = FixedType("float64", 0.0, "d", 8)
Varint: Final = VaryingIntType("varint", 0)
Varlong: Final = VaryingIntType("varlong", 0)
Uuid: Final = UuidType("uuid", ZERO_UUID)
String: Final = StringType("string", "")
Bytes: Final = BytesType("bytes", b"")
Records: Final = RecordsType("records", b"")
Array = ArrayType

ReadBuffer = bytes | bytearray | memoryview


def read_unsigned_varint(buffer: ReadBuffer, position: int) -> tuple[int, int]:
    """Return the value at `position` (0 to 2³² − 1), and the position after it.

    Raises ProtocolError if the varint is longer than 5 bytes or does not end.
    """
    value = shift = 0
    try:
        while True:
            byte = buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF, position
            shift += 7
            if shift > 28:
                raise ProtocolError(f"a varint at byte {position - 5} is longer than 5 bytes")
    except IndexError:
        raise ProtocolError(f"the bytes end inside a varint, at byte {position}") from None


def read_varint(buffer: ReadBuffer, position: int) -> tuple[int, int]:
    """Return the zigzag-encoded value at `position` (−2³¹ to 2³¹ − 1), and the position after it.

    Raises ProtocolError.
    """
    raw, position = read_unsigned_varint(buffer, position)
    return (raw >> 1) ^ -(raw & 1), position


def read_varlong(buffer: ReadBuffer, position: int) -> tuple[int, int]:
    """Return the zigzag-encoded value at `position` (−2⁶³ to 2⁶³ − 1), and the position after it.

    Raises ProtocolError.
    """
    value = shift = 0
    try:
        while True:
            byte = buffer[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFF_FFFF_FFFF_FFFF
                return (value >> 1) ^ -(value & 1), position
            shift += 7
            if shift > 63:
                raise ProtocolError(f"a varlong at byte {position - 10} is longer than 10 bytes")
    except IndexError:
        raise ProtocolError(f"the bytes end inside a varlong, at byte {position}") from None


#: The unsigned varints 0 to 127, each of one byte: the index is the value. Nearly every varint on
#: the wire is one of them.
ONE_BYTE: Final = tuple(bytes([value]) for value in range(128))


def unsigned_varint(value: int) -> bytes:
    """Encode `value` (0 to 2⁶⁴ − 1) in 1 to 10 bytes. Example: 300 → ac 02."""
    if value < 128:
        return ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """Encode `value` (−2³¹ to 2³¹ − 1) as a zigzag varint."""
    if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        raise ProtocolError(f"{value} does not fit into a varint")
    return unsigned_varint((value << 1) ^ (value >> 31))


def varlong(value: int) -> bytes:
    """Encode `value` (−2⁶³ to 2⁶³ − 1) as a zigzag varint."""
    if not -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        raise ProtocolError(f"{value} does not fit into a varlong")
    return unsigned_varint((value << 1) ^ (value >> 63))


READ_VARYING: Final[dict[str, Callable[[ReadBuffer, int], tuple[int, int]]]] = {
    "varint": read_varint,
    "varlong": read_varlong,
}
WRITE_VARYING: Final[dict[str, Callable[[int], bytes]]] = {"varint": varint, "varlong": varlong}


def skip_tagged_fields(buffer: ReadBuffer, position: int, count: int) -> int:
    """Return the position after `count` tagged fields that this version does not know. O(count).

    As in Kafka, tags may repeat and may be in any order.
    """
    end = len(buffer)
    if count * 2 > end - position:
        raise ProtocolError(
            f"{count} tagged fields are announced, but only {end - position} bytes are left"
        )
    for _ in range(count):
        _tag, position = read_unsigned_varint(buffer, position)
        size, position = read_unsigned_varint(buffer, position)
        position += size
        if position > end:
            raise ProtocolError(
                f"a tagged field of {size} bytes ends {position - end} bytes after the end"
            )
    return position
