"""A map from each key to the offset of its last record, in a table of fixed size (Kafka:
SkimpyOffsetMap.scala).

    slot    MD5 of the key, 16 bytes | offset int64        24 bytes; sixteen zeros: free

For each key in the dirty part of a log, the cleaner must know the offset of the last record. Keys
may have any length, so the map stores their MD5 digests. Two keys with the same digest are so
unlikely that neither Kafka nor this map checks for them. The digest gives a slot number. The key is
stored in this slot, or if it is taken, in the next free one.
"""

import hashlib
from typing import Final

SLOT_BYTES: Final = 24
_DIGEST_BYTES: Final = 16
_FREE: Final = bytes(_DIGEST_BYTES)
NOT_FOUND: Final = -1


class OffsetMap:
    """The table. It takes at most `slots` - 1 keys, because every search ends at a free slot.

    `put` and `get` look at few slots as long as at most nine tenths are taken. `latest_offset` is
    the last offset that the map covers; -1 at first.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.slots = memory_bytes // SLOT_BYTES
        self._table = bytearray(self.slots * SLOT_BYTES)
        self.entries = 0
        self.latest_offset = -1

    @property
    def is_full(self) -> bool:
        return self.entries >= self.slots - 1

    def _slot(self, digest: bytes) -> int:
        """Return the byte position of the digest's slot in the table, or of the free slot for
        it.
        """
        table, slots = self._table, self.slots
        slot = int.from_bytes(digest[:8]) % slots
        while True:
            at = slot * SLOT_BYTES
            found = table[at : at + _DIGEST_BYTES]
            if found in (digest, _FREE):
                return at
            slot = slot + 1 if slot + 1 < slots else 0

    def put(self, key: bytes, offset: int) -> None:
        """Note that the latest record of `key` is at `offset`. Raises ValueError if the map is
        full.
        """
        if self.is_full:
            raise ValueError(f"the map of {self.slots:,} slots is full")
        digest = _digest(key)
        at = self._slot(digest)
        if self._table[at : at + _DIGEST_BYTES] == _FREE:
            self.entries += 1
            self._table[at : at + _DIGEST_BYTES] = digest
        self._table[at + _DIGEST_BYTES : at + SLOT_BYTES] = offset.to_bytes(8)

    def get(self, key: bytes) -> int:
        """Return the offset of the key's last record; NOT_FOUND if the key is not in the map."""
        if not self.entries:
            return NOT_FOUND
        at = self._slot(_digest(key))
        if self._table[at : at + _DIGEST_BYTES] == _FREE:
            return NOT_FOUND
        return int.from_bytes(self._table[at + _DIGEST_BYTES : at + SLOT_BYTES])


def _digest(key: bytes) -> bytes:
    return hashlib.md5(key, usedforsecurity=False).digest()
