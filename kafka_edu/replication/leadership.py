"""Notify coordinators which partitions of their internal topic this broker leads (Kafka:
onLeadershipChange in KafkaServer).
"""

from collections.abc import Iterable
from typing import Protocol

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.partition import Partition


class LeadershipListener(Protocol):
    """A coordinator, which must know when this broker begins or ceases to lead a partition of its
    internal topic.
    """

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Begin to lead the partition. The log holds all that the coordinator has to read."""
        ...

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Cease to lead the partition, or note that this broker never did.

        `leader_epoch` is the epoch of the leader that it follows; None: its replica is removed.
        """
        ...


class Leadership:
    """The owner of the listeners, one for each topic."""

    def __init__(self) -> None:
        self._listeners: dict[str, LeadershipListener] = {}

    def listen(self, topic: str, listener: LeadershipListener) -> None:
        """Notify `listener` of each change of leadership of this topic's partitions."""
        if topic in self._listeners:
            raise ValueError(f"{topic} has a listener already")
        self._listeners[topic] = listener

    def changed(self, leaders: Iterable[Partition], followers: Iterable[Partition]) -> None:
        """Notify the listeners after a request of the controller was carried out, leaders first.

        O(partitions).
        """
        for partition in leaders:
            tp = partition.topic_partition
            if (listener := self._listeners.get(tp.topic)) is not None:
                listener.on_election(tp.partition, partition.leader_epoch)
        for partition in followers:
            tp = partition.topic_partition
            if (listener := self._listeners.get(tp.topic)) is not None:
                listener.on_resignation(tp.partition, partition.leader_epoch)

    def removed(self, topic_partition: TopicPartition) -> None:
        """Make the coordinator of this partition resign, because a StopReplica has deleted the
        replica or its disk failed.

        No LeaderAndIsr does it: the old leader of a partition that moved to other brokers gets
        none, and an offline partition refuses it.
        """
        if (listener := self._listeners.get(topic_partition.topic)) is not None:
            listener.on_resignation(topic_partition.partition, None)
