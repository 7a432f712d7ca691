"""Exercise 14-1 in a live consumer: a learner's Commits says which offsets the program commits.

The learner sees partitions as texts. A wrong offset is committed: records are then lost, or read
again. An answer that is not a dict from a partition of this consumer to an offset is an error in
the learner's code. The shipped class then takes over. Its state is complete, because it gets the
same calls as the learner's class.
"""

from collections.abc import Callable, Iterable, Sequence

from kafka_edu.clients.consumer.record_progress import RecordProgress
from kafka_edu.common.config_def import MAX_LONG
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerProgress(RecordProgress):
    """Gets the offsets to commit from an object of the learner's class.

    Each consumer has one such object.
    """

    def __init__(self, code: LearnerCode, commit_interval_ms: float) -> None:
        super().__init__(commit_interval_ms)
        self._part = LearnerPart(code, int(commit_interval_ms))
        self._mine: dict[str, TopicPartition] = {}
        """The text that the learner knows → the partition, for each partition of the consumer."""
        self._asked_for_answer = False
        """Whether the learner's object has a commit in flight. The shipped object may have none
        then.
        """

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        taken = list(partitions)
        super().assigned(taken)
        self._mine.update((str(tp), tp) for tp in taken)
        self._part.tell("assigned", _texts(taken))

    def polled(self, tp: TopicPartition, offsets: Sequence[int]) -> None:
        super().polled(tp, offsets)
        self._part.tell("polled", str(tp), list(offsets))

    def done(self, tp: TopicPartition, offset: int) -> None:
        super().done(tp, offset)
        self._part.tell("done", str(tp), offset)

    def due(self, now_ms: float) -> dict[TopicPartition, int]:
        busy = self._in_flight is not None
        ours = super().due(now_ms)
        chosen = self._choose(ours, self._mine, "due", int(now_ms))
        if chosen or not busy:
            self._asked_for_answer = bool(chosen) and not self._part.is_out
            self._in_flight = dict(chosen) if chosen else None
        return chosen

    def answered(self, stored: bool) -> None:
        super().answered(stored)
        if self._asked_for_answer:
            self._asked_for_answer = False
            self._part.tell("answered", stored)

    def revoked(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        going = list(partitions)
        ours = super().revoked(going)
        allowed = {str(tp): tp for tp in going}
        chosen = self._choose(ours, allowed, "revoked", _texts(going))
        self._not_mine(going)
        return chosen

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        going = list(partitions)
        super().lost(going)
        self._part.tell("lost", _texts(going))
        self._not_mine(going)

    def _not_mine(self, partitions: Sequence[TopicPartition]) -> None:
        for tp in partitions:
            self._mine.pop(str(tp), None)

    def _choose(
        self,
        ours: dict[TopicPartition, int],
        allowed: dict[str, TopicPartition],
        method: str,
        argument: object,
    ) -> dict[TopicPartition, int]:
        """Return the learner's offsets, or the shipped ones after an error in the learner's
        code.
        """
        if self._part.is_out:
            return ours
        try:
            answer = self._part.ask(method, argument)
            if isinstance(answer, dict) and all(
                name in allowed and type(offset) is int and 0 <= offset <= MAX_LONG
                for name, offset in answer.items()
            ):
                return {allowed[name]: offset for name, offset in answer.items()}
            known = ", ".join(sorted(allowed)) or "no partitions"
            expected = f"a dict from one of {known} to an offset"
            raise self._part.blame(method, (argument,), answer, expected)
        except LearnerError as error:
            self._part.fail(error)
            return ours


def _texts(partitions: Iterable[TopicPartition]) -> list[str]:
    return [str(tp) for tp in partitions]


def adapt(code: LearnerCode) -> Callable[[float], RecordProgress]:
    """Return the function that replaces `RecordProgress` in a consumer's program."""
    return lambda commit_interval_ms: LearnerProgress(code, commit_interval_ms)
