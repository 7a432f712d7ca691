"""The common part of both ways to reassign partitions (by ZooKeeper and by brokers).

It proposes assignments, defines throttles, and prints assignments.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.replica_assignment import assign_replicas_to_brokers
from kafka_edu.tools.reassignment_file import to_json

THROTTLED_RATES: Final = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
)
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
THROTTLED_REPLICAS: Final = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
CLIENT_ID: Final = "reassign-partitions-tool"

Assignment = Mapping[TopicPartition, tuple[int, ...]]


class Throttle(NamedTuple):
    """The limits of a reassignment in bytes per second. A negative number means no limit."""

    inter_broker: int
    log_dirs: int


def propose(
    current: Assignment, racks: Mapping[int, str | None], random: Random
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return a new assignment for each topic. Raises KafkaException.

    Each partition gets as many replicas as the topic's first partition has.
    """
    proposed: dict[TopicPartition, tuple[int, ...]] = {}
    for topic in dict.fromkeys(tp.topic for tp in current):
        of_topic = [replicas for tp, replicas in current.items() if tp.topic == topic]
        assigned = assign_replicas_to_brokers(racks, len(of_topic), len(of_topic[0]), random)
        proposed |= {
            TopicPartition(topic, number): replicas for number, replicas in assigned.items()
        }
    return proposed


def print_current(assignment: Mapping[TopicPartition, Sequence[int]]) -> None:
    """Print the current assignment before a reassignment, so that the user can restore it."""
    print(
        f"Current partition replica assignment\n\n{to_json(assignment)}\n\nSave this to use as the"
        " --reassignment-json-file option during rollback"
    )


def print_generated(
    current: Mapping[TopicPartition, Sequence[int]],
    proposed: Mapping[TopicPartition, Sequence[int]],
) -> None:
    print(f"Current partition replica assignment\n{to_json(current)}\n")
    print(f"Proposed partition reassignment configuration\n{to_json(proposed)}")


def throttled(replicas: Mapping[TopicPartition, Sequence[int]], topic: str) -> str:
    """Return the value of {leader,follower}.replication.throttled.replicas for a topic.

    In `0:1,0:2,1:0`, each entry is partition:broker.
    """
    return ",".join(
        f"{tp.partition}:{broker_id}"
        for tp, brokers in sorted(replicas.items())
        if tp.topic == topic
        for broker_id in brokers
    )
