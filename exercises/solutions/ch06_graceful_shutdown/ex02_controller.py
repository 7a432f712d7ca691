"""Exercise 06-2: the reference solution (Kafka: KafkaController.doControlledShutdown)."""

from collections.abc import Sequence

Row = tuple[str, Sequence[int], int | None, bool]
"""A partition: name, replicas, leader, and whether its topic is being deleted."""


class ControlledShutdown:
    """The controller's decisions about a broker that wants to shut down."""

    def refusal(self, asked_epoch: int, live_epoch: int | None) -> str:
        """Return the error by which the request is refused, or "NONE" if it is accepted."""
        if live_epoch is None:
            return "BROKER_NOT_AVAILABLE" if asked_epoch == -1 else "STALE_BROKER_EPOCH"
        stale = asked_epoch != -1 and asked_epoch < live_epoch
        return "STALE_BROKER_EPOCH" if stale else "NONE"

    def sort(self, broker: int, partitions: Sequence[Row]) -> tuple[list[str], list[str]]:
        """Return the partitions that get a new leader, and those whose replica only stops."""
        to_move: list[str] = []
        to_stop: list[str] = []
        for name, replicas, leader, deleting in partitions:
            if broker not in replicas or leader is None:
                continue
            if self.counts(replicas, deleting):
                (to_move if leader == broker else to_stop).append(name)
        return to_move, to_stop

    def remaining(self, broker: int, partitions: Sequence[Row]) -> list[str]:
        """Return the partitions that the broker still leads although another replica exists."""
        return [
            name
            for name, replicas, leader, deleting in partitions
            if leader == broker and self.counts(replicas, deleting)
        ]

    def counts(self, replicas: Sequence[int], deleting: bool) -> bool:
        """Return whether the partition has other replicas, and its topic is not being deleted."""
        return len(replicas) > 1 and not deleting
