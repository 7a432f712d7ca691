"""Create the topic of a web log, by an unmodified client (confluent-kafka)."""

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic


class TopicNotFilled(Exception):
    """The log could not be written to the topic. The text says why."""


def create_topic(
    bootstrap_servers: str, topic: str, partitions: int, replication_factor: int
) -> bool:
    """Create the topic, or leave it if it exists. Return whether it is new. Raises TopicNotFilled.

    A new topic is empty. For a moment its partitions may have no leader yet.

    The topic has no retention limit by time. The log's lines carry times long past, and
    retention.ms (a week) is counted from those.
    """
    new = NewTopic(topic, partitions, replication_factor, config={"retention.ms": "-1"})
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    for future in admin.create_topics([new], request_timeout=30).values():
        try:
            future.result(60)
        except Exception as error:
            refused = error.args[0] if error.args else error
            if (
                not isinstance(refused, KafkaError)
                or refused.code() != KafkaError.TOPIC_ALREADY_EXISTS
            ):
                why = refused.str() if isinstance(refused, KafkaError) else refused
                raise TopicNotFilled(f"topic {topic} could not be created: {why}") from error
            return False
    return True
