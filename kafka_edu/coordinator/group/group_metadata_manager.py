"""Keeps the groups of this broker in memory, and writes them to `__consumer_offsets`.

(Kafka: GroupMetadataManager.scala; book 001; spec O2.) `__consumer_offsets` has 50 partitions. A
group belongs to one of them by the hash of its name, and the broker that leads that partition
coordinates the group. Data that must survive a crash of the broker is written to the partition's
log before the response is sent. Such data are each generation with its assignment, and each
committed offset.

- Partition: if this broker does not lead a partition, requests for its groups get NOT_COORDINATOR.
  While the partition is being loaded, they get COORDINATOR_LOAD_IN_PROGRESS. When it is loaded, its
  groups are in memory.
- Storing: the records are one batch, appended with acks=-1 (offsets.commit.required.acks). The
  callback is called when the whole ISR has the batch, or after offsets.commit.timeout.ms.
- Expiry: every offsets.retention.check.interval.ms, tombstones are written for offsets that have
  expired, and for groups that have nothing left (KIP-211).

The manager is synchronous and runs in the broker's event loop. PartitionLoader reads the logs for
it. Next: `Append.append_records` (kafka_edu/replication/append.py).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from kafka_edu.common.errors import Errors
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import Time
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import partition_for
from kafka_edu.coordinator.group.group_config import OffsetConfig
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_records import (
    group_key,
    group_value,
    offset_key,
    offset_value,
)
from kafka_edu.coordinator.group.group_state import VALID_PREVIOUS_STATES, GroupState
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    build_batch,
)
from kafka_edu.replication.delayed_produce import ProduceResults
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.group import (
    GroupMembers,
    GroupMembersSampled,
    GroupMembersSnapshot,
    GroupSnapshot,
    OffsetsCommitted,
    OffsetsRemoved,
    TransactionalOffsetsCompleted,
)
from kafka_edu.trace.state_machine_table import state_machine_table
from kafka_edu.trace.tracer import Tracer

MAX_SAMPLED_GROUPS: Final = 50
SAMPLE_EVERY_MS: Final = 500
#: State → rank in a sample. If there are too many groups for one sample, those of the lowest rank
#: are shown.
_SAMPLED_FIRST: Final[Mapping[GroupState, int]] = {
    GroupState.PREPARING_REBALANCE: 0,
    GroupState.COMPLETING_REBALANCE: 0,
    GroupState.STABLE: 1,
    GroupState.EMPTY: 2,
    GroupState.DEAD: 3,
}
CommitErrors = dict[TopicPartition, Errors]
OFFSETS_SEQUENCE: Final = 0
"""The sequence number that Kafka writes into a batch of committed offsets.

It has no meaning, because brokers do not check the sequence numbers of a coordinator.
"""
Selector = Callable[[GroupMetadata], Collection[TopicPartition]]

#: Error of an append → error in the response to the client. All other errors stay the same.
APPEND_ERRORS: Final[Mapping[Errors, Errors]] = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
}
#: The same as APPEND_ERRORS, with more errors: GROUP_APPEND_ERRORS for the record of a group, and
#: OFFSET_APPEND_ERRORS for the records of committed offsets.
GROUP_APPEND_ERRORS: Final[Mapping[Errors, Errors]] = {
    **APPEND_ERRORS,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}
OFFSET_APPEND_ERRORS: Final[Mapping[Errors, Errors]] = {
    **APPEND_ERRORS,
    Errors.MESSAGE_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.RECORD_LIST_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.INVALID_FETCH_SIZE: Errors.INVALID_COMMIT_OFFSET_SIZE,
}


class GroupLog(Protocol):
    """The interface for appending records to the log; `Append` implements it."""

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        entries: dict[TopicPartition, Buffer],
        respond: Callable[[ProduceResults], None],
        *,
        origin: AppendOrigin,
    ) -> None: ...


class GroupMetadataManager:
    """The owner of this broker's groups.

    The function `partitions` returns how many partitions `__consumer_offsets` has.
    """

    def __init__(
        self,
        config: OffsetConfig,
        log: GroupLog,
        time: Time,
        partitions: Callable[[], int],
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._log = log
        self._time = time
        self._partitions = partitions
        self._trace = trace
        self._owned: dict[int, dict[str, GroupMetadata]] = {}
        """Number of a partition that this broker leads and has loaded → its groups by name."""
        self._loading: dict[int, int] = {}
        """Number of a partition that is being loaded → its leader epoch."""
        self._groups_of_producer: dict[int, set[str]] = {}
        """Producer id → the groups in which it has an open transaction."""
        self._sampled_ms = 0
        if trace:
            trace.on_snapshot(self._snapshot)
            trace.on_gauges(self._gauges)

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._partitions())

    def is_group_loading(self, group_id: str) -> bool:
        return self.partition_for(group_id) in self._loading

    def is_group_local(self, group_id: str) -> bool:
        """Return whether this broker coordinates the group; True even while the group is being
        loaded.
        """
        partition = self.partition_for(group_id)
        return partition in self._owned or partition in self._loading

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def is_loading_partition(self, partition: int, leader_epoch: int) -> bool:
        """Return whether the load of this partition under this leader epoch is still needed."""
        return self._loading.get(partition) == leader_epoch

    def owns(self, partition: int) -> bool:
        return partition in self._owned

    def get_group(self, group_id: str) -> GroupMetadata | None:
        """Return the group; None if it is unknown, or its partition is not loaded here. O(1)."""
        return self._owned.get(self.partition_for(group_id), {}).get(group_id)

    def get_or_create_group(self, group_id: str) -> GroupMetadata:
        """Return the group, or a new Empty one. Its partition must be loaded here."""
        groups = self._owned[self.partition_for(group_id)]
        group = groups.get(group_id)
        if group is None:
            group = groups[group_id] = GroupMetadata(
                group_id, GroupState.EMPTY, self._time.milliseconds(), self._trace
            )
        return group

    def groups(self) -> Iterator[GroupMetadata]:
        """Yield all groups of all partitions that this broker leads and has loaded."""
        for groups in self._owned.values():
            yield from groups.values()

    def begin_loading(self, partition: int, leader_epoch: int) -> None:
        """Record that the load of a partition begins, because this broker now leads it.

        If this broker has led the partition before, the caller has already unloaded the groups from
        that time.
        """
        self._loading[partition] = leader_epoch

    def loaded(self, partition: int, groups: Iterable[GroupMetadata]) -> None:
        """Take over the groups of a partition whose log has been read completely."""
        self._loading.pop(partition, None)
        self._owned[partition] = {group.group_id: group for group in groups}
        for group in self._owned[partition].values():
            for producer_id in group.offsets.producers:
                self._groups_of_producer.setdefault(producer_id, set()).add(group.group_id)

    def unload(self, partition: int) -> list[GroupMetadata]:
        """Forget a partition that this broker no longer leads, or could not load.

        Returns the partition's groups, whose members must still be notified.
        """
        self._loading.pop(partition, None)
        groups = list(self._owned.pop(partition, {}).values())
        for group in groups:
            for producer_id in list(group.offsets.producers):
                self._forget_producer(producer_id, group.group_id)
        return groups

    def _forget_producer(self, producer_id: int, group_id: str) -> None:
        groups = self._groups_of_producer.get(producer_id)
        if groups is not None:
            groups.discard(group_id)
            if not groups:
                del self._groups_of_producer[producer_id]

    def _append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        required_acks: int,
        respond: Callable[[Errors, int], None],
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
    ) -> None:
        """Append (key, value) pairs as one batch; with a producer id, in its transaction.

        `respond` is called with the error and the batch's base offset, now or later.
        """
        now_ms = self._time.milliseconds()
        batch = build_batch(
            [Record(i, now_ms, key, value) for i, (key, value) in enumerate(records)],
            compression=self._config.compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=producer_id != NO_PRODUCER_ID,
        )
        tp = TopicPartition(GROUP_METADATA_TOPIC_NAME, partition)

        def appended(results: ProduceResults) -> None:
            status = results[tp]
            respond(status.error, status.base_offset)

        self._log.append_records(
            self._config.offsets_commit_timeout_ms,
            required_acks,
            {tp: batch},
            appended,
            origin=AppendOrigin.COORDINATOR,
        )

    def store_group(
        self,
        group: GroupMetadata,
        assignments: Mapping[str, bytes],
        respond: Callable[[Errors], None],
    ) -> None:
        """Write the group's generation to the log, with `assignments` (member id → assignment).

        `respond` is called once with the error, now or later.
        """
        record = (
            group_key(group.group_id),
            group_value(group, assignments, self._config.inter_broker_protocol_version),
        )
        self._append(
            self.partition_for(group.group_id),
            [record],
            self._config.offsets_commit_required_acks,
            lambda error, _: respond(GROUP_APPEND_ERRORS.get(error, error)),
        )

    def store_offsets(
        self,
        group: GroupMetadata,
        member_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        respond: Callable[[CommitErrors], None],
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:
        """Commit offsets; `respond` gets each partition's error, now or later.

        An offset whose metadata text is too long is left out (OFFSET_METADATA_TOO_LARGE). The other
        offsets are written as one batch. With a producer id, they become valid only when its
        transaction commits.
        """
        limit = self._config.offset_metadata_max_bytes
        valid = {tp: value for tp, value in offsets.items() if len(value.metadata) <= limit}
        errors: CommitErrors = {
            tp: Errors.OFFSET_METADATA_TOO_LARGE for tp in offsets if tp not in valid
        }
        if not valid:
            respond(errors)
            return
        transactional = producer_id != NO_PRODUCER_ID
        if transactional:
            group.offsets.prepare_transactional(producer_id, valid)
            self._groups_of_producer.setdefault(producer_id, set()).add(group.group_id)
        else:
            group.offsets.prepare(valid)
        protocol = self._config.inter_broker_protocol_version

        def appended(error: Errors, batch_offset: int) -> None:
            if group.state is not GroupState.DEAD:
                self._settle(group, member_id, valid, producer_id, error, batch_offset)
            answer = OFFSET_APPEND_ERRORS.get(error, error)
            respond({tp: errors.get(tp, answer) for tp in offsets})

        self._append(
            self.partition_for(group.group_id),
            [
                (offset_key(group.group_id, tp), offset_value(value, protocol))
                for tp, value in valid.items()
            ],
            self._config.offsets_commit_required_acks,
            appended,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=OFFSETS_SEQUENCE,
        )

    def _settle(
        self,
        group: GroupMetadata,
        member_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        producer_id: int,
        error: Errors,
        batch_offset: int,
    ) -> None:
        """Apply the result of an append, success or error, to the group's offsets."""
        transactional = producer_id != NO_PRODUCER_ID
        if error is not Errors.NONE:
            if transactional:
                group.offsets.transactional_failed(producer_id, offsets)
                if not group.offsets.has_pending_from(producer_id):
                    self._forget_producer(producer_id, group.group_id)
            else:
                group.offsets.failed(offsets)
            return
        if transactional:
            group.offsets.transactional_appended(producer_id, offsets, batch_offset)
        else:
            group.offsets.appended(offsets, batch_offset)
        if self._trace is not None and self._trace.hops:
            committed_offsets = tuple(
                (tp.topic, tp.partition, value.offset) for tp, value in offsets.items()
            )
            self._trace(
                OffsetsCommitted(
                    group=group.group_id,
                    generation=group.generation_id,
                    member=member_id,
                    offsets=committed_offsets,
                    producer_id=producer_id,
                )
            )

    def complete_transaction(
        self, producer_id: int, partitions: Collection[int], committed: bool
    ) -> None:
        """Apply the end of a transaction whose markers are in these partitions' logs.

        O(offsets that the transaction contains).
        """
        for group_id in sorted(self._groups_of_producer.get(producer_id, ())):
            group = self.get_group(group_id)
            if group is None or self.partition_for(group_id) not in partitions:
                continue
            ended = group.offsets.complete_transaction(producer_id, committed)
            self._forget_producer(producer_id, group_id)
            if ended and self._trace:
                committed_offsets = tuple(
                    (tp.topic, tp.partition, commit.value.offset) for tp, commit in ended.items()
                )
                self._trace(
                    TransactionalOffsetsCompleted(
                        group=group_id,
                        producer_id=producer_id,
                        committed=committed,
                        offsets=committed_offsets,
                    )
                )

    def cleanup_expired(self, groups: Iterable[GroupMetadata]) -> int:
        """Remove expired offsets of these groups, and return how many were removed. O(offsets).

        Every offsets.retention.check.interval.ms, PartitionLoader calls this method for all groups,
        100 at a time.
        """
        now_ms = self._time.milliseconds()
        return self.cleanup(
            groups,
            lambda group: group.expired_offsets(now_ms, self._config.offsets_retention_ms),
            "expired",
        )

    def cleanup_deleted(self, partitions: Collection[TopicPartition]) -> None:
        """Remove the offsets of deleted partitions, because no client can read these any more.

        O(groups + their offsets).
        """
        deleted = frozenset(partitions)
        self.cleanup(
            list(self.groups()), lambda group: group.offsets.among(deleted), "the topic is deleted"
        )

    def delete_group(self, group: GroupMetadata) -> None:
        """Delete an empty group with all its offsets."""
        group.transition_to(GroupState.DEAD, self._time.milliseconds())
        self.cleanup([group], lambda dead: list(dead.offsets.committed), "deleted")

    def cleanup(self, groups: Iterable[GroupMetadata], select: Selector, reason: str) -> int:
        """Remove the selected offsets of each group, and return how many were removed.

        An Empty group that has no offsets left becomes Dead and is removed too. Tombstones are
        appended to the log without waiting for the result. If a tombstone is lost, the next
        coordinator loads the old offset or group again, and removes it at a later clean-up.
        """
        now_ms = self._time.milliseconds()
        count = 0
        for group in groups:
            producers = list(group.offsets.producers)
            removed = group.offsets.remove(select(group))
            count += len(removed)
            for producer_id in producers:
                if not group.offsets.has_pending_from(producer_id):
                    self._forget_producer(producer_id, group.group_id)
            if group.state is GroupState.EMPTY and group.offsets.is_empty:
                group.transition_to(GroupState.DEAD, now_ms)
            tombstones: list[tuple[bytes, None]] = [
                (offset_key(group.group_id, tp), None) for tp in removed
            ]
            partition = self.partition_for(group.group_id)
            if group.state is GroupState.DEAD:
                owned = self._owned.get(partition, {})
                if owned.get(group.group_id) is group:
                    del owned[group.group_id]
                    if group.generation_id > 0:
                        tombstones.append((group_key(group.group_id), None))
            if removed and self._trace:
                self._trace(
                    OffsetsRemoved(
                        group=group.group_id,
                        reason=reason,
                        partitions=tuple((tp.topic, tp.partition) for tp in removed),
                    )
                )
            if tombstones:
                self._append(partition, tombstones, 0, lambda *_: None)
        return count

    def _snapshot(self) -> Iterable[Event]:
        yield state_machine_table("group", VALID_PREVIOUS_STATES)
        for partition, groups in self._owned.items():
            for group in groups.values():
                yield GroupSnapshot(group=group.description(partition))
        for state in self._members_states():
            yield GroupMembersSnapshot(state=state)

    def _gauges(self) -> Iterable[Event]:
        """Yield the groups with their members as events; at most twice a second."""
        now_ms = self._time.hi_res_clock_ms()
        if now_ms - self._sampled_ms >= SAMPLE_EVERY_MS:
            self._sampled_ms = now_ms
            for state in self._members_states():
                yield GroupMembersSampled(state=state)

    def _members_states(self) -> Iterator[GroupMembers]:
        """Yield the states of at most 50 groups; groups that rebalance come first."""
        groups = [
            (_SAMPLED_FIRST[group.state], partition, group)
            for partition, owned in self._owned.items()
            for group in owned.values()
        ]
        if len(groups) > MAX_SAMPLED_GROUPS:
            groups.sort(key=lambda each: each[0])
        now_ms, wall_ms = self._time.hi_res_clock_ms(), self._time.milliseconds()
        for _, partition, group in groups[:MAX_SAMPLED_GROUPS]:
            yield group.members_state(partition, now_ms, wall_ms)
