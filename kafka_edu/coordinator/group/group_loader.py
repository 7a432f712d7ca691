"""Reads groups from the records of one partition of `__consumer_offsets`, batch by batch.

(Kafka: doLoadGroupsAndOffsets in GroupMetadataManager.scala.) The last value of a key is the valid
one, and a tombstone removes the key. Offsets of a transaction become valid at its commit marker; at
an abort marker they are dropped. If there are two commits for the same partition, the later commit
in the log wins. If the transaction is still open at the end of the log, its offsets stay pending.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_records import (
    GroupKey,
    OffsetKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.member_metadata import MemberMetadata, Protocol
from kafka_edu.coordinator.group.offset_and_metadata import CommittedOffset, offset_of
from kafka_edu.protocol.messages.group_metadata_log import GroupMetadataValue
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import BatchHeader, read_records
from kafka_edu.trace.tracer import Tracer

Offsets = dict[TopicPartition, CommittedOffset]


class LoadedGroup(NamedTuple):
    """All that the log contains about one group."""

    group_id: str
    value: GroupMetadataValue | None
    """The group's members and generation; None if the log has only offsets of the group."""
    offsets: Offsets
    pending: dict[int, Offsets]
    """Producer id → the offsets of that producer's open transaction."""


class GroupLoader:
    """Reads one partition; only the task that loads the partition uses this object.

    Memory O(groups and offsets that are not deleted), time O(records).
    """

    def __init__(self) -> None:
        self._groups: dict[str, GroupMetadataValue] = {}
        self._offsets: dict[str, Offsets] = {}
        self._pending: dict[int, dict[str, Offsets]] = {}

    def apply(self, header: BatchHeader, batch: memoryview) -> None:
        """Read one batch. Raises InvalidRecordError if a record is broken."""
        if header.is_control:
            marker = read_end_transaction_marker(batch)
            if marker is not None:
                self._end_transaction(header.producer_id, marker.type is ControlRecordType.COMMIT)
            return
        for record in read_records(batch):
            self._apply_record(record, header)

    def _apply_record(self, record: Record, header: BatchHeader) -> None:
        key = read_key(record.key) if record.key is not None else None
        if isinstance(key, OffsetKey):
            group_id, tp = key
            target = (
                self._pending.setdefault(header.producer_id, {})
                if header.is_transactional
                else self._offsets
            )
            offsets = target.setdefault(group_id, {})
            if record.value is None:
                offsets.pop(tp, None)
            else:
                offsets[tp] = CommittedOffset(
                    offset_of(read_offset_value(record.value)), header.base_offset
                )
        elif isinstance(key, GroupKey):
            if record.value is None:
                self._groups.pop(str(key), None)
            else:
                self._groups[str(key)] = read_group_value(record.value)

    def _end_transaction(self, producer_id: int, committed: bool) -> None:
        for group_id, pending in self._pending.pop(producer_id, {}).items():
            if committed:
                offsets = self._offsets.setdefault(group_id, {})
                for tp, commit in pending.items():
                    current = offsets.get(tp)
                    if current is None or current.older_than(commit):
                        offsets[tp] = commit

    def groups(self) -> Iterator[LoadedGroup]:
        """Yield every group that has members or offsets, after all batches are applied."""
        pending: dict[str, dict[int, Offsets]] = {}
        for producer_id, by_group in self._pending.items():
            for group_id, offsets in by_group.items():
                if offsets:
                    pending.setdefault(group_id, {})[producer_id] = offsets
        names = dict.fromkeys(
            [
                *self._groups,
                *(group_id for group_id, offsets in self._offsets.items() if offsets),
                *pending,
            ]
        )
        for group_id in names:
            yield LoadedGroup(
                group_id,
                self._groups.get(group_id),
                self._offsets.get(group_id, {}),
                pending.get(group_id, {}),
            )


def make_group(loaded: LoadedGroup, now_ms: int, trace: Tracer | None) -> GroupMetadata:
    """Create the group in the state that its last record describes. O(members + offsets).

    The group is Stable if it has members, else Empty. The group's members must send heartbeats
    again.
    """
    value = loaded.value
    members = value.members if value is not None else []
    group = GroupMetadata(
        loaded.group_id, GroupState.STABLE if members else GroupState.EMPTY, now_ms, trace
    )
    group.offsets.load(loaded.offsets, loaded.pending)
    if value is None:
        return group
    group.restore(
        [
            MemberMetadata(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout,
                member.session_timeout,
                value.protocol_type,
                (Protocol(value.protocol or "", member.subscription),),
                member.assignment,
            )
            for member in members
        ],
        value.generation,
        value.protocol_type or None,
        value.protocol,
        value.leader,
    )
    group.current_state_timestamp = (
        value.current_state_timestamp if value.current_state_timestamp >= 0 else None
    )
    return group
