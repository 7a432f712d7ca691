"""Find the partitions about which a learner's code decides: partitions of topics made for labs.

Each event of a partition needs one call of the learner's code, and the broker's loop waits for that
call. So the learner's code does not decide about any other topic.
"""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions

LAB_TOPICS: Final = "lab-"
"""The prefix of the topic names that belong to labs."""


def all_of_labs(partitions: Iterable[TopicPartition]) -> bool:
    """Return whether all partitions belong to topics of the labs. False if there are none."""
    found = False
    for topic_partition in partitions:
        if not topic_partition.topic.startswith(LAB_TOPICS):
            return False
        found = True
    return found


def replica_or_error(partitions: Partitions, topic_partition: TopicPartition) -> Partition | Errors:
    """Return this broker's replica of the partition, or the error why it has none.

    The errors are UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR if the replica's log directory
    has failed, and NOT_LEADER_OR_FOLLOWER if the broker has no replica of the partition.
    """
    try:
        replica = partitions.get_or_raise(topic_partition)
    except KafkaException as failure:
        return failure.error
    return replica if replica.log is not None else Errors.NOT_LEADER_OR_FOLLOWER
