"""Compute the right answers of exercise 04-3, with the controller's own sets of replicas."""

from collections.abc import Sequence

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.controller.partition_reassignment_plan import missing_replicas

Brokers = tuple[int, ...]


class RightReassignment:
    """The reference for the learner's Reassignment. It gives the right answers."""

    def __init__(self, replicas: Sequence[int]) -> None:
        self.assignment = ReplicaAssignment(tuple(replicas))

    def order(self, target: Sequence[int] | None) -> None:
        wanted = self.assignment.origin_replicas if target is None else target
        self.assignment = self.assignment.reassign_to(tuple(wanted))

    def sets(self) -> tuple[Brokers, Brokers, Brokers]:
        replicas, adding, removing = self.assignment
        return replicas, adding, removing

    def next(
        self, leader: int, isr: Sequence[int], live: Sequence[int], stopped: Sequence[int]
    ) -> tuple[str, Brokers]:
        now = self.assignment
        target, removing = now.target_replicas, now.removing_replicas
        missing = missing_replicas(now, isr)
        leaving = tuple(broker for broker in removing if broker in isr)
        running = tuple(b for b in removing if b in live and b not in stopped)
        able = tuple(broker for broker in target if broker in live and broker in isr)
        if not now.is_being_reassigned:
            return "done", ()
        if missing:
            return "wait", missing
        if leader not in target or leader not in live:
            return ("elect", able[:1]) if able else ("wait", target)
        if leaving:
            return "leave_isr", leaving
        if running:
            return "stop", running
        self.assignment = ReplicaAssignment(target)
        return "write", target
