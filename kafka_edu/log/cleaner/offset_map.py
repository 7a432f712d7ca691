"""A map from each key to the offset of its last record, in a table of fixed size (Kafka:
SkimpyOffsetMap.scala).

    slot    digest of the key, 16 bytes | offset int64        24 bytes; sixteen zeros: free

For each key in the dirty part of a log, the cleaner must know the offset of the last record. Keys
may have any length, so the map stores digests of 16 bytes (`key_digests`). The digest gives a slot
number. The digest is stored in this slot, or if the slot is taken, in the next free slot.

The table is three columns of numpy. Keys are put and looked up many at a time, because a pass
spends most of its time in the loop over the records.
"""

import hashlib
from typing import Final, NamedTuple

import numpy as np

from kafka_edu.common.arrays import Bools, Int64s, Uint64s

SLOT_BYTES: Final = 24
DIGEST_BYTES: Final = 16
NOT_FOUND: Final = -1
LONGEST_EXACT: Final = DIGEST_BYTES - 1
"""A key of at most this length is its own digest, so it cannot be taken for another key."""
SLACK: Final = LONGEST_EXACT
"""The bytes that must follow the last key, because the digests of short keys are read 15 bytes at a
time.
"""
_OF_MD5: Final = 0xFF
"""The last byte of a longer key's digest. The other 15 bytes are from the key's MD5."""
_MIX_HIGH: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_LOW: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF: Final = np.uint64(32)


class Digests(NamedTuple):
    """The digests of some keys, in two halves of 8 bytes."""

    high: Uint64s
    low: Uint64s

    def take(self, rows: Bools | Int64s) -> "Digests":
        """Return the digests of these rows."""
        return Digests(self.high[rows], self.low[rows])


def key_digests(data: bytes, begin: Int64s, end: Int64s) -> Digests:
    """Return the digest of each key `data[begin:end]`. O(keys and the bytes of long keys).

    At least `SLACK` bytes of any value must follow the last key. `data` is not copied.

    A key of up to 15 bytes is its own digest: the key, zeros, and its length plus 1. For a longer
    key, the digest is the first 15 bytes of its MD5, and then 0xFF. Two long keys with the same 120
    bits are so unlikely that the map does not check for them; Kafka compares 128 bits.
    """
    digests = np.zeros((len(begin), DIGEST_BYTES), np.uint8)
    lengths = end - begin
    short = np.flatnonzero(lengths <= LONGEST_EXACT)
    if short.size:
        padded = np.frombuffer(data, np.uint8)
        columns = np.arange(LONGEST_EXACT)
        own = padded[begin[short, None] + columns]
        own *= columns < lengths[short, None]
        digests[short, :LONGEST_EXACT] = own
        digests[short, LONGEST_EXACT] = lengths[short] + 1
    if short.size < len(begin):
        long = np.flatnonzero(lengths > LONGEST_EXACT)
        hashed = b"".join(
            hashlib.md5(data[at:to], usedforsecurity=False).digest()
            for at, to in zip(begin[long].tolist(), end[long].tolist(), strict=True)
        )
        digests[long] = np.frombuffer(hashed, np.uint8).reshape(-1, DIGEST_BYTES)
        digests[long, LONGEST_EXACT] = _OF_MD5
    halves = digests.view(np.uint64)
    return Digests(halves[:, 0], halves[:, 1])


def digest_of(*keys: bytes) -> Digests:
    """Return the digests of some keys."""
    ends = np.cumsum([0, *map(len, keys)])
    return key_digests(b"".join((*keys, bytes(SLACK))), ends[:-1], ends[1:])


class OffsetMap:
    """The table of keys and offsets. It takes at most `slots` - 1 keys, because every search ends
    at a free slot.

    `put` and `get` look at few slots as long as at most nine tenths are taken. `latest_offset` is
    the last offset that the map covers; -1 at first.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.slots = memory_bytes // SLOT_BYTES
        self._high: Uint64s = np.zeros(self.slots, np.uint64)
        self._low: Uint64s = np.zeros(self.slots, np.uint64)
        self._offsets: Int64s = np.zeros(self.slots, np.int64)
        self.entries = 0
        self.latest_offset = -1

    def put(self, digests: Digests, offsets: Int64s, most: int) -> int:
        """Record the offset of each key, in order. If a key occurs several times, its last offset
        counts.

        The method stops when `most` entries are taken and a new key comes. It returns how many keys
        were put. O(keys).
        """
        most = min(most, self.slots - 1)
        rows = len(offsets)
        if self.entries + rows > most:
            rows = self._room(digests, most)
            digests, offsets = Digests(digests.high[:rows], digests.low[:rows]), offsets[:rows]
        if rows:
            at, is_new = self._claim(digests)
            self._offsets[at] = offsets  # for equal slots, the last offset stays
            self.entries += int(np.count_nonzero(is_new))
        return rows

    def _room(self, digests: Digests, most: int) -> int:
        """Return how many of the keys fit into the map until it has `most` entries."""
        unknown = np.flatnonzero(self.get(digests) == NOT_FOUND)
        both = np.stack(digests.take(unknown), axis=1)
        _, first = np.unique(both, axis=0, return_index=True)
        is_new = np.zeros(len(digests.high), np.int64)
        is_new[unknown[first]] = 1
        taken_before = self.entries + np.cumsum(is_new) - is_new
        refused = np.flatnonzero(taken_before >= most)
        return int(refused[0]) if refused.size else len(is_new)

    def get(self, digests: Digests) -> Int64s:
        """Return the offset of each key's last record; NOT_FOUND for a key that is not there.

        O(keys).
        """
        found: Int64s = np.full(len(digests.high), NOT_FOUND, np.int64)
        if not self.entries:
            return found
        rows = np.arange(len(found))
        slots = self._first_slots(digests)
        while rows.size:
            high, low = self._high[slots], self._low[slots]
            same = (high == digests.high[rows]) & (low == digests.low[rows])
            found[rows[same]] = self._offsets[slots[same]]
            on = ~same & ((high != 0) | (low != 0))
            rows, slots = rows[on], self._next(slots[on])
        return found

    def _claim(self, digests: Digests) -> tuple[Int64s, Bools]:
        """Return the slot of each key, and for each key whether it has just taken a free slot.

        Several keys may want the same free slot at once. Each key writes its digest there. The key
        whose digest remains gets the slot, and the other keys try the next slot.
        """
        count = len(digests.high)
        owned: Int64s = np.zeros(count, np.int64)
        is_new: Bools = np.zeros(count, np.bool_)
        rows = np.arange(count)
        slots = self._first_slots(digests)
        while rows.size:
            high, low = digests.high[rows], digests.low[rows]
            free = (self._high[slots] == 0) & (self._low[slots] == 0)
            self._high[slots[free]] = high[free]
            self._low[slots[free]] = low[free]
            mine = (self._high[slots] == high) & (self._low[slots] == low)
            owned[rows[mine]] = slots[mine]
            _, first = np.unique(slots[mine & free], return_index=True)
            is_new[rows[mine & free][first]] = True
            rows, slots = rows[~mine], self._next(slots[~mine])
        return owned, is_new

    def _first_slots(self, digests: Digests) -> Int64s:
        mixed = digests.high * _MIX_HIGH ^ digests.low * _MIX_LOW
        mixed ^= mixed >> _HALF
        mixed *= _MIX_HIGH
        mixed ^= mixed >> _HALF
        return (mixed % np.uint64(max(self.slots, 1))).astype(np.int64)

    def _next(self, slots: Int64s) -> Int64s:
        following = slots + 1
        following[following == self.slots] = 0
        return following
