"""Create the topic for a web log, with the standard client of confluent-kafka."""

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic


class TopicNotFilled(Exception):
    """Raised if a log cannot be written to its topic. The text says why."""


def create_topic(
    bootstrap_servers: str, topic: str, partitions: int, replication_factor: int
) -> bool:
    """Create the topic if it does not exist. Return whether it was created. Raises TopicNotFilled
    if that fails.

    For a moment after the creation, the partitions may have no leader.

    The topic has no retention limit by time. The times of the log's lines are long past, and the
    default retention.ms of a week would delete such records.
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
