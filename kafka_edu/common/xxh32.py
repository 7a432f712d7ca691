"""Compute xxHash32 of short data. The header of an lz4 frame contains it as a checksum."""

import struct
from typing import Final

_U32_LE: Final = struct.Struct("<I")


def xxh32_short(data: bytes) -> int:
    """Return the xxHash32 of at most 15 bytes, with seed 0.

    This is enough for the header of an lz4 frame, which is never longer.
    """
    mask = 0xFFFF_FFFF
    h = (0x165667B1 + len(data)) & mask
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        h = (h + _U32_LE.unpack_from(data, i)[0] * 0xC2B2AE3D) & mask
        h = (((h << 17) | (h >> 15)) & mask) * 0x27D4EB2F & mask
    for byte in data[whole:]:
        h = (h + byte * 0x165667B1) & mask
        h = (((h << 11) | (h >> 21)) & mask) * 0x9E3779B1 & mask
    h = (h ^ (h >> 15)) * 0x85EBCA77 & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE3D & mask
    return h ^ (h >> 16)
