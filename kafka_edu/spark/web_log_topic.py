"""Create the topic for a web log."""

from kafka_edu.clients import blocking
from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import Errors


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
    new = NewTopic(topic, partitions, replication_factor, configs={"retention.ms": "-1"})
    with blocking.Admin({"bootstrap.servers": bootstrap_servers}) as admin:
        try:
            admin.create_topics([new]).all()
        except ClientException as error:
            if error.error is not Errors.TOPIC_ALREADY_EXISTS:
                raise TopicNotFilled(
                    f"topic {topic} could not be created: {error.message}"
                ) from error
            return False
    return True
