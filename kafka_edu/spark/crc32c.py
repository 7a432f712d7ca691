"""Compute CRC-32C, the checksum of a v2 record batch, even on an executor that has only numpy.

If the package google_crc32c is installed, as it usually is on the driver, `crc32c` uses that
package. If not, `crc32c` uses `crc32c_by_numpy`.

The CRC of two joined pieces can be computed from the CRCs of both pieces, because a CRC is linear
(zlib's crc32_combine uses this too). So the data are cut into pieces of equal length, called lanes,
and numpy computes the CRCs of all lanes at the same time, byte by byte. Then the CRCs of
neighbouring lanes are combined, in log2(lanes) steps.
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
    """Return four tables with 256 entries each. They turn a CRC into the CRC after `length` more
    bytes of zeros. Each table handles one byte of the CRC.
    """
    # bits[i] is the CRC that begins as 1 << i, after `length` bytes of zeros.
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    one = _TABLE[bits & 0xFF] ^ (bits >> np.uint32(8))  # the CRC after one more zero byte
    moved, power, left = bits, one, length
    while left:  # square and multiply, as with powers of a number
        if left & 1:
            moved = _apply(power, moved)
        power = _apply(power, power)
        left >>= 1
    byte = np.arange(256, dtype=np.uint32)
    return np.stack([_apply(moved, byte << np.uint32(8 * i)) for i in range(4)])


def _apply(matrix: Any, values: Any) -> Any:
    """Multiply each value by a matrix of 32 × 32 bits. A value is a vector of 32 bits, and the
    matrix is given by its 32 columns.
    """
    found = np.zeros_like(values)
    for i in range(32):
        found ^= np.where((values >> np.uint32(i)) & 1, matrix[i], np.uint32(0))
    return found


def crc32c_by_numpy(data: bytes) -> int:
    """Return the CRC-32C of `data`, computed with numpy. O(bytes): 1 MB took 24 ms on a busy
    core.
    """
    if not data:
        return 0
    length = -(-len(data) // _LANES)
    padded = np.zeros(length * _LANES, np.uint8)
    begin = len(padded) - len(data)
    padded[begin:] = np.frombuffer(data, np.uint8)
    # A CRC begins with all bits set. This is the same as inverting the first four bytes of the
    # data. Then leading zeros can be added without changing the result.
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
except ImportError:  # the executor has only numpy and pyarrow
    _hardware = None


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`. It is fast if google_crc32c is installed, which uses the
    processor's own instruction. O(bytes).
    """
    return int(_hardware(data)) if _hardware is not None else crc32c_by_numpy(data)
