"""Encode and decode jute, ZooKeeper's serialization format (org.apache.jute.BinaryInputArchive,
BinaryOutputArchive).

Numbers are big-endian. There are no tags and no versions.

    int              4 bytes
    long             8 bytes
    bool             1 byte
    buffer, string   an int with the length, then the bytes
    vector           an int with the count, then the items

A length or count of -1 means null.

The codec does no input or output. It compares every length with the number of remaining bytes
before it allocates memory. So a frame of 20 bytes never makes it allocate more than 20 bytes.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kafka_edu.zk.zk_client import Stat

T = TypeVar("T")
MAX_BUFFER: Final = 0xFFFFF
"""The maximum length of a frame in bytes: 1 MiB minus one byte (jute.maxbuffer)."""

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_STAT: Final = struct.Struct(">qqqqiiiqiiq")


class JuteError(ValueError):
    """Raised if bytes are not a valid jute record."""


class Decoder:
    """Reads one value after the other from `data`, which holds a complete record.

    As in Java, bytes after the last value are ignored.
    """

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes | memoryview, position: int = 0) -> None:
        self._data = data
        self._position = position

    @property
    def remaining(self) -> int:
        return len(self._data) - self._position

    def _take(self, count: int) -> int:
        start = self._position
        if len(self._data) - start < count:
            raise JuteError(f"{count} bytes expected at {start} of {len(self._data)}")
        self._position = start + count
        return start

    def read_int(self) -> int:
        value: int = _INT.unpack_from(self._data, self._take(4))[0]
        return value

    def read_long(self) -> int:
        value: int = _LONG.unpack_from(self._data, self._take(8))[0]
        return value

    def read_byte(self) -> int:
        return self._data[self._take(1)]

    def read_bool(self) -> bool:
        return self._data[self._take(1)] != 0

    def read_buffer(self) -> bytes | None:
        length = self.read_int()
        if length == -1:
            return None
        if length < 0:
            raise JuteError(f"a buffer of {length} bytes")
        start = self._take(length)
        return bytes(self._data[start : start + length])

    def read_string(self) -> str:
        """Return the next string. Null becomes an empty string.

        As in Java, bytes that are not UTF-8 are replaced by another character. If the string is a
        path, the server then refuses it.
        """
        return (self.read_buffer() or b"").decode("utf-8", "replace")

    def read_vector(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Read a vector and return its items. The function `item` reads one item.

        Every item has at least one byte. So a count that is above the number of remaining bytes
        raises JuteError.
        """
        count = self.read_int()
        if count == -1:
            return ()
        if not 0 <= count <= self.remaining:
            raise JuteError(f"a vector of {count} items in {self.remaining} bytes")
        return tuple([item() for _ in range(count)])

    def read_stat(self) -> Stat:
        return Stat._make(_STAT.unpack_from(self._data, self._take(_STAT.size)))


def encode_int(value: int) -> bytes:
    return _INT.pack(value)


def encode_long(value: int) -> bytes:
    return _LONG.pack(value)


def encode_bool(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def encode_buffer(value: bytes | None) -> bytes:
    return _INT.pack(-1) if value is None else _INT.pack(len(value)) + value


def encode_string(value: str) -> bytes:
    return encode_buffer(value.encode())


def encode_vector(items: Iterable[bytes]) -> bytes:
    """Return the bytes of a vector. The `items` are already encoded."""
    encoded = list(items)
    return _INT.pack(len(encoded)) + b"".join(encoded)


def encode_stat(stat: Stat) -> bytes:
    return _STAT.pack(*stat)
