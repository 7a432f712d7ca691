"""Jute, ZooKeeper's serialization (org.apache.jute.BinaryInputArchive, BinaryOutputArchive):
big-endian, no tags, no versions.

    int 4 bytes, long 8, bool 1; buffer and string: int length, then the bytes; vector: int count,
    then the items; length or count -1 is null

Sans-IO, and strict: every length is held against what is there before anything is made of it, so a
frame of 20 bytes never allocates more.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kafka_edu.zk.zk_client import Stat

T = TypeVar("T")
MAX_BUFFER: Final = 0xFFFFF
"""jute.maxbuffer: the longest frame, 1 MiB less one byte."""

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_STAT: Final = struct.Struct(">qqqqiiiqiiq")


class JuteError(ValueError):
    """Bytes that are no such record."""


class Decoder:
    """Reads values one after the other from `data`, which is one whole record. Bytes behind the
    last value are ignored, as in Java.
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
            raise JuteError(f"{count} bytes wanted at {start} of {len(self._data)}")
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
        """A null string is an empty one here. Bytes that are no UTF-8 are replaced, as in Java;
        such a path is then refused.
        """
        return (self.read_buffer() or b"").decode("utf-8", "replace")

    def read_vector(self, item: Callable[[], T]) -> tuple[T, ...]:
        """`item` reads one; every item is at least a byte long, so a count beyond what remains is a
        lie.
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
    """`items` are encoded already."""
    encoded = list(items)
    return _INT.pack(len(encoded)) + b"".join(encoded)


def encode_stat(stat: Stat) -> bytes:
    return _STAT.pack(*stat)
