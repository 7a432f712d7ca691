"""Exercise 10-6 in a live broker: a learner's Fetcher decides what a replica fetcher does with each
partition. The replica fetcher may ask the leader for the end of an epoch, fetch, wait, or stop
until the controller's next order.

The broker sends the requests, truncates and appends. A wrong answer is used if possible: a log is
then cut at a wrong offset, or a partition waits too long or not at all. An answer that cannot be
used is an error in the learner's code. The shipped fetcher then begins again with all partitions of
that leader, because the learner's object no longer knows what has happened.

The learner's code decides only about topics whose names begin with `lab-`. Their partitions use
OffsetsForLeaderEpoch even where the fetch itself would carry the epoch (KIP-595).
"""

from collections.abc import Callable, Iterable
from typing import Any

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replica_fetcher import PartitionFetchState, ReplicaFetcher
from kafka_edu.replication.truncation import OffsetTruncationState

Operation = tuple[object, ...]
FETCH: Operation = ("fetch",)
LOOK: Operation = ("look",)
KEEP: Operation = ("keep",)


class LearnerReplicaFetcher(ReplicaFetcher):
    """A fetcher that asks an object of the learner's class what to do with each partition.

    Each fetcher has one such object.
    """

    def __init__(self, code: LearnerCode, *parts: Any) -> None:
        super().__init__(*parts)
        self._part = LearnerPart(code, self._config.replica_fetch_backoff_ms)
        self._theirs: dict[str, TopicPartition] = {}
        """Name of a partition in calls of the learner's object → the partition."""
        self._plan: dict[TopicPartition, Operation] = {}
        """The operation of each of these partitions that was last carried out."""
        self._stale = False
        """Whether something has happened since the learner's code last returned a plan."""
        self._now_ms = 0
        self._leader_end_offset = -1
        """The leader's log end, from the first look-up of an offset that is out of range."""
        self._errors: dict[TopicPartition, str] = {}
        """The last error of each partition."""

    def _is_theirs(self, tp: TopicPartition) -> bool:
        return not self._part.is_out and str(tp) in self._theirs

    def add(self, partition: Partition) -> None:
        tp = partition.topic_partition
        self.remove([tp])
        if not self._part.is_out and all_of_labs([tp]):
            self._theirs[str(tp)] = tp
            self._tell("follow", str(tp), _epochs_of(partition))
        super().add(partition)
        if self._is_theirs(tp):
            self._leave_out(tp)  # until the plan says what it does

    def remove(self, topic_partitions: Iterable[TopicPartition]) -> None:
        removed = [tp for tp in topic_partitions if tp in self._states]
        super().remove(removed)
        for tp in removed:
            if self._theirs.pop(str(tp), None) is not None and not self._part.is_out:
                self._plan.pop(tp, None)
                self._errors.pop(tp, None)
                self._tell("leave", str(tp))

    def _last_epoch(self, tp: TopicPartition, state: PartitionFetchState) -> int:
        return UNDEFINED_EPOCH if self._is_theirs(tp) else super()._last_epoch(tp, state)

    def resume_delayed(self, now_ms: int) -> None:
        self._now_ms = now_ms
        if self._part.is_out and self._theirs:
            self._take_over()
        elif self._stale or any(
            self._delayed[tp].delayed_until_ms <= now_ms
            for tp in self._theirs.values()
            if tp in self._delayed
        ):
            self._carry_out()
        super().resume_delayed(now_ms)

    def fetch_request(self, now_ms: int) -> FetchRequest | None:
        self._now_ms = now_ms
        if self._stale and not self._part.is_out:
            self._carry_out()
        return super().fetch_request(now_ms)

    def _take_over(self) -> None:
        """Begin again with all partitions and the shipped rules, after an error in the learner's
        code.
        """
        theirs, self._theirs = self._theirs, {}
        for tp in theirs.values():
            super().add(self._states[tp].partition)

    def _carry_out(self) -> None:
        """Get the plan from the learner's code, and carry out its operation for each partition."""
        plan = self._learners_plan()
        if plan is None:
            return
        for tp, operation in plan.items():
            self._set(tp, operation)

    def _learners_plan(self) -> dict[TopicPartition, Operation] | None:
        """Return the plan of the learner's code; None after an error in the learner's code."""
        now_ms = self._now_ms
        try:
            answer = self._part.ask("plan", now_ms)
            if not isinstance(answer, dict) or answer.keys() != self._theirs.keys():
                expected = f"a row for each of {[*self._theirs]}"
                raise self._part.blame("plan", (now_ms,), answer, expected)
            plan: dict[TopicPartition, Operation] = {}
            for name, row in answer.items():
                operation = tuple(row) if isinstance(row, list) else row
                match operation:
                    case ("fetch" | "failed",):
                        pass
                    case ("ask", int(epoch)) if type(epoch) is int and epoch >= UNDEFINED_EPOCH:
                        pass
                    case ("wait", int(until_ms)) if type(until_ms) is int and until_ms > now_ms:
                        pass
                    case _:
                        raise self._part.blame(
                            "plan",
                            (now_ms,),
                            answer,
                            f"('ask', epoch), ('fetch',), ('wait', until later than {now_ms}) or"
                            f" ('failed',) for {name}",
                        )
                plan[self._theirs[name]] = operation
        except LearnerError as error:
            self._part.fail(error)
            return None
        self._stale = False
        return plan

    def _set(self, tp: TopicPartition, operation: Operation) -> None:
        """Carry out the plan's operation for one partition."""
        error = self._errors.pop(tp, Errors.NONE.name)
        if error != Errors.NONE.name and operation[0] in ("ask", "fetch"):
            self._tell_delayed(tp, error, 0)
        if operation == self._plan.get(tp):
            return
        self._plan[tp] = operation
        state = self._states[tp]
        match operation:
            case ("fetch",):
                self._leave_out(tp)
                state.truncating = False
                self._fetch_from_log_end(tp, state)
            case ("ask", _):
                self._leave_out(tp)
                state.truncating = True
                self._truncating[tp] = state
            case ("wait", int(until_ms)):
                self._leave_out(tp)
                state.delayed_until_ms = until_ms
                self._delayed[tp] = state
                self._tell_delayed(tp, error, until_ms - self._now_ms)
            case _:
                self._leave_out(tp)
                state.truncating = True  # neither asks nor fetches, whatever the quota says

    def _epoch_to_ask(self, tp: TopicPartition, state: PartitionFetchState) -> int:
        match self._plan.get(tp) if self._is_theirs(tp) else None:
            case ("ask", int(epoch)):
                return epoch
        return super()._epoch_to_ask(tp, state)

    def _truncation_state(
        self, partition: Partition, leader_epoch: int, leader_end_offset: int
    ) -> OffsetTruncationState:
        tp = partition.topic_partition
        ours = super()._truncation_state(partition, leader_epoch, leader_end_offset)
        if not self._is_theirs(tp):
            return ours
        leo = partition.local_log().log_end_offset
        hw = partition.high_watermark.offset
        arguments = (str(tp), _epochs_of(partition), leo, hw, leader_epoch, leader_end_offset)
        try:
            offset = self._part.ask("answer", *arguments)
            if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= leo:
                raise self._part.blame("answer", arguments, offset, f"an offset from 0 to {leo}")
        except LearnerError as error:
            self._part.fail(error)
            return ours
        self._stale = True
        plan = self._learners_plan()
        if plan is None:
            return ours
        self._stale = True  # the other rows of this plan are not carried out yet
        return OffsetTruncationState(offset, complete=plan[tp] == FETCH)

    def _start_fetching(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        if self._is_theirs(tp):
            self._set(tp, FETCH)
        else:
            super()._start_fetching(tp, state)

    def _must_look_up(
        self, tp: TopicPartition, state: PartitionFetchState, error: Errors, now_ms: int
    ) -> bool:
        if not self._is_theirs(tp):
            return super()._must_look_up(tp, state, error, now_ms)
        self._now_ms = now_ms
        operation = self._error(tp, error)
        if operation is None:
            return super()._must_look_up(tp, state, error, now_ms)
        return operation == LOOK

    def _delay(
        self, tp: TopicPartition, state: PartitionFetchState, error: Errors, now_ms: int
    ) -> None:
        if self._is_theirs(tp):
            self._now_ms = now_ms
            if self._error(tp, error) is not None:
                return
        super()._delay(tp, state, error, now_ms)

    def _error(self, tp: TopicPartition, error: Errors) -> Operation | None:
        """Return the learner's operation after an error; None after an error in the learner's
        code.
        """
        arguments = (str(tp), error.name, self._now_ms)
        try:
            match self._part.ask("error", *arguments):
                case ("look",):
                    return LOOK
                case ("failed",):
                    operation: Operation = ("failed",)
                case ("wait", int(until_ms)) if type(until_ms) is int:
                    operation = ("wait", until_ms)
                case answer:
                    expected = "('wait', until_ms), ('look',) or ('failed',)"
                    raise self._part.blame("error", arguments, answer, expected)
        except LearnerError as failure:
            self._part.fail(failure)
            return None
        self._stale = True
        self._errors[tp] = error.name
        return operation

    def on_leader_end_offset(
        self, tp: TopicPartition, state: PartitionFetchState, leader_end_offset: int
    ) -> bool:
        if not self._is_theirs(tp):
            return super().on_leader_end_offset(tp, state, leader_end_offset)
        self._leader_end_offset = leader_end_offset
        return False  # the learner decides by both offsets

    def on_leader_start_offset(
        self, tp: TopicPartition, state: PartitionFetchState, leader_start_offset: int, now_ms: int
    ) -> None:
        operation = None
        if self._is_theirs(tp):
            operation = self._offsets(tp, state, leader_start_offset)
            if operation is None and super().on_leader_end_offset(
                tp, state, self._leader_end_offset
            ):
                return
        match operation:
            case ("cut", int(offset)):
                self._cut_to_leader_end(tp, state, offset)
            case ("restart", int(offset)):
                self._start_over(tp, state, offset)
            case ("keep",):
                self._fetch_from_log_end(tp, state)
            case _:
                super().on_leader_start_offset(tp, state, leader_start_offset, now_ms)

    def _offsets(
        self, tp: TopicPartition, state: PartitionFetchState, leader_start_offset: int
    ) -> Operation | None:
        """Return the learner's operation for a log whose end the leader refuses; None after an
        error in the learner's code.
        """
        leo = state.partition.local_log().log_end_offset
        arguments = (str(tp), leo, leader_start_offset, self._leader_end_offset)
        try:
            match self._part.ask("offsets", *arguments):
                case ("cut", int(offset)) if type(offset) is int and 0 <= offset <= leo:
                    return "cut", offset
                case ("restart", int(offset)) if type(offset) is int and offset >= 0:
                    return "restart", offset
                case ("keep",):
                    return KEEP
                case answer:
                    expected = f"('cut', 0 to {leo}), ('restart', offset) or ('keep',)"
                    raise self._part.blame("offsets", arguments, answer, expected)
        except LearnerError as error:
            self._part.fail(error)
            return None

    def _tell(self, method: str, *arguments: object) -> None:
        """Call a method of the learner's object that returns no answer. The plan is requested again
        after the call, because the call may change it.
        """
        self._stale = True
        self._part.tell(method, *arguments)


def _epochs_of(partition: Partition) -> list[list[int]]:
    return [list(entry) for entry in partition.local_log().leader_epoch_cache.entries]


def adapt(code: LearnerCode) -> Callable[..., ReplicaFetcher]:
    """Return the function that replaces `ReplicaFetcher` where fetchers are made."""
    return lambda *parts: LearnerReplicaFetcher(code, *parts)
