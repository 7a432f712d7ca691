"""Keep the facts of the last minutes of a process in memory, so that a user can look back at them.

A ring gets the facts of level `state`: state changes, the hops of control-plane requests, and the
hops of requests that waited longer than SLOW_MS. It keeps them as compressed blocks of lines, in
the format of `wire_format`. Both the age of the facts and their size in bytes are limited. If facts
come very fast, the limit in bytes makes the ring keep a shorter time, and its memory does not grow.

Once a minute, if something has happened, the ring also stores a keyframe, which is a whole
snapshot. A reader knows the state from the first keyframe on. The lines of a large keyframe are
made over several ticks, so that no turn of the loop takes long. When the ring drops its oldest
block, it keeps the facts before the next keyframe. They still help to find causes, and `RingBegins`
says how many they are.

Storing a fact costs 2 µs, mostly for making its line of JSON. Compressed, it takes 20 to 40 bytes.
256 facts are compressed together, because facts that are compressed one by one take four times as
many bytes. At 10,000 facts/s, the default size of 64 MB holds about five minutes.

Kafka has no such ring.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import cramjam

from kafka_edu.common.turns import TURN_BUDGET_MS
from kafka_edu.trace.event import Envelope, Level

BLOCK_FACTS: Final = 256
BLOCK_BYTES: Final = 1 << 18
"""A block is also closed when its lines have this many bytes, because single events can be
large.
"""
WAITING_BYTES: Final = 16 * BLOCK_BYTES
"""Facts that come while a keyframe is made wait until it is stored. If they have this many bytes,
the keyframe is given up.
"""
KEYFRAME_EVERY_US: Final = 60_000_000
KEYFRAME_SHARE: Final = 1000
"""Making keyframes may take at most one thousandth of the time. So a broker with more state makes
keyframes less often.
"""
KEYFRAME_MOST: Final = 4
"""A keyframe is not kept if it is larger than the ring's size divided by this number."""

DEFAULT_MINUTES: Final = 10
DEFAULT_BYTES: Final = 64 * 1024 * 1024
SMALL_BYTES: Final = 16 * 1024 * 1024
"""The size of the ring, in bytes, in a process with fewer facts: ZooKeeper and the supervisor."""


class Block(NamedTuple):
    """Lines that were compressed together: either facts, or one keyframe."""

    first_us: int
    last_us: int
    facts: int
    """The number of facts in the block. 0 for a keyframe."""
    before: int
    """The number of all facts that the ring got before this block."""
    packed: bytes

    @property
    def is_keyframe(self) -> bool:
        return not self.facts

    def lines(self) -> bytes:
        return bytes(cramjam.zstd.decompress(self.packed))


class Keyframe:
    """A keyframe whose lines are being made."""

    __slots__ = ("before", "began_us", "lines", "made", "took_us")

    def __init__(self, began_us: int, before: int) -> None:
        self.began_us = began_us
        self.before = before
        """The number of all facts that the ring got before this keyframe."""
        self.lines: Iterator[bytes] = iter(())
        self.made: list[bytes] = []
        self.took_us = 0


class TraceRing:
    """A sink that keeps facts not older than `minutes`, as long as they fit into `max_bytes`."""

    level = Level.STATE

    def __init__(
        self,
        line: Callable[[Envelope], bytes],
        minutes: float = DEFAULT_MINUTES,
        max_bytes: int = DEFAULT_BYTES,
    ) -> None:
        """Create an empty ring.

        `line` is a function that returns an event's line. The event server shares one such function
        among all its sinks.
        """
        self._line = line
        self._keep_us = int(minutes * 60_000_000)
        self._max_bytes = max_bytes
        self._blocks: deque[Block] = deque()
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._first_us = self._last_us = 0
        self._next_keyframe_us = 0
        self._seen = 0
        self._keyframe: Keyframe | None = None
        self.first_number = 0
        """The number of the oldest block that is still kept. Blocks are numbered from 0."""
        self.bytes = 0
        """The size of all closed blocks in bytes."""
        self.facts = 0
        """The number of facts that the ring keeps now."""
        self.shed_for_bytes = 0
        """The number of facts that were dropped before they were too old, because of
        `max_bytes`.
        """

    def accept(self, envelope: Envelope) -> None:
        """Store one fact. O(size of the fact). Each 256th fact also compresses the last 256
        facts.
        """
        line = self._line(envelope)
        if not self._open:
            self._first_us = envelope.mono_us
        self._last_us = envelope.mono_us
        self._open.append(line)
        self._open_bytes += len(line)
        self.facts += 1
        self._seen += 1
        if self._keyframe is not None:
            if self._open_bytes >= WAITING_BYTES:
                self.close_block()
        elif len(self._open) >= BLOCK_FACTS or self._open_bytes >= BLOCK_BYTES:
            self.close_block()

    def close_block(self) -> None:
        """Compress the facts since the last block into a new block, if there are any. If a keyframe
        is being made, it is given up, because these facts came after its beginning. The time that
        was spent on the keyframe counts for KEYFRAME_SHARE, so the next keyframe begins later.
        """
        if self._open:
            if self._keyframe is not None:
                spent_us = self._keyframe.took_us * KEYFRAME_SHARE
                self._next_keyframe_us = self._keyframe.began_us + spent_us
                self._keyframe = None
            lines, self._open, self._open_bytes = self._open, [], 0
            before = self._seen - len(lines)
            self._add(Block(self._first_us, self._last_us, len(lines), before, _pack(lines)))

    def tick(
        self, now_us: int, snapshot: Callable[[], Iterator[bytes]], clock: Callable[[], int]
    ) -> None:
        """Drop what is too old. Begin a keyframe if one is due, or go on with it, for at most
        TURN_BUDGET_MS. Must be called ten times a second.

        `snapshot` gathers the state when it is called, and makes a line at each step of its
        iterator. `clock` returns the current time in µs.
        """
        while self._blocks and self._blocks[0].last_us < now_us - self._keep_us:
            self._drop()
        began_us = clock()
        if self._keyframe is None:
            if now_us < self._next_keyframe_us or not self._changed_since_keyframe():
                return
            self.close_block()
            self._keyframe = Keyframe(now_us, self._seen)
            self._keyframe.lines = snapshot()
        self._go_on(self._keyframe, began_us, clock)

    def _go_on(self, keyframe: Keyframe, began_us: int, clock: Callable[[], int]) -> None:
        """Make lines of a keyframe until the time of this turn is used up, and store it when all
        are made.
        """
        for line in keyframe.lines:
            keyframe.made.append(line)
            if clock() - began_us >= TURN_BUDGET_MS * 1000:
                keyframe.took_us += clock() - began_us
                return
        self._keyframe = None
        packed, at_us = _pack(keyframe.made), keyframe.began_us
        if len(packed) <= self._max_bytes // KEYFRAME_MOST:
            self._add(Block(at_us, at_us, 0, keyframe.before, packed))
        took_us = keyframe.took_us + clock() - began_us
        self._next_keyframe_us = at_us + max(KEYFRAME_EVERY_US, took_us * KEYFRAME_SHARE)

    def _changed_since_keyframe(self) -> bool:
        return bool(self._open) or not self._blocks or not self._blocks[-1].is_keyframe

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self.bytes += len(block.packed)
        while self.bytes > self._max_bytes:
            self.shed_for_bytes += self._blocks[0].facts
            self._drop()

    def _drop(self) -> None:
        block = self._blocks.popleft()
        self.first_number += 1
        self.bytes -= len(block.packed)
        self.facts -= block.facts

    @property
    def end_number(self) -> int:
        """The number that the next closed block will have."""
        return self.first_number + len(self._blocks)

    def block(self, number: int) -> Block:
        """Return a block that is still kept. `number` is from `first_number` up to, but not
        including, `end_number`.
        """
        return self._blocks[number - self.first_number]

    def start_for(self, since_us: int) -> int:
        """Return the number of the block at which a reader must begin, if it wants everything since
        `since_us`. This is the last keyframe before that time, or else the oldest block.
        """
        start = self.first_number
        for number, block in enumerate(self._blocks, self.first_number):
            if block.first_us > since_us:
                break
            if block.is_keyframe:
                start = number
        return start

    def stateless(self, start: int) -> int:
        """Return how many facts, from block `start` on, come before the first keyframe."""
        facts = 0
        for number in range(start, self.end_number):
            block = self.block(number)
            if block.is_keyframe:
                break
            facts += block.facts
        return facts


def _pack(lines: list[bytes]) -> bytes:
    return bytes(cramjam.zstd.compress(b"".join(lines), level=1))
