"""CRC-32C, the checksum of a v2 record batch, on an executor that may have numpy alone.

`crc32c` is google_crc32c's where that package is installed, as on the driver of a checkout. Else it
is `crc32c_by_numpy`.

A CRC is linear: the CRC of two pieces together follows from the CRCs of both (zlib's crc32_combine
does so). So the data is cut into `lanes` of equal length, and numpy runs a byte-wise CRC over all
lanes at once. Then neighbours are combined, in log2(lanes) steps.
"""

from functools import cache
from typing import Any, Final

import numpy as np

_POLYNOMIAL: Final = 0x82F63B78
_LANES: Final = 1024


def _byte_table() -> "np.ndarray[Any, np.dtype[np.uint32]]":
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return table


_TABLE: Final = _byte_table()


@cache
def _shift_tables(length: int) -> "np.ndarray[Any, np.dtype[np.uint32]]":
    """Return four tables of 256 that move a CRC over `length` bytes of zeros, byte by byte."""
    # bits[i]: the CRC that starts as 1 << i, after `length` zero bytes
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    one = _TABLE[bits & 0xFF] ^ (bits >> np.uint32(8))  # one zero byte
    moved, power, left = bits, one, length
    while left:  # square and multiply, as with powers of a number
        if left & 1:
            moved = _apply(power, moved)
        power = _apply(power, power)
        left >>= 1
    byte = np.arange(256, dtype=np.uint32)
    return np.stack([_apply(moved, byte << np.uint32(8 * i)) for i in range(4)])


def _apply(matrix: Any, values: Any) -> Any:
    """Multiply each value, a vector of 32 bits, by a matrix given as 32 columns."""
    found = np.zeros_like(values)
    for i in range(32):
        found ^= np.where((values >> np.uint32(i)) & 1, matrix[i], np.uint32(0))
    return found


def crc32c_by_numpy(data: bytes) -> int:
    """Return CRC-32C of `data`. O(bytes): 1 MB took 24 ms on a busy core."""
    if not data:
        return 0
    length = -(-len(data) // _LANES)
    padded = np.zeros(length * _LANES, np.uint8)
    begin = len(padded) - len(data)
    padded[begin:] = np.frombuffer(data, np.uint8)
    # a CRC starts with all ones: the same as its first four bytes inverted, and leading zeros then
    # change nothing
    short = max(4 - len(data), 0)
    padded[begin : begin + 4] ^= 0xFF
    crc = np.zeros(_LANES, np.uint32)
    for column in np.ascontiguousarray(padded.reshape(_LANES, length).T):
        crc = _TABLE[(crc ^ column) & 0xFF] ^ (crc >> np.uint32(8))
    span = length
    while len(crc) > 1:
        tables = _shift_tables(span)
        left = crc[0::2]
        moved = tables[0][left & 0xFF]
        for i in range(1, 4):
            moved = moved ^ tables[i][(left >> np.uint32(8 * i)) & 0xFF]
        crc = moved ^ crc[1::2]
        span *= 2
    start = 0xFFFF_FFFF >> (8 * (4 - short)) if short else 0
    return int(crc[0]) ^ 0xFFFF_FFFF ^ start


try:
    from google_crc32c import value as _hardware
except ImportError:  # an executor with numpy and pyarrow alone
    _hardware = None


def crc32c(data: bytes) -> int:
    """Return CRC-32C of `data`, in hardware where google_crc32c is installed. O(bytes)."""
    return int(_hardware(data)) if _hardware is not None else crc32c_by_numpy(data)
