"""What consumers want to read, out of the metadata of their JoinGroup (Kafka:
computeSubscribedTopics in GroupMetadata.scala, ConsumerProtocol.java).

The coordinator passes the members' metadata on unread, with this one exception: to know which
offsets of a group nobody reads any more (KIP-211, KIP-496).
"""

import struct
from collections.abc import Iterable
from typing import Final

from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_edu.protocol.types import ProtocolError

_VERSION: Final = struct.Struct(">h")
HIGHEST_KNOWN_VERSION: Final = 1


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all of these subscriptions together; None if one of them cannot be read. Newer
    versions are read as the newest one known.
    """
    topics: set[str] = set()
    for each in metadata:
        try:
            (version,) = _VERSION.unpack_from(each)
            if version < 0:
                return None
            topics.update(
                ConsumerProtocolSubscription.decode(
                    each, min(version, HIGHEST_KNOWN_VERSION), _VERSION.size
                ).topics
            )
        except (struct.error, ProtocolError):
            return None
    return frozenset(topics)
