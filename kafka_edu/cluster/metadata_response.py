"""Functions for Metadata responses (Kafka: MetadataRequest.java, KafkaApis.scala).

A broker answers from its cache, and a proxy from its own copy. Both use these functions.
"""

from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import validate_topic_name
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafka_edu.protocol.types import ZERO_UUID

NOT_ASKED: Final = -0x80000000
"""The value of the field for authorized operations if the client did not request it (KIP-430)."""


def requested_topics(request: MetadataRequest, version: int) -> list[str] | None:
    """Return the requested topic names in the order of the request. None means all topics.

    A name that is requested twice is returned once. All topics are requested by a null list, and in
    v0 by an empty list. Raises KafkaException(INVALID_REQUEST) if the request names a topic by its
    id.
    """
    if request.topics is None or (version == 0 and not request.topics):
        return None
    names: dict[str, None] = {}
    for topic in request.topics:
        if topic.name is None or topic.topic_id != ZERO_UUID:
            raise KafkaException(
                Errors.INVALID_REQUEST, "topics are asked for by name, not by id, up to version 11"
            )
        names[topic.name] = None
    return list(names)


def error_of_missing(name: str) -> Errors:
    """Return the error for a topic that does not exist and is not created automatically."""
    try:
        validate_topic_name(name)
    except KafkaException as error:
        return error.error
    return Errors.UNKNOWN_TOPIC_OR_PARTITION


def metadata_error(request: MetadataRequest, error: Errors) -> MetadataResponse:
    """Return a response in which every requested topic has the error `error`.

    The response has no brokers, no cluster id and no controller. Each topic keeps the id from the
    request. A null name becomes an empty name.
    """
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or []
        ]
    )
