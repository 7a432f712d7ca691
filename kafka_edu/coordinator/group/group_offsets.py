"""The offsets that a group has committed, and those on their way (Kafka: the offset half of
GroupMetadata.scala; KIP-98, KIP-211, KIP-447).

A commit is *prepared* before it is appended to the log, and *counts* when the log has it: so what a
client reads back is never lost later. Between the two it is pending: an offset that is being
written neither expires nor lets its group die.

    prepare → append → appended: counts, unless a later one in the log counts already
                     → failed: dropped

A commit within a transaction is prepared and appended alike, but waits then, by the producer's id,
for the transaction's end: a commit marker makes it count, an abort drops it. While it waits a
reader that asks for stable offsets is refused (UNSTABLE_OFFSET_COMMIT).
"""

from collections.abc import Iterable, Mapping, Set

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.offset_and_metadata import CommittedOffset, OffsetAndMetadata


class GroupOffsets:
    """Owned by its group. All operations O(offsets named), `expired` O(offsets)."""

    __slots__ = ("_pending", "_pending_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        """What counts."""
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending_transactional: dict[int, dict[TopicPartition, CommittedOffset]] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing is committed, nothing is on its way, no transaction is open."""
        return not (self.committed or self._pending or self._pending_transactional)

    def is_pending(self, tp: TopicPartition) -> bool:
        """Whether the offset may change soon by what is already here."""
        return tp in self._pending or any(
            tp in offsets for offsets in self._pending_transactional.values()
        )

    def has_pending_from(self, producer_id: int) -> bool:
        return producer_id in self._pending_transactional

    @property
    def producers(self) -> Iterable[int]:
        """Who has a transaction open here."""
        return self._pending_transactional

    def among(self, partitions: Set[TopicPartition]) -> set[TopicPartition]:
        """Those of `partitions` for which an offset is committed or on its way, in a transaction
        too. O(offsets).
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
        """Take over what was read from the log; `pending` are commits of transactions that are
        still open, by producer id.
        """
        self.committed = dict(committed)
        self._pending_transactional = {
            producer_id: dict(offsets) for producer_id, offsets in pending.items()
        }

    def prepare(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """They are about to be appended. Of two on their way for one partition the later one is the
        pending one.
        """
        self._pending.update(offsets)

    def appended(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], batch_offset: int
    ) -> None:
        """The log has them at `batch_offset`."""
        for tp, value in offsets.items():
            if tp in self._pending:
                self._count(tp, CommittedOffset(value, batch_offset))
                self._settle(tp, value)

    def failed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """The log does not have them."""
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
        """The log has them. If the transaction has ended meanwhile there is nothing left to do: it
        was aborted, or its commit was answered before.
        """
        open_ones = self._pending_transactional.get(producer_id, {})
        for tp, value in offsets.items():
            pending = open_ones.get(tp)
            if pending is not None and pending.value == value:
                open_ones[tp] = CommittedOffset(value, batch_offset)

    def transactional_failed(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """The log does not have them; a producer without any is forgotten."""
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
        """The transaction's marker is in the log; returns the offsets that it concerned. A
        transaction that is not open here changes nothing.

        A commit that is still on its way to the log is dropped: its coordinator ended the
        transaction without having heard that it arrived.
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
        """Forget these, whatever is on its way for them as well; returns what was committed, for
        tombstones.
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
        """Whose time is up (KIP-211): `retention_ms` after `since_ms` (when the group became
        empty), or after the commit if that is None.

        Not those of `subscribed` topics, nor pending ones. A client's own expire time (OffsetCommit
        v2 to v4) goes before all that.
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
