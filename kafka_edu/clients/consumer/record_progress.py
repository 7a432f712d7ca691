"""Find the offsets that may be committed when workers finish records in any order.

`poll()` returns records, and the program gives them to workers. A committed offset is the offset of
the next record to read. So for each partition, commit the offset of the first record that no worker
has finished, even if later records are finished:
"""

from collections.abc import Iterable, Sequence

from kafka_edu.common.topic_partition import TopicPartition


class _Owned:
    """One assigned partition: its unfinished records, and its committed offset."""

    __slots__ = ("begun", "next_offset", "stored", "waiting")

    def __init__(self) -> None:
        self.begun = False
        self.waiting: dict[int, None] = {}
        """The offsets of unfinished records, in their order."""
        self.next_offset = 0
        """The offset after the last record that `poll()` has returned."""
        self.stored = 0
        """The stored offset. Before the first commit, it is the offset of the first record."""

    @property
    def committable(self) -> int:
        """Return the offset of the first unfinished record. O(1)."""
        return next(iter(self.waiting), self.next_offset)


class RecordProgress:
    """The unfinished records of one consumer. The program calls the methods around `poll()` and in
    the listeners of `subscribe()`. At most one commit is in flight, so an older commit cannot
    overwrite a newer one.
    """

    def __init__(self, commit_interval_ms: float) -> None:
        self._interval_ms = commit_interval_ms
        self._since_ms: float | None = None
        """When `due` was first called, or when it last returned offsets."""
        self._owned: dict[TopicPartition, _Owned] = {}
        self._in_flight: dict[TopicPartition, int] | None = None

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions. Call this in `on_assigned`."""
        self._owned.update((tp, _Owned()) for tp in partitions)

    def polled(self, tp: TopicPartition, offsets: Sequence[int]) -> None:
        """Record that `poll()` has returned these offsets, which are in order."""
        owned = self._owned[tp]
        if offsets and not owned.begun:
            owned.begun = True
            owned.stored = offsets[0]
        for offset in offsets:
            owned.waiting[offset] = None
            owned.next_offset = offset + 1

    def done(self, tp: TopicPartition, offset: int) -> None:
        """Record that a worker has finished a record. The partition may already be revoked."""
        owned = self._owned.get(tp)
        if owned is not None:
            owned.waiting.pop(offset, None)

    def due(self, now_ms: float) -> dict[TopicPartition, int]:
        """Return the offsets to commit between two calls of `poll()`. Empty if no commit is due.

        If the result is not empty, call `answered` after the commit.
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
        """Record that the commit of the offsets from `due` has ended."""
        in_flight, self._in_flight = self._in_flight, None
        if stored and in_flight is not None:
            for tp, offset in in_flight.items():
                self._owned[tp].stored = offset

    def revoked(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Remove revoked partitions. Return the offsets to commit before `on_revoked` returns.

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
