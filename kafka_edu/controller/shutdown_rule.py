"""Decide what the controller does with each partition of a broker that shuts down.

(Kafka: KafkaController.doControlledShutdown; book 000 §6.4.2; spec G1.)

The book has three cases for a partition with a replica on that broker:

- More than one replica, and the broker leads: another replica of the ISR is elected.
- More than one replica, and the broker follows: its replica stops and leaves the ISR.
- Only one replica: nothing can be done. The broker stops the replica itself at the end.

Next: `ActiveController.controlled_shutdown` (active_controller.py).
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.controlled_shutdown import EPOCH_NOT_CHECKED


class Concerned(NamedTuple):
    """The state of a partition that has a replica on the broker that shuts down."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int | None
    """The leader's broker id; -1: no leader at the moment; None: it never had a leader."""
    deleting: bool
    """Whether the partition's topic is queued up for deletion."""


class ShutdownRule:
    """The rule of a controlled shutdown: what to do with each partition. It has no state."""

    def refusal(self, asked_epoch: int, live_epoch: int | None) -> Errors:
        """Return the error with which the request is refused; NONE if it is accepted.

        `asked_epoch` is the broker epoch in the request. `live_epoch` is the epoch of the broker's
        registration, or None if the broker is not alive.
        """
        if live_epoch is None:
            return (
                Errors.BROKER_NOT_AVAILABLE
                if asked_epoch == EPOCH_NOT_CHECKED
                else Errors.STALE_BROKER_EPOCH
            )
        stale = asked_epoch != EPOCH_NOT_CHECKED and asked_epoch < live_epoch
        return Errors.STALE_BROKER_EPOCH if stale else Errors.NONE

    def sort(
        self, broker_id: int, partitions: Iterable[Concerned]
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Return two lists: partitions whose leadership moves, and partitions whose follower stops.

        O(partitions).
        """
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        for one in partitions:
            if _can_move(one) and broker_id in one.replicas and one.leader is not None:
                (led if one.leader == broker_id else followed).append(one.partition)
        return led, followed

    def remaining(self, broker_id: int, partitions: Iterable[Concerned]) -> list[TopicPartition]:
        """Return the partitions that the broker leads and that have more than one replica.

        Topics that are being deleted are left out. O(partitions).
        """
        return [one.partition for one in partitions if _can_move(one) and one.leader == broker_id]


def _can_move(one: Concerned) -> bool:
    return len(one.replicas) > 1 and not one.deleting
