"""Keep the last minutes of a process's facts in memory, so that one can look back after a surprise.

A ring gets the facts of level `state`: state changes, the hops of control-plane requests, and the
hops of requests that waited longer than SLOW_MS. It keeps them as compressed blocks of lines, in
the format of `wire_format`. Two limits hold: age and bytes. When facts come faster than the bytes
allow, the ring reaches back less far, and its memory does not grow.

Once a minute in which something happened the ring also keeps a keyframe, which is a whole snapshot.
A reader knows the state from the first keyframe on. When the oldest block goes, the facts up to
the next keyframe stay: they still answer questions about causes, and `RingBegins` counts them.

A fact costs 2 µs, nearly all of it for its line of JSON, and takes 20 to 40 bytes compressed. 256
facts are compressed at a time, because alone they would take four times as many bytes. At 10,000
facts/s the default 64 MB reach back about five minutes.

Kafka has no such ring.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import cramjam

from kafka_edu.trace.event import Envelope, Level

BLOCK_FACTS: Final = 256
BLOCK_BYTES: Final = 1 << 18
"""A block is closed at so many bytes of lines too, because single events can be large."""
KEYFRAME_EVERY_US: Final = 60_000_000
KEYFRAME_SHARE: Final = 1000
"""A keyframe may take one part in so many of the time: a broker with more state makes them less
often."""
KEYFRAME_MOST: Final = 4
"""A keyframe larger than the ring's bytes divided by this is not kept."""

DEFAULT_MINUTES: Final = 10
DEFAULT_BYTES: Final = 64 * 1024 * 1024
SMALL_BYTES: Final = 16 * 1024 * 1024
"""The bytes of a ring in a process that has less to tell: ZooKeeper, the supervisor."""


class Block(NamedTuple):
    """Lines that were compressed together: facts, or one keyframe."""

    first_us: int
    last_us: int
    facts: int
    """0 in a keyframe."""
    before: int
    """The facts that the ring got before this block."""
    packed: bytes

    @property
    def is_keyframe(self) -> bool:
        return not self.facts

    def lines(self) -> bytes:
        return bytes(cramjam.zstd.decompress(self.packed))


class TraceRing:
    """A sink that keeps what is younger than `minutes` and fits into `max_bytes`."""

    level = Level.STATE

    def __init__(
        self,
        line: Callable[[Envelope], bytes],
        minutes: float = DEFAULT_MINUTES,
        max_bytes: int = DEFAULT_BYTES,
    ) -> None:
        """`line` returns an event's line. The event server shares one line among all its sinks."""
        self._line = line
        self._keep_us = int(minutes * 60_000_000)
        self._max_bytes = max_bytes
        self._blocks: deque[Block] = deque()
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._first_us = self._last_us = 0
        self._next_keyframe_us = 0
        self._seen = 0
        self.first_number = 0
        """The number of the oldest block that is left. Blocks are numbered from 0."""
        self.bytes = 0
        """Bytes of all closed blocks."""
        self.facts = 0
        """Facts that are held now."""
        self.shed_for_bytes = 0
        """Facts that had to go before their time, because of `max_bytes`."""

    def accept(self, envelope: Envelope) -> None:
        """Keep one fact. O(its size), and at each 256th the compression of them all."""
        line = self._line(envelope)
        if not self._open:
            self._first_us = envelope.mono_us
        self._last_us = envelope.mono_us
        self._open.append(line)
        self._open_bytes += len(line)
        self.facts += 1
        self._seen += 1
        if len(self._open) >= BLOCK_FACTS or self._open_bytes >= BLOCK_BYTES:
            self.close_block()

    def close_block(self) -> None:
        """Compress the facts since the last block, if there are any."""
        if self._open:
            lines, self._open, self._open_bytes = self._open, [], 0
            before = self._seen - len(lines)
            self._add(Block(self._first_us, self._last_us, len(lines), before, _pack(lines)))

    def tick(
        self, now_us: int, snapshot: Callable[[], list[bytes]], clock: Callable[[], int]
    ) -> None:
        """Forget what is too old, and take a keyframe if one is due. To be called ten times a
        second. `clock` returns µs.
        """
        while self._blocks and self._blocks[0].last_us < now_us - self._keep_us:
            self._drop()
        if now_us < self._next_keyframe_us or not self._changed_since_keyframe():
            return
        began_us = clock()
        self.close_block()
        packed = _pack(snapshot())
        if len(packed) <= self._max_bytes // KEYFRAME_MOST:
            self._add(Block(now_us, now_us, 0, self._seen, packed))
        took_us = clock() - began_us
        self._next_keyframe_us = now_us + max(KEYFRAME_EVERY_US, took_us * KEYFRAME_SHARE)

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
        """Return a block that is held, from `first_number` to before `end_number`."""
        return self._blocks[number - self.first_number]

    def start_for(self, since_us: int) -> int:
        """Return the number of the block with which a reader has to begin who wants what happened
        from `since_us` on: the last keyframe before it, or else the oldest block.
        """
        start = self.first_number
        for number, block in enumerate(self._blocks, self.first_number):
            if block.first_us > since_us:
                break
            if block.is_keyframe:
                start = number
        return start

    def stateless(self, start: int) -> int:
        """Return the number of facts from block `start` on that come before a keyframe."""
        facts = 0
        for number in range(start, self.end_number):
            block = self.block(number)
            if block.is_keyframe:
                break
            facts += block.facts
        return facts


def _pack(lines: list[bytes]) -> bytes:
    return bytes(cramjam.zstd.compress(b"".join(lines), level=1))
