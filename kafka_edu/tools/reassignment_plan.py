"""The common part of both ways of reassign-partitions: the proposal, the throttles, and the printed
assignments.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.replica_assignment import assign_replicas_to_brokers
from kafka_edu.tools.reassignment_file import to_json

NO_LOG_DIRS_THROTTLE: Final = (
    "--replica-alter-log-dirs-throttle has no effect yet, because replicas cannot move between log"
    " dirs"
)
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
    """Bytes per second. Negative: no throttle."""

    inter_broker: int
    log_dirs: int


def propose(
    current: Assignment, racks: Mapping[int, str | None], random: Random
) -> dict[TopicPartition, tuple[int, ...]]:
    """Assign each topic again, with as many replicas as its first partition has. Raises
    KafkaException.
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
    """Print the present assignment, to return to, before anything begins."""
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
    """Return a topic's value of {leader,follower}.replication.throttled.replicas.

    `0:1,0:2,1:0` means partition:broker.
    """
    return ",".join(
        f"{tp.partition}:{broker_id}"
        for tp, brokers in sorted(replicas.items())
        if tp.topic == topic
        for broker_id in brokers
    )
