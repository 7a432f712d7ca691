"""Exercise 04-3 in a live broker: a learner's Reassignment decides the steps of a reassignment.

The learner's code decides which brokers take part, how long the reassignment waits, and in which
order its steps are done. The code is called only for topics whose names begin with `lab-`. The
controller follows an answer if possible: if a reassignment stops an old replica too early, the
partition has fewer copies for a time. It is an error in the learner's code if its sets of brokers
are not a valid assignment, if a step does not exist, or if the steps never end. Then kafka-edu's
own code finishes the reassignment.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import PartitionAndReplica
from kafka_edu.controller.partition_reassignments import (
    STOPPED,
    Assignments,
    PartitionReassignments,
)
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.learner.lab_partitions import all_of_labs
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError

STEPS: Final = ("done", "wait", "elect", "leave_isr", "stop", "write")
MOST_STEPS: Final = 20


class Move:
    """A reassignment whose brokers and steps the learner's code decides."""

    def __init__(self, learner: LearnerObject) -> None:
        self.learner = learner
        self.stopped: list[int] = []


class LearnerReassignments(PartitionReassignments):
    """The running reassignments. For topics whose names begin with `lab-`, the learner's code
    decides which brokers take part, and which step is next.
    """

    def __init__(self, code: LearnerCode, *others: Any) -> None:
        """Begin without reassignments. `others` are the arguments of PartitionReassignments."""
        super().__init__(*others)
        self._code = code
        self._moves: dict[TopicPartition, Move] = {}

    async def _reassign(self, assignments: Assignments, ordered_by: str) -> None:
        wanted = {
            tp: self._ordered(tp, assignment, cancels=ordered_by == "cancellation")
            for tp, assignment in assignments.items()
        }
        await super()._reassign(wanted, ordered_by)

    def _ordered(
        self, tp: TopicPartition, assignment: ReplicaAssignment, *, cancels: bool
    ) -> ReplicaAssignment:
        """Return the learner's assignment for a requested reassignment.

        Return `assignment` itself if the learner's code is not called for this topic, or fails.
        """
        if self._code.retired or not all_of_labs([tp]):
            return assignment
        try:
            move = self._moves.get(tp)
            if move is None:
                move = Move(self._code.make(list(assignment.origin_replicas)))
                self._moves[tp] = move
            target = None if cancels else list(assignment.target_replicas)
            self._code.ask(move.learner, "order", target)
            return self._checked_sets(self._code.ask(move.learner, "sets"))
        except LearnerError as error:
            self._give_up(tp, error)
            return assignment

    def _checked_sets(self, sets: object) -> ReplicaAssignment:
        """Return the learner's sets as an assignment. Raises LearnerError if they are not valid."""
        match sets:
            case (tuple(replicas), tuple(adding), tuple(removing)):
                every = (*replicas, *adding, *removing)
                known = all(type(broker) is int and broker >= 0 for broker in every)
                parts = {*adding, *removing} <= {*replicas} and {*replicas} - {*removing}
                if known and parts and len({*replicas}) == len(replicas):
                    return ReplicaAssignment(replicas, adding, removing)
        raise self._code.blame(f"sets() answered {sets!r}, which is no assignment")

    async def _in_sync(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions that need not wait any longer, according to the learner's next
        step.
        """
        ours = await super()._in_sync(partitions)
        found = []
        for tp in partitions:
            step = self._next(tp)
            goes_on = tp in ours if step is None else step[0] != "wait"
            if goes_on:
                found.append(tp)
        return found

    async def _complete(self, partitions: Sequence[TopicPartition]) -> None:
        await super()._complete([tp for tp in partitions if tp not in self._moves])
        for tp in partitions:
            if tp in self._moves and not await self._steps(tp):
                await super()._complete([tp])

    async def _steps(self, tp: TopicPartition) -> bool:
        """Do the learner's steps until the reassignment must wait or is finished.

        Return False after an error in the learner's code.
        """
        assignment = self._context.partition_full_replica_assignment(tp)
        target = ReplicaAssignment(assignment.target_replicas)
        await self._bring_online({tp: assignment})
        has_elected = False
        for _ in range(MOST_STEPS):
            match self._next(tp):
                case ("wait", _):
                    return True
                case ("elect", _):
                    self._context.update_assignment(tp, target)
                    await self._elect([tp])
                    self._context.update_assignment(tp, assignment)
                    has_elected = True
                case ("leave_isr", brokers):
                    await self._replica_state_machine.handle_state_changes(
                        [PartitionAndReplica(tp, broker) for broker in brokers],
                        ReplicaState.OFFLINE,
                        STOPPED,
                    )
                case ("stop", brokers):
                    await self._stop_replicas({tp: brokers}, STOPPED)
                    self._moves[tp].stopped += brokers
                case ("write" | "done" as step, _) if step == "write" or assignment == target:
                    self._context.update_assignment(tp, target)
                    if not has_elected:
                        await self._increment_leader_epoch([tp])
                    del self._moves[tp]
                    await self._finish({tp: target})
                    return True
                case _:
                    break
        if tp in self._moves:
            self._give_up(tp, self._code.blame("next() never answers 'write' while a move runs"))
        return False

    def _next(self, tp: TopicPartition) -> tuple[str, list[int]] | None:
        """Return the learner's next step; None if the learner's code does not decide the steps of
        this reassignment.
        """
        move = self._moves.get(tp)
        if move is None or self._code.retired:
            return None
        state = self._context.partition_leadership_info(tp)
        leader = -1 if state is None else state.leader_and_isr.leader
        isr = [] if state is None else list(state.leader_and_isr.isr)
        live = sorted(self._context.live_broker_ids)
        try:
            answer = self._code.ask(move.learner, "next", leader, isr, live, move.stopped)
            match answer:
                case (str(step), tuple(brokers)) if step in STEPS and self._of(tp, brokers):
                    return step, [int(broker) for broker in brokers]
            raise self._code.blame(f"next() answered {answer!r}; expected (step, brokers)")
        except LearnerError as error:
            self._give_up(tp, error)
            return None

    def _of(self, tp: TopicPartition, brokers: Sequence[object]) -> bool:
        """Return whether each of these brokers has, or will have, a replica of the partition."""
        replicas = self._context.partition_full_replica_assignment(tp).replicas
        return all(type(broker) is int and broker in replicas for broker in brokers)

    def _give_up(self, tp: TopicPartition, error: LearnerError) -> None:
        self._moves.pop(tp, None)
        self._code.failed(error)


def adapt(code: LearnerCode) -> Callable[..., PartitionReassignments]:
    """Return the function that replaces PartitionReassignments in the active controller."""
    return partial(LearnerReassignments, code)
