"""Exercise 04-5: the reference solution (Kafka: ReplicaManager, KIP-570)."""

from collections.abc import Sequence

State = tuple[str, int, int]  # (partition, leader, leader epoch)
Errors = list[tuple[str, str]]  # (partition, error)

NONE = "NONE"
STALE = "STALE_CONTROLLER_EPOCH"


class ControllerOrders:
    """Handles the requests that controllers send to one broker."""

    def __init__(self) -> None:
        """Begin with controller epoch 0, without replicas and without leaders."""
        self.controller_epoch = 0
        self.replicas: dict[str, tuple[int, int]] = {}  # partition: (leader, leader epoch)
        self.leaders: dict[str, int] = {}  # partition: leader, for the clients

    def accept(self, controller_epoch: int) -> bool:
        """Return False for an older controller than the latest. A newer one becomes the latest."""
        if controller_epoch < self.controller_epoch:
            return False
        self.controller_epoch = controller_epoch
        return True

    def leader_and_isr(
        self, controller: int, controller_epoch: int, states: Sequence[State]
    ) -> tuple[str, Errors]:
        """Lead or follow these partitions. Return the error of the request, and of each partition.
        If the request is refused, the list of the partitions' errors is empty.
        """
        if not self.accept(controller_epoch):
            return STALE, []
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
        """Store the leaders of these partitions for clients. Return the error of the request."""
        if not self.accept(controller_epoch):
            return STALE
        for partition, leader in leaders:
            self.leaders[partition] = leader
        return NONE

    def stop_replica(
        self, controller: int, controller_epoch: int, partitions: Sequence[str]
    ) -> tuple[str, Errors]:
        """Delete these replicas. Return the error of the request, and of each partition. That is
        NONE even for a replica that this broker does not have.
        """
        if not self.accept(controller_epoch):
            return STALE, []
        errors: Errors = []
        for partition in partitions:
            self.replicas.pop(partition, None)
            errors.append((partition, NONE))
        return NONE, errors

    def state(self) -> tuple[list[State], list[tuple[str, int]]]:
        """Return two lists, sorted by partition: (partition, leader, leader epoch) of each replica,
        and (partition, leader) as clients get them. The tests call `state`; it works, and you
        need not change it.
        """
        replicas = sorted((name, *state) for name, state in self.replicas.items())
        return replicas, sorted(self.leaders.items())

    def diagnosis(self) -> tuple[int, int, str]:
        """Return the number of the event in events.txt that this broker should have refused, the
        number of the first event from which this broker could know that, and the name of the
        wrong method.
        """
        return 8, 7, "update_metadata"
