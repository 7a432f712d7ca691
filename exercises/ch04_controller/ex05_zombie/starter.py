"""Exercise 04-5: this broker obeys an old controller. README.md describes the task.
`kafka-edu lab check 04-5` tests your code. `kafka-edu lab hint 04-5` gives a hint.
"""

from collections.abc import Sequence

State = tuple[str, int, int]  # (partition, leader, leader epoch)
Errors = list[tuple[str, str]]  # (partition, error)

NONE = "NONE"
STALE = "STALE_CONTROLLER_EPOCH"


class ControllerOrders:
    """How one broker handles the requests that controllers send to it."""

    def __init__(self) -> None:
        """At first, no request has come and the broker has no replicas."""
        self.controller_epoch = 0
        self.replicas: dict[str, tuple[int, int]] = {}  # partition: (leader, leader epoch)
        self.leaders: dict[str, int] = {}  # partition: leader, for the clients

    def leader_and_isr(
        self, controller: int, controller_epoch: int, states: Sequence[State]
    ) -> tuple[str, Errors]:
        """Lead or follow these partitions. Return the error of the request, and of each partition.
        A request that is refused gets an empty list of partition errors.
        """
        if controller_epoch < self.controller_epoch:
            return STALE, []
        self.controller_epoch = controller_epoch
        errors: Errors = []
        for partition, leader, leader_epoch in states:
            if partition not in self.replicas or leader_epoch > self.replicas[partition][1]:
                self.replicas[partition] = (leader, leader_epoch)
                errors.append((partition, NONE))
            else:
                errors.append((partition, STALE))
        return NONE, errors

    def update_metadata(
        self, controller: int, controller_epoch: int, leaders: Sequence[tuple[str, int]]
    ) -> str:
        """Store the leaders of these partitions for the clients. Return the request's error."""
        if controller_epoch < self.controller_epoch:
            return STALE
        for partition, leader in leaders:
            self.leaders[partition] = leader
        return NONE

    def stop_replica(
        self, controller: int, controller_epoch: int, partitions: Sequence[str]
    ) -> tuple[str, Errors]:
        """Delete these replicas. Return the error of the request, and the error of each partition.
        A partition's error is NONE even if this broker does not have the partition.
        """
        if controller_epoch < self.controller_epoch:
            return STALE, []
        self.controller_epoch = controller_epoch
        errors: Errors = []
        for partition in partitions:
            self.replicas.pop(partition, None)
            errors.append((partition, NONE))
        return NONE, errors

    def state(self) -> tuple[list[State], list[tuple[str, int]]]:
        """Return two lists, sorted by partition: the replicas as (partition, leader, leader epoch),
        and the leaders that clients see as (partition, leader). The tests call this method. It
        works, and you need not change it.
        """
        replicas = sorted((name, *state) for name, state in self.replicas.items())
        return replicas, sorted(self.leaders.items())

    def diagnosis(self) -> tuple[int, int, str]:
        """Return three values: the number of the event in events.txt that should have been refused,
        the number of the first event that could have warned this broker, and the name of the
        wrong method.
        """
        raise NotImplementedError(
            "ControllerOrders.diagnosis is not written yet: it returns (number of the event that"
            " should have been refused, number of the event by which the broker could know, name of"
            " the method that is wrong)"
        )
