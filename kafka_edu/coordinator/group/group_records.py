"""Encode and decode the records of `__consumer_offsets`.

(Kafka: the companion object of GroupMetadataManager.scala; book 001; spec O2.)

    key                              value
    1 | group, topic, partition      a committed offset
                                       version 1: as in 2.0
                                       version 3: since 2.1, with the leader epoch (KIP-320)
    2 | group                        generation, protocol, leader, members, assignments
                                       version 1: as in 2.0
                                       version 2: since 2.1, with the time of its state (KIP-211)
                                       version 3: since 2.3, with instance ids (KIP-345)

Each key and value begins with its version, an int16. A null value is a tombstone. The topic is
compacted, so in the end only the last value of each key remains. inter.broker.protocol.version
decides which version is written, because the next coordinator may be an older broker.
"""

import struct
from collections.abc import Mapping
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.protocol.messages.group_metadata_log import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_edu.protocol.messages.group_metadata_log import MemberMetadata as MemberValue
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.record.record import InvalidRecordError

_VERSION: Final = struct.Struct(">h")
OFFSET_KEY_VERSION: Final = 1
GROUP_KEY_VERSION: Final = 2
ProtocolVersion = tuple[int, int]


def _with_version(message: Message, version: int) -> bytes:
    return _VERSION.pack(version) + message.encode(version)


def offset_key(group_id: str, tp: TopicPartition) -> bytes:
    return _with_version(
        OffsetCommitKey(group=group_id, topic=tp.topic, partition=tp.partition), OFFSET_KEY_VERSION
    )


def offset_value(value: OffsetAndMetadata, protocol: ProtocolVersion) -> bytes:
    """Return a committed offset as the bytes of a record's value.

    Version 1 has an expire time and no leader epoch. Version 1 is written if
    inter.broker.protocol.version is below 2.1, or if the client has set the time when the offset
    expires.
    """
    version = 1 if protocol < (2, 1) or value.expire_timestamp is not None else 3
    return _with_version(
        OffsetCommitValue(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.commit_timestamp,
            expire_timestamp=-1 if value.expire_timestamp is None else value.expire_timestamp,
        ),
        version,
    )


def group_key(group_id: str) -> bytes:
    return _with_version(GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def group_value(
    group: GroupMetadata, assignments: Mapping[str, bytes], protocol: ProtocolVersion
) -> bytes:
    """Return the group as the bytes of a record's value. O(members).

    `assignments` maps each member id to the assignment that is written.
    """
    version = 1 if protocol < (2, 1) else 2 if protocol < (2, 3) else 3
    name = group.protocol_name
    members = [
        MemberValue(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(name) if name is not None else b"",
            assignment=assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    ]
    return _with_version(
        GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=group.generation_id,
            protocol=name,
            leader=group.leader_id,
            current_state_timestamp=(
                -1 if group.current_state_timestamp is None else group.current_state_timestamp
            ),
            members=members,
        ),
        version,
    )


class OffsetKey(tuple[str, TopicPartition]):
    """The decoded key of a committed offset's record: (group name, partition)."""

    __slots__ = ()


class GroupKey(str):
    """The decoded key of a group's record: the group's name."""

    __slots__ = ()


def read_key(data: bytes) -> OffsetKey | GroupKey | None:
    """Return the decoded key of a record; None for a version of a later Kafka.

    Raises InvalidRecordError if the key is broken.
    """
    version = _version(data)
    try:
        if 0 <= version <= OFFSET_KEY_VERSION:
            key = OffsetCommitKey.decode(data, version, _VERSION.size)
            return OffsetKey((key.group, TopicPartition(key.topic, key.partition)))
        if version == GROUP_KEY_VERSION:
            return GroupKey(GroupMetadataKey.decode(data, version, _VERSION.size).group)
    except ProtocolError as error:
        raise InvalidRecordError(f"a key of __consumer_offsets cannot be read: {error}") from error
    return None


def read_offset_value(data: bytes) -> OffsetCommitValue:
    """Return the decoded value of a committed offset's record.

    Raises InvalidRecordError if the value is broken, or has a version of a later Kafka.
    """
    version = _version(data)
    if not OffsetCommitValue.VALID.has(version):
        raise InvalidRecordError(f"a committed offset has the unknown version {version}")
    try:
        return OffsetCommitValue.decode(data, version, _VERSION.size)
    except ProtocolError as error:
        raise InvalidRecordError(f"a committed offset cannot be read: {error}") from error


def read_group_value(data: bytes) -> GroupMetadataValue:
    """Return the decoded value of a group's record.

    Version 0 has no rebalance time-out; the session time-out is used instead. Raises
    InvalidRecordError if the value is broken, or has a version of a later Kafka.
    """
    version = _version(data)
    if not GroupMetadataValue.VALID.has(version):
        raise InvalidRecordError(f"a group has the unknown version {version}")
    try:
        value = GroupMetadataValue.decode(data, version, _VERSION.size)
    except ProtocolError as error:
        raise InvalidRecordError(f"a group cannot be read: {error}") from error
    if version == 0:
        for member in value.members:
            member.rebalance_timeout = member.session_timeout
    return value


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise InvalidRecordError("a record of __consumer_offsets has no version")
    version: int = _VERSION.unpack_from(data)[0]
    return version
