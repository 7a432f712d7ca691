"""The committed offsets of a group, and the offsets that are being written.

(Kafka: the offset half of GroupMetadata.scala; KIP-98, KIP-211, KIP-447.) A commit is *prepared*
before it is appended to the log, and becomes *valid* when the log has it. So an offset that a
client reads back is never lost later. Between these two steps the commit is pending. A pending
offset does not expire, and its group is not removed.

    prepare → append → appended: valid, unless a later one in the log is valid already
                     → failed: dropped

A commit within a transaction is prepared and appended in the same way. After that the commit waits
for the end of the transaction, which is known by the producer id. A commit marker makes the commit
valid, and an abort marker drops it. While the commit waits, a reader that requires stable offsets
gets UNSTABLE_OFFSET_COMMIT.
"""

from collections.abc import Iterable, Mapping, Set

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.offset_and_metadata import CommittedOffset, OffsetAndMetadata


class GroupOffsets:
    """The offsets of one group; only its GroupMetadata owns this object.

    `expired` and `among` are O(all offsets). Every other operation is O(offsets that it handles).
    """

    __slots__ = ("_pending", "_pending_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        """The valid committed offset of each partition."""
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending_transactional: dict[int, dict[TopicPartition, CommittedOffset]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no offset is committed, being written, or part of an open transaction."""
        return not (self.committed or self._pending or self._pending_transactional)

    def is_pending(self, tp: TopicPartition) -> bool:
        """Return whether a commit for the partition is being written, or waits in a transaction."""
        return tp in self._pending or any(
            tp in offsets for offsets in self._pending_transactional.values()
        )

    def has_pending_from(self, producer_id: int) -> bool:
        return producer_id in self._pending_transactional

    @property
    def producers(self) -> Iterable[int]:
        """The ids of the producers with an open transaction in this group."""
        return self._pending_transactional

    def among(self, partitions: Set[TopicPartition]) -> set[TopicPartition]:
        """Return the members of `partitions` that have a committed or pending offset. O(offsets).

        Offsets in open transactions are included.
        """
        known: list[Iterable[TopicPartition]] = [
            self.committed,
            self._pending,
            *self._pending_transactional.values(),
        ]
        return {tp for offsets in known for tp in offsets if tp in partitions}

    def load(
        self,
        committed: Mapping[TopicPartition, CommittedOffset],
        pending: Mapping[int, Mapping[TopicPartition, CommittedOffset]],
    ) -> None:
        """Set the offsets that were read from the log.

        `pending` has, by producer id, the offsets of transactions that are still open.
        """
        self.committed = dict(committed)
        self._pending_transactional = {
            producer_id: dict(offsets) for producer_id, offsets in pending.items()
        }

    def prepare(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Record the offsets that are about to be appended to the log.

        If two commits for one partition are being written, the later one is recorded as pending.
        """
        self._pending.update(offsets)

    def appended(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], batch_offset: int
    ) -> None:
        """Record that the log has the offsets, in the batch at `batch_offset`."""
        for tp, value in offsets.items():
            if tp in self._pending:
                self._count(tp, CommittedOffset(value, batch_offset))
                self._settle(tp, value)

    def failed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Drop pending offsets that could not be appended to the log."""
        for tp, value in offsets.items():
            self._settle(tp, value)

    def _settle(self, tp: TopicPartition, value: OffsetAndMetadata) -> None:
        if self._pending.get(tp) == value:
            del self._pending[tp]

    def _count(self, tp: TopicPartition, commit: CommittedOffset) -> None:
        current = self.committed.get(tp)
        if current is None or current.older_than(commit):
            self.committed[tp] = commit

    def prepare_transactional(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        open_ones = self._pending_transactional.setdefault(producer_id, {})
        for tp, value in offsets.items():
            open_ones[tp] = CommittedOffset(value, None)

    def transactional_appended(
        self,
        producer_id: int,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        batch_offset: int,
    ) -> None:
        """Record that the log has these offsets of a transaction.

        If the transaction has ended in the meantime, nothing is recorded.
        """
        open_ones = self._pending_transactional.get(producer_id, {})
        for tp, value in offsets.items():
            pending = open_ones.get(tp)
            if pending is not None and pending.value == value:
                open_ones[tp] = CommittedOffset(value, batch_offset)

    def transactional_failed(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Drop a transaction's offsets that could not be appended to the log.

        A producer that has no pending offsets left is forgotten.
        """
        open_ones = self._pending_transactional.get(producer_id)
        if open_ones is None:
            return
        for tp, value in offsets.items():
            pending = open_ones.get(tp)
            if (
                pending is not None
                and pending.value == value
                and pending.appended_batch_offset is None
            ):
                del open_ones[tp]
        if not open_ones:
            del self._pending_transactional[producer_id]

    def complete_transaction(
        self, producer_id: int, committed: bool
    ) -> dict[TopicPartition, CommittedOffset]:
        """End a transaction whose marker is in the log; return the offsets that it contained.

        If the producer has no open transaction here, nothing changes. A commit that is still being
        written is dropped, because the transaction ended before this commit was complete.
        """
        ended = self._pending_transactional.pop(producer_id, {})
        if committed:
            for tp, commit in ended.items():
                if commit.appended_batch_offset is not None:
                    self._count(tp, commit)
        return ended

    def remove(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Forget the committed and pending offsets of these partitions.

        Returns the forgotten committed offsets, so that the caller can write tombstones.
        """
        removed = {}
        for tp in partitions:
            self._pending.pop(tp, None)
            for producer_id in [
                p for p, offsets in self._pending_transactional.items() if tp in offsets
            ]:
                offsets = self._pending_transactional[producer_id]
                del offsets[tp]
                if not offsets:
                    del self._pending_transactional[producer_id]
            commit = self.committed.pop(tp, None)
            if commit is not None:
                removed[tp] = commit.value
        return removed

    def expired(
        self,
        now_ms: int,
        retention_ms: int,
        *,
        since_ms: int | None,
        subscribed: Iterable[str] = (),
    ) -> list[TopicPartition]:
        """Return the partitions whose offsets have expired (KIP-211).

        An offset expires `retention_ms` after `since_ms` (the time when the group became empty), or
        after its commit if `since_ms` is None. Offsets of `subscribed` topics and pending offsets
        do not expire. If the client itself set an expire time (OffsetCommit v2 to v4), only that
        time is used.
        """
        topics = frozenset(subscribed)
        return [
            tp
            for tp, (value, _) in self.committed.items()
            if tp.topic not in topics
            and tp not in self._pending
            and (
                now_ms - (value.commit_timestamp if since_ms is None else since_ms) >= retention_ms
                if value.expire_timestamp is None
                else now_ms >= value.expire_timestamp
            )
        ]
