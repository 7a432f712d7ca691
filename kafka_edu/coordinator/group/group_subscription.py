"""The topics that consumers subscribe to, from the metadata of their JoinGroup requests.

(Kafka: computeSubscribedTopics in GroupMetadata.scala, ConsumerProtocol.java.) The coordinator
passes the members' metadata on without reading it. This is the one exception: it must know which
offsets of a group are no longer read (KIP-211, KIP-496).
"""

import struct
from collections.abc import Iterable
from typing import Final

from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_edu.protocol.types import ProtocolError

_VERSION: Final = struct.Struct(">h")
HIGHEST_KNOWN_VERSION: Final = 1


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics of these subscriptions; None if one of them cannot be read.

    A newer version is read like the newest known version.
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
