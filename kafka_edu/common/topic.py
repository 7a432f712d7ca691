"""Check the names of topics (Kafka: Topic.java, org.apache.kafka.common.internals)."""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException

GROUP_METADATA_TOPIC_NAME: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC_NAME: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME})
MAX_NAME_LENGTH: Final = 249
"""The maximum number of characters in a topic name.

A folder `<topic>-<partition>` may have 255 characters. The dash and a partition number of five
digits take six of them.
"""
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS


def validate_topic_name(topic: str) -> None:
    """Raise KafkaException(INVALID_TOPIC_EXCEPTION) if a topic may not have this name."""
    if not topic:
        reason = "Topic name is illegal, it can't be empty"
    elif topic in (".", ".."):
        reason = 'Topic name cannot be "." or ".."'
    elif len(topic) > MAX_NAME_LENGTH:
        reason = (
            f"Topic name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters, topic"
            f" name: {topic}"
        )
    elif not _LEGAL.issuperset(topic):
        reason = (
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII'
            " alphanumerics, '.', '_' and '-'"
        )
    else:
        return
    raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, reason)


def colliding_topics(topic: str, existing: Iterable[str]) -> list[str]:
    """Return the existing topics that have the same name as `topic` in metrics.

    In metrics "_" replaces ".", so `a.b` collides with `a_b`.
    """
    if "." not in topic and "_" not in topic:
        return []
    unified = topic.replace(".", "_")
    return sorted(
        other for other in existing if other != topic and other.replace(".", "_") == unified
    )
