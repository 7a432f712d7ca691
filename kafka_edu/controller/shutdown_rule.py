"""Which partitions a broker's controlled shutdown concerns, and what the controller does with each
(Kafka: KafkaController.doControlledShutdown; book 000 §6.4.2; spec G1).

The book has three cases, by the partitions that have a replica on the broker:

- More than one replica, and the broker leads: another replica of the ISR is elected.
- More than one replica, and the broker follows: its replica stops and leaves the ISR.
- Only one replica: nothing can be done. The broker stops the replica itself at the end.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition

NOT_CHECKED = -1
"""The broker epoch of a request that names none."""


class Concerned(NamedTuple):
    """A partition, as the controller knows it."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int | None
    """-1: none at the moment; None: it never had one."""
    deleting: bool
    """Its topic is queued up for deletion."""


class ShutdownRule:
    """Sorts partitions. It keeps no state."""

    def refusal(self, asked_epoch: int, live_epoch: int | None) -> Errors:
        """Return why the request is refused; NONE if it is not. `live_epoch` is the epoch of the
        broker's registration, or None if it is not alive.
        """
        if live_epoch is None:
            return (
                Errors.BROKER_NOT_AVAILABLE
                if asked_epoch == NOT_CHECKED
                else Errors.STALE_BROKER_EPOCH
            )
        stale = asked_epoch != NOT_CHECKED and asked_epoch < live_epoch
        return Errors.STALE_BROKER_EPOCH if stale else Errors.NONE

    def sort(
        self, broker_id: int, partitions: Iterable[Concerned]
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Return the partitions whose leadership moves, and those whose follower stops. O(n)."""
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        for one in partitions:
            if _can_move(one) and broker_id in one.replicas and one.leader is not None:
                (led if one.leader == broker_id else followed).append(one.partition)
        return led, followed

    def remaining(self, broker_id: int, partitions: Iterable[Concerned]) -> list[TopicPartition]:
        """Return the partitions that the broker leads and somebody else could. O(n)."""
        return [one.partition for one in partitions if _can_move(one) and one.leader == broker_id]


def _can_move(one: Concerned) -> bool:
    return len(one.replicas) > 1 and not one.deleting
