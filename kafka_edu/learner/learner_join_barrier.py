"""Exercise 13-3 in a live broker: a learner's JoinBarrier decides how long a rebalance waits.

A wrong decision is used: if the barrier opens too early, members lose their place; if it opens too
late, the group waits. It is an error in the learner's code if the barrier waits beyond the longest
rebalance time-out, or removes a member that has joined. The shipped rules then take over in the
same rebalance.
"""

from collections.abc import Callable

from kafka_edu.common.time import Time
from kafka_edu.coordinator.group.delayed_join import (
    DelayedJoin,
    InitialDelayedJoin,
    JoinKey,
    Rebalancing,
    join_barrier,
)
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory

Purgatory = DelayedOperationPurgatory[DelayedOperation]
Barrier = Callable[[Rebalancing, Purgatory, GroupMetadata, int, Time], DelayedJoin]


class _Rebalance:
    """One rebalance: the object of the learner's class that decides how long to wait, and the
    limits of this wait.
    """

    def __init__(
        self,
        code: LearnerCode,
        purgatory: Purgatory,
        group: GroupMetadata,
        shipped: DelayedJoin,
        initial_delay_ms: int,
        time: Time,
    ) -> None:
        self._code = code
        self.purgatory = purgatory
        self._group = group
        self._time = time
        self._now_ms = time.hi_res_clock_ms()
        empty = isinstance(shipped, InitialDelayedJoin)
        self._limit_ms = self._now_ms + max(
            group.rebalance_timeout_ms, initial_delay_ms if empty else 0
        )
        self._part = LearnerPart(code, empty, initial_delay_ms, self._now_ms)

    def look(self) -> int | None:
        """Return how many ms the learner's barrier still waits; None if it opens now.

        Raises LearnerError.
        """
        group = self._group
        now_ms = self._now_ms = max(self._time.hi_res_clock_ms(), self._now_ms)
        rows = [
            [
                one.member_id,
                one.group_instance_id,
                one.awaiting_join is not None,
                one.rebalance_timeout_ms,
            ]
            for one in group.members.values()
        ]
        missing = {row[0] for row in rows if row[1] is None and not row[2]}
        match self._part.ask("look", now_ms, rows, [*group.pending_members]):
            case ("wait", int(until_ms)):
                limit_ms = self._limit_ms
                if rows and not any(row[2] for row in rows):
                    limit_ms = max(limit_ms, now_ms + group.rebalance_timeout_ms)
                if not now_ms < until_ms <= limit_ms:
                    raise self._code.blame(
                        f"look at {now_ms} answered ('wait', {until_ms}); it may wait until"
                        f" {limit_ms}, the end of the longest rebalance time-out, and no longer"
                        if until_ms > now_ms
                        else f"look at {now_ms} answered ('wait', {until_ms}), which is over"
                    )
                return until_ms - now_ms
            case ("next", tuple(removed)):
                if not all(isinstance(one, str) for one in removed) or {*removed} != missing:
                    raise self._code.blame(
                        f"look at {now_ms} removes {_listed(removed)}; the dynamic members that"
                        f" have not joined are {_listed(missing)}"
                    )
                return None
            case answer:
                raise self._code.blame(
                    f"look answered {answer!r}; expected ('wait', until_ms) or ('next', [member])"
                )

    def ask(self) -> int | None:
        """Return what `look` returns, or None after an error in the learner's code.

        After an error, `failed` is True.
        """
        if not self.failed:
            try:
                return self.look()
            except LearnerError as error:
                self._part.fail(error)
        return None

    @property
    def failed(self) -> bool:
        """Return whether the shipped rules decide now."""
        return self._part.is_out


class LearnerJoin(DelayedJoin):
    """Waits as long as the learner's barrier says.

    After an error in the learner's code, the operation `shipped` decides how long to wait.
    """

    __slots__ = ("_asked", "_shipped", "_wait")

    def __init__(
        self,
        rebalancer: Rebalancing,
        group: GroupMetadata,
        delay_ms: int,
        wait: _Rebalance,
        shipped: DelayedJoin,
    ) -> None:
        super().__init__(rebalancer, group, delay_ms)
        self._wait = wait
        self._shipped = shipped
        self._asked = False
        """Whether the learner's barrier decided this completion. At a time-out it does not decide.
        """

    def try_complete(self) -> bool:
        """Ask the learner's barrier whether it opens."""
        self._asked = self._wait.ask() is None
        return self._asked and self.force_complete()

    def on_complete(self) -> None:
        """End the wait, or wait again if the learner's barrier says so at its time-out."""
        wait_ms = None if self._asked else self._wait.ask()
        if self._wait.failed:
            self._watch(self._shipped)
        elif wait_ms is None:
            super().on_complete()
        else:
            group = self._group
            self._watch(LearnerJoin(self._rebalancer, group, wait_ms, self._wait, self._shipped))

    def _watch(self, operation: DelayedJoin) -> None:
        key = JoinKey(self._group.group_id)
        self._wait.purgatory.try_complete_else_watch(operation, (key,))


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, tuple | set) and names else "none"


def adapt(code: LearnerCode) -> Barrier:
    """Return the function that replaces `join_barrier` in the rebalancer."""

    def barrier(
        rebalancer: Rebalancing,
        purgatory: Purgatory,
        group: GroupMetadata,
        initial_delay_ms: int,
        time: Time,
    ) -> DelayedJoin:
        shipped = join_barrier(rebalancer, purgatory, group, initial_delay_ms, time)
        wait = _Rebalance(code, purgatory, group, shipped, initial_delay_ms, time)
        wait_ms = wait.ask()
        if wait.failed:
            return shipped
        return LearnerJoin(rebalancer, group, wait_ms or 0, wait, shipped)

    return barrier
