"""The bytes that members of a group exchange: subscriptions and assignments.

(Kafka: ConsumerProtocol.java, StickyAssignor.java, CooperativeStickyAssignor.java.) The group's
coordinator passes these bytes on without reading them. They begin with a version, an int16. Later
versions only add fields at the end. So an older reader can read the fields that it knows.
"""

import struct
from collections.abc import Sequence
from typing import Final

from kafka_edu.clients.consumer.assignors import NO_GENERATION, MemberSubscription, by_topic
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.messages.consumer_protocol import (
    AssignedTopicPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedTopicPartitions,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Array, Int32, ProtocolError

_VERSION: Final = struct.Struct(">h")
_GENERATION: Final = struct.Struct(">i")
NEWEST: Final = 1


class StickyUserData(Message, valid="0-1", flexible="none"):
    """The partitions that a member had before, in the form in which the assignor sticky reports
    them. These bytes do not begin with a version.
    """

    previous_assignment: list[AssignedTopicPartitions] = field(
        Array(AssignedTopicPartitions), "0+", "The partitions that the member had."
    )
    generation: int = field(
        Int32, "1+", "The generation in which it had them (KIP-341).", default=NO_GENERATION
    )


def encode_subscription(
    topics: Sequence[str],
    owned: Sequence[TopicPartition],
    user_data: bytes | None = None,
    version: int = NEWEST,
) -> bytes:
    """Return the metadata of a JoinGroup request. `owned` are the member's current partitions."""
    body = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[
            OwnedTopicPartitions(topic=topic, partitions=partitions)
            for topic, partitions in by_topic(owned).items()
        ],
    )
    return _VERSION.pack(version) + body.encode(version)


def encode_sticky_user_data(owned: Sequence[TopicPartition], generation: int) -> bytes:
    """Return the user data in which the sticky assignor reports a member's former partitions."""
    return StickyUserData(previous_assignment=_assigned(owned), generation=generation).encode(1)


def encode_generation(generation: int) -> bytes:
    """Return the user data of cooperative-sticky: the generation in which the member got
    `owned`.
    """
    return _GENERATION.pack(generation)


def decode_subscription(
    metadata: bytes, group_instance_id: str | None = None, *, sticky: bool = False
) -> MemberSubscription:
    """Return a member's subscription. With `sticky`, its former partitions are in the user data.

    Otherwise the user data is read in the format of cooperative-sticky: only the generation. The
    other assignors do not use the user data.

    Raises ProtocolError if the bytes are no subscription. Unreadable user data is ignored.
    """
    version = _version(metadata)
    body = ConsumerProtocolSubscription.decode(metadata, version, _VERSION.size)
    topics = tuple(body.topics)
    if not sticky:
        owned = tuple(
            TopicPartition(each.topic, partition)
            for each in body.owned_partitions
            for partition in each.partitions
        )
        data = body.user_data or b""
        whole = len(data) >= _GENERATION.size
        generation = _GENERATION.unpack_from(data)[0] if whole else NO_GENERATION
        return MemberSubscription(topics, group_instance_id, owned, generation)
    if not body.user_data:
        return MemberSubscription(topics, group_instance_id)
    for layout in (1, 0):
        try:
            sticky_data = StickyUserData.decode(body.user_data, layout)
        except ProtocolError:
            continue
        had = tuple(_partitions(sticky_data.previous_assignment))
        return MemberSubscription(topics, group_instance_id, had, sticky_data.generation)
    return MemberSubscription(topics, group_instance_id)


def encode_assignment(
    partitions: Sequence[TopicPartition], user_data: bytes | None = None, version: int = NEWEST
) -> bytes:
    """Return one member's part of a SyncGroup request."""
    body = ConsumerProtocolAssignment(
        assigned_partitions=_assigned(partitions), user_data=user_data
    )
    return _VERSION.pack(version) + body.encode(version)


def decode_assignment(assignment: bytes) -> list[TopicPartition]:
    """Return the partitions of a SyncGroup response. Empty bytes mean none.

    Raises ProtocolError if the bytes are no assignment.
    """
    if not assignment:
        return []
    version = _version(assignment)
    body = ConsumerProtocolAssignment.decode(assignment, version, _VERSION.size)
    return _partitions(body.assigned_partitions)


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are too few for a version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise ProtocolError(f"a consumer's data has the version {version}")
    return min(version, NEWEST)


def _assigned(partitions: Sequence[TopicPartition]) -> list[AssignedTopicPartitions]:
    return [
        AssignedTopicPartitions(topic=topic, partitions=numbers)
        for topic, numbers in by_topic(partitions).items()
    ]


def _partitions(topics: Sequence[AssignedTopicPartitions]) -> list[TopicPartition]:
    return [
        TopicPartition(each.topic, partition) for each in topics for partition in each.partitions
    ]
