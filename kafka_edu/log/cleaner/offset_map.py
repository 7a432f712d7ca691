"""Key → the offset of its last record, in a table of fixed size (Kafka: SkimpyOffsetMap.scala).

    slot    MD5 of the key, 16 bytes | offset int64        24 bytes; sixteen zeros: free

A cleaner must know of each key in the dirty part of a log where its last record lies. The keys
themselves may be of any length, so the map holds their digests. That two keys have the same one is
so unlikely that Kafka does not look for it either. A key goes into the first free slot from the one
on that its digest names.
"""

import hashlib
from typing import Final

SLOT_BYTES: Final = 24
_DIGEST_BYTES: Final = 16
_FREE: Final = bytes(_DIGEST_BYTES)
NOT_FOUND: Final = -1


class OffsetMap:
    """Fewer than `slots` keys: one slot stays free, so that a search ends. `put` and `get` look at
    few slots while the map is at most nine tenths full.

    `latest_offset` is the last offset of the part of the log that the map knows, -1 before.
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
        """Return where in the table the digest is, or the free slot for it."""
        table, slots = self._table, self.slots
        slot = int.from_bytes(digest[:8]) % slots
        while True:
            at = slot * SLOT_BYTES
            found = table[at : at + _DIGEST_BYTES]
            if found in (digest, _FREE):
                return at
            slot = slot + 1 if slot + 1 < slots else 0

    def put(self, key: bytes, offset: int) -> None:
        """Note that `offset` is the last record of `key` so far. Raises ValueError if the map is
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
        """Return the offset of the key's last record; NOT_FOUND if the map does not know the
        key.
        """
        if not self.entries:
            return NOT_FOUND
        at = self._slot(_digest(key))
        if self._table[at : at + _DIGEST_BYTES] == _FREE:
            return NOT_FOUND
        return int.from_bytes(self._table[at + _DIGEST_BYTES : at + SLOT_BYTES])


def _digest(key: bytes) -> bytes:
    return hashlib.md5(key, usedforsecurity=False).digest()
