"""Exercise 14-2 in a live consumer: a learner's Reset says where the consumer reads.

A place is "earliest", "latest" or a time in ms. The shipped consumer asks the leader for the offset
of a place, and fetches. A wrong answer is used: records are then missed, or read again, or `poll()`
raises an error. An answer that cannot be used is an error in the learner's code. The shipped rules
then decide this case and all later ones.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    FetchPosition,
    FetchState,
    InvalidOffsetException,
    LogTruncationException,
    NoOffsetForPartitionException,
    OffsetAndMetadata,
    OffsetOutOfRangeException,
    OffsetResetStrategy,
    SubscriptionState,
)
from kafka_edu.common.config_def import MAX_LONG
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.trace.tracer import Tracer

Place = str | int
_TIMESTAMPS: Final = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}
_PLACES: Final = {timestamp: place for place, timestamp in _TIMESTAMPS.items()}
_BECAUSE: Final = "the learner's class said so"


class LearnerSubscriptions(SubscriptionState):
    """Asks an object of the learner's class where to read. Each consumer has one such object."""

    def __init__(
        self,
        code: LearnerCode,
        client_id: str,
        reset: OffsetResetStrategy,
        trace: Tracer | None = None,
    ) -> None:
        super().__init__(client_id, reset, trace)
        self._part = LearnerPart(code, self._reset.value)

    def _replace(self, partitions: Iterable[TopicPartition]) -> None:
        before = self.assigned()
        super()._replace(partitions)
        for tp in before:
            if not self.has(tp):
                self._part.tell("gone", str(tp))

    def begin(self, tp: TopicPartition, committed: OffsetAndMetadata | None, why: str) -> None:
        offset = None if committed is None else committed.offset
        match self._decide("begin", str(tp), offset):
            case ("go", int(chosen)) if committed is not None and chosen == offset:
                self._seek(tp, self._of(tp), chosen, committed.leader_epoch, _BECAUSE)
            case ("go", int(chosen)):
                self._go(tp, chosen)
            case ("look", int() | str() as place):
                self._look(tp, place)
            case ("fail",):
                raise NoOffsetForPartitionException(tp, why)
            case _:
                super().begin(tp, committed, why)

    def seek(self, tp: TopicPartition, offset: int, reason: str, epoch: int = -1) -> None:
        super().seek(tp, offset, reason, epoch)
        self._part.tell("sought", str(tp), offset)

    def request_reset(self, tp: TopicPartition, timestamp: int, reason: str) -> None:
        decision = self._decide("asked", str(tp), _place(timestamp))
        if not self._carry_out(tp, decision, NoOffsetForPartitionException(tp, reason)):
            super().request_reset(tp, timestamp, reason)

    def out_of_range(self, tp: TopicPartition, offset: int) -> None:
        decision = self._decide("out_of_range", str(tp), offset)
        if not self._carry_out(tp, decision, OffsetOutOfRangeException(tp, offset)):
            super().out_of_range(tp, offset)

    def epoch_ended(
        self, tp: TopicPartition, asked: FetchPosition, end_offset: int, epoch: int
    ) -> None:
        awaited = self._awaits(tp, asked)
        if awaited is None:
            return
        end = None if end_offset == NO_OFFSET or epoch < 0 else end_offset
        match self._decide("truncated", str(tp), asked.offset, end):
            case ("go", int(chosen)) if chosen == asked.offset:
                self.validated(tp, asked, _BECAUSE)
            case ("go", int(chosen)) if chosen == end:
                self._seek(tp, awaited, chosen, epoch, _BECAUSE, from_leader=True)
            case ("go", int(chosen)):
                self._go(tp, chosen)
            case ("look", int() | str() as place):
                self._look(tp, place)
            case ("fail",):
                raise LogTruncationException(tp, asked.offset, NO_OFFSET if end is None else end)
            case _:
                super().epoch_ended(tp, asked, end_offset, epoch)

    def reset_found_nothing(self, tp: TopicPartition, timestamp: int) -> None:
        if self._resetting(tp, timestamp) is None:
            return
        decision = self._decide("found", str(tp), _place(timestamp), None)
        why = NoOffsetForPartitionException(tp, "No record is as new as the time")
        if not self._carry_out(tp, decision, why):
            super().reset_found_nothing(tp, timestamp)

    def reset_done(self, tp: TopicPartition, timestamp: int, offset: int, epoch: int) -> None:
        found = self._resetting(tp, timestamp)
        if found is None:
            return
        match self._decide("found", str(tp), _place(timestamp), offset):
            case ("go", int(chosen)) if chosen == offset:
                self._seek(tp, found, chosen, epoch, _BECAUSE, from_leader=True)
            case decision:
                why = NoOffsetForPartitionException(tp, f"Offset {offset} was found")
                if not self._carry_out(tp, decision, why):
                    super().reset_done(tp, timestamp, offset, epoch)

    def _carry_out(
        self, tp: TopicPartition, decision: object, failure: InvalidOffsetException
    ) -> bool:
        """Do what the learner has decided. Return False if the shipped rules have to decide.

        `failure` is the error that `poll()` raises if the learner decides that it must fail.
        """
        match decision:
            case ("go", int(offset)):
                self._go(tp, offset)
            case ("look", int() | str() as place):
                self._look(tp, place)
            case ("fail",):
                raise failure
            case _:
                return False
        return True

    def _go(self, tp: TopicPartition, offset: int) -> None:
        """Read from an offset that the learner has named. The leader epoch at this offset is not
        known.
        """
        self._seek(tp, self._of(tp), offset, -1, _BECAUSE)

    def _look(self, tp: TopicPartition, place: Place) -> None:
        timestamp = _TIMESTAMPS[place] if isinstance(place, str) else place
        if self.in_state(FetchState.AWAIT_RESET) and self._resetting(tp, timestamp) is not None:
            return  # a request to the leader is in flight already
        self._await_reset(tp, timestamp, _BECAUSE)

    def _decide(self, method: str, *arguments: object) -> object:
        """Return the learner's decision; None after an error in the learner's code."""
        if self._part.is_out:
            return None
        try:
            answer = self._part.ask(method, *arguments)
            match answer:
                case ("go", int(offset)) if _is_long(offset):
                    return answer
                case ("look", "earliest" | "latest") | ("fail",):
                    return answer
                case ("look", int(ms)) if _is_long(ms):
                    return answer
            expected = "('go', offset), ('look', place) or ('fail',)"
            raise self._part.blame(method, arguments, answer, expected)
        except LearnerError as error:
            self._part.fail(error)
            return None


def _is_long(number: int) -> bool:
    """Return whether a request can carry the number as an offset or a time."""
    return not isinstance(number, bool) and 0 <= number <= MAX_LONG


def _place(timestamp: int) -> Place:
    return _PLACES.get(timestamp, timestamp)


def adapt(code: LearnerCode) -> Callable[..., SubscriptionState]:
    """Return the function that replaces `SubscriptionState` where a consumer is built."""
    return partial(LearnerSubscriptions, code)
