"""Exercise 10-1 in a live broker: a learner's HighWatermark moves the high watermarks.

The learner's code is called for topics whose names begin with `lab-`. A wrong answer is used if it
lies inside the log. In that case records are acknowledged and read too late, or before every member
of the ISR has them. It is an error in the learner's code if an answer lies outside the log, or if a
leader's high watermark would fall. The shipped rule then answers.
"""

from collections.abc import Callable, Collection, Iterable

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.high_watermark import HighWatermarkRule, placed
from kafka_edu.replication.replica import Replica


class LearnerHighWatermark(HighWatermarkRule):
    """Moves high watermarks as an object of the learner's class says.

    All partitions of a broker share one object.
    """

    __slots__ = ("_rule",)

    def __init__(self, topic_partition: TopicPartition, rule: "AskedRule") -> None:
        super().__init__(topic_partition)
        self._rule = rule

    def of_leader(
        self,
        current: LogOffsetMetadata,
        log_end_offset: LogOffsetMetadata,
        isr: Collection[int],
        followers: Iterable[Replica],
        now_ms: int,
        max_lag_ms: int,
    ) -> LogOffsetMetadata:
        remotes = list(followers)
        ours = super().of_leader(current, log_end_offset, isr, remotes, now_ms, max_lag_ms)
        rows = [
            [one.broker_id, one.log_end_offset.message_offset, one.last_caught_up_time_ms]
            for one in remotes
        ]
        hw, leo = current.message_offset, log_end_offset.message_offset
        offset = self._rule.ask("leader", (hw, leo), hw, leo, list(isr), rows, now_ms, max_lag_ms)
        if offset is None:
            return ours
        places = (ours, log_end_offset, *(one.log_end_offset for one in remotes), current)
        return placed(offset, places)

    def of_follower(
        self, log_start_offset: int, log_end_offset: int, leader_high_watermark: int
    ) -> int:
        arguments = [log_start_offset, log_end_offset, leader_high_watermark]
        offset = self._rule.ask("follower", (log_start_offset, log_end_offset), *arguments)
        return super().of_follower(*arguments) if offset is None else offset


class AskedRule:
    """The learner's object, and the check of its answers."""

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def ask(self, method: str, bounds: tuple[int, int], *arguments: object) -> int | None:
        """Return the learner's answer if it lies within `bounds`.

        Return None if the shipped rule must answer, because the learner's code has failed.
        """
        if self._code.retired:
            return None
        least, most = bounds
        try:
            answer = self._part.ask(method, *arguments)
            if isinstance(answer, int) and not isinstance(answer, bool) and least <= answer <= most:
                return answer
            raise self._code.blame(
                f"{method}{list(arguments)} answered {answer!r}; expected an offset from {least} to"
                f" {most}"
            )
        except LearnerError as error:
            self._code.failed(error)
            return None


def adapt(code: LearnerCode) -> Callable[[TopicPartition], HighWatermarkRule]:
    """Return the function that replaces `HighWatermarkRule` in a broker."""
    rule = AskedRule(code)

    def make(topic_partition: TopicPartition) -> HighWatermarkRule:
        if not all_of_labs([topic_partition]):
            return HighWatermarkRule(topic_partition)
        return LearnerHighWatermark(topic_partition, rule)

    return make
