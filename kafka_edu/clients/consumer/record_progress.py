"""Which offsets a program may commit whose workers end their records in any order.

`poll()` returns records, and the program gives them to workers. A committed offset is that of the
next record to read. So a partition's offset is that of its first record that no worker has ended,
even if later ones have ended:

    poll() returned   4  5  6  8  9        (7 was removed by compaction)
    ended             4  5     8
    to commit               6              after a crash 6, 8 and 9 come again

A commit may fail, and another member may get the partitions. `due`, `revoked` and `lost` say what
to commit in each case. Kafka leaves this to the program: its own automatic commit counts a record
as done when the next `poll()` is called.
"""

from collections.abc import Iterable, Sequence

from kafka_edu.common.topic_partition import TopicPartition


class _Owned:
    """A partition that the consumer has: its records without an end, and what was committed."""

    __slots__ = ("begun", "next_offset", "stored", "waiting")

    def __init__(self) -> None:
        self.begun = False
        self.waiting: dict[int, None] = {}
        """The offsets without an end, in their order."""
        self.next_offset = 0
        """The offset behind the last record that `poll()` has returned."""
        self.stored = 0
        """The offset that is stored; until a commit, that of the first record."""

    @property
    def committable(self) -> int:
        """Return the offset of the first record without an end. O(1)."""
        return next(iter(self.waiting), self.next_offset)


class RecordProgress:
    """The records in work of one consumer. The program calls it around `poll()` and in the
    listeners of `subscribe()`. One commit is in flight at most, so an old one cannot come last.
    """

    def __init__(self, commit_interval_ms: float) -> None:
        self._interval_ms = commit_interval_ms
        self._since_ms: float | None = None
        """When `due` was called first, or when it last returned offsets."""
        self._owned: dict[TopicPartition, _Owned] = {}
        self._in_flight: dict[TopicPartition, int] | None = None

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Take more partitions: call it in `on_assigned`."""
        self._owned.update((tp, _Owned()) for tp in partitions)

    def polled(self, tp: TopicPartition, offsets: Sequence[int]) -> None:
        """Note records that `poll()` has returned, in the order of their offsets."""
        owned = self._owned[tp]
        if offsets and not owned.begun:
            owned.begun = True
            owned.stored = offsets[0]
        for offset in offsets:
            owned.waiting[offset] = None
            owned.next_offset = offset + 1

    def done(self, tp: TopicPartition, offset: int) -> None:
        """Note that a worker has ended a record. It may come late, for a partition that is gone."""
        owned = self._owned.get(tp)
        if owned is not None:
            owned.waiting.pop(offset, None)

    def due(self, now_ms: float) -> dict[TopicPartition, int]:
        """Return what to commit between two calls of `poll()`; nothing if it is not time.

        `answered` must follow each answer that is not empty.
        """
        if self._since_ms is None:
            self._since_ms = now_ms
        if self._in_flight is not None or now_ms - self._since_ms < self._interval_ms:
            return {}
        offsets = self._beyond(self._owned)
        if offsets:
            self._since_ms = now_ms
            self._in_flight = dict(offsets)
        return offsets

    def answered(self, stored: bool) -> None:
        """Note the end of the commit that `due` returned."""
        in_flight, self._in_flight = self._in_flight, None
        if stored and in_flight is not None:
            for tp, offset in in_flight.items():
                self._owned[tp].stored = offset

    def revoked(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Give partitions up. Return what to commit before `on_revoked` returns.

        A commit without an answer does not count as stored, because it may fail.
        """
        going = list(partitions)
        offsets = self._beyond(going)
        self._forget(going)
        return offsets

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that other members may have already. Commit nothing for them."""
        self._forget(partitions)

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            self._owned.pop(tp, None)
            if self._in_flight is not None:
                self._in_flight.pop(tp, None)

    def _beyond(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {
            tp: owned.committable
            for tp in partitions
            if (owned := self._owned.get(tp)) is not None and owned.committable > owned.stored
        }
