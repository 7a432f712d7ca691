"""What any answer to Metadata has in common, a broker's from its cache as a proxy's from its copy
(Kafka: MetadataRequest.java, KafkaApis.scala).
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
"""In place of the authorized operations of one who did not ask for them (KIP-430)."""


def topics_asked_for(request: MetadataRequest, version: int) -> list[str] | None:
    """The names, each once, in the order of asking; None: all topics, which is said by null, in v0
    by an empty list.

    Raises KafkaException(INVALID_REQUEST) for a topic that is asked for by id.
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
    """What is wrong with a topic that does not exist and is not created."""
    try:
        validate_topic_name(name)
    except KafkaException as error:
        return error.error
    return Errors.UNKNOWN_TOPIC_OR_PARTITION


def metadata_error(request: MetadataRequest, error: Errors) -> MetadataResponse:
    """No brokers, no cluster id, no controller; the error beside each topic, with the id that was
    asked for; a null name is told as an empty one.
    """
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or []
        ]
    )
