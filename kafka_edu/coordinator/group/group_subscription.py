"""Read the subscriptions and assignments that consumers exchange through the coordinator.

(Kafka: computeSubscribedTopics in GroupMetadata.scala, ConsumerProtocol.java.) The coordinator
passes the members' data on without reading them. There are two exceptions. Before the coordinator
removes offsets, it must know which topics a group still reads (KIP-211, KIP-496). And the
coordinator's events list each member's topics and partitions.
"""

import struct
from collections.abc import Iterable
from typing import Final

from kafka_edu.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka_edu.protocol.types import ProtocolError

_VERSION: Final = struct.Struct(">h")
HIGHEST_KNOWN_VERSION: Final = 1


def topics_of(metadata: bytes) -> tuple[str, ...] | None:
    """Return the topics of one subscription; None if it cannot be read.

    A version newer than all known versions is read as the newest known version.
    """
    try:
        (version,) = _VERSION.unpack_from(metadata)
        if version < 0:
            return None
        subscription = ConsumerProtocolSubscription.decode(
            metadata, min(version, HIGHEST_KNOWN_VERSION), _VERSION.size
        )
    except (struct.error, ProtocolError):
        return None
    return tuple(subscription.topics)


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics of these subscriptions; None if any of them cannot be read."""
    topics: set[str] = set()
    for each in metadata:
        read = topics_of(each)
        if read is None:
            return None
        topics.update(read)
    return frozenset(topics)


def partitions_of(assignment: bytes) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return each topic's partitions in an assignment; () if the assignment is empty or
    unreadable.
    """
    try:
        (version,) = _VERSION.unpack_from(assignment)
        if version < 0:
            return ()
        read = ConsumerProtocolAssignment.decode(
            assignment, min(version, HIGHEST_KNOWN_VERSION), _VERSION.size
        )
    except (struct.error, ProtocolError):
        return ()
    return tuple((each.topic, tuple(each.partitions)) for each in read.assigned_partitions)
