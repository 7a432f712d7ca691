"""The partitions about which a learner's conditions decide: those of the labs' topics.

Each event of a partition costs one call, and the broker's loop waits for it. So all other topics
keep the shipped conditions.
"""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions

LAB_TOPICS: Final = "lab-"
"""The names of these topics begin like this."""


def all_of_labs(partitions: Iterable[TopicPartition]) -> bool:
    """Return whether all of these belong to topics of the labs, and there is one at least."""
    found = False
    for topic_partition in partitions:
        if not topic_partition.topic.startswith(LAB_TOPICS):
            return False
        found = True
    return found


def replica_or_error(partitions: Partitions, topic_partition: TopicPartition) -> Partition | Errors:
    """Return the replica of this broker, which has a log; or why there is none:
    UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR if its log dir has failed, or
    NOT_LEADER_OR_FOLLOWER if it is not here.
    """
    try:
        replica = partitions.get_or_raise(topic_partition)
    except KafkaException as failure:
        return failure.error
    return replica if replica.log is not None else Errors.NOT_LEADER_OR_FOLLOWER
