"""The topics about which a learner's conditions decide.

Each event of a partition costs one call, and the broker's loop waits for it. So all other topics
keep the shipped conditions.
"""

from collections.abc import Iterable
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition

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
