"""Notify the coordinators when this broker becomes or stops being leader of a partition of their
internal topic (Kafka: onLeadershipChange in KafkaServer).
"""

from collections.abc import Iterable
from typing import Protocol

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.partition import Partition


class LeadershipListener(Protocol):
    """A coordinator. It must know when this broker becomes or stops being leader of a partition of
    the coordinator's internal topic.
    """

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Take over the partition, because this broker has become its leader.

        The log has all records that the coordinator must read.
        """
        ...

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Give up the partition, because this broker does not lead it. The broker may never have
        led it.

        `leader_epoch` is the epoch of the leader that this broker now follows; None if its replica
        was removed.
        """
        ...


class Leadership:
    """The listeners for changes of leadership: one for each internal topic."""

    def __init__(self) -> None:
        self._listeners: dict[str, LeadershipListener] = {}

    def listen(self, topic: str, listener: LeadershipListener) -> None:
        """Call `listener` from now on when the leadership of a partition of `topic` changes."""
        if topic in self._listeners:
            raise ValueError(f"{topic} has a listener already")
        self._listeners[topic] = listener

    def changed(self, leaders: Iterable[Partition], followers: Iterable[Partition]) -> None:
        """Notify the listeners after a LeaderAndIsr request was carried out: first about the
        partitions that this broker newly leads, then about the partitions that it follows.

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
        """Notify the partition's listener that this broker no longer leads it, because a
        StopReplica request has deleted the replica or its disk failed.

        In these cases no LeaderAndIsr request leads to a notification. The controller sends none to
        a broker whose replica has moved away, and an offline partition refuses it.
        """
        if (listener := self._listeners.get(topic_partition.topic)) is not None:
            listener.on_resignation(topic_partition.partition, None)
