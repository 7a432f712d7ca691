"""Exercise 07-2 in a live broker: a learner's Isr decides which brokers leave and join the ISR.

A wrong answer is used. A follower that joins too early is in the ISR without all committed records.
A follower that never leaves makes all producers with acks=all wait. It is an error in the learner's
code if an answer names a broker that is not in the ISR, or is not true or false. The shipped code
then answers.
"""

from collections.abc import Callable, Iterable

from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.replication.isr import IsrRule
from kafka_edu.replication.replica import Replica


class LearnerIsr(IsrRule):
    """Changes ISRs as an object of the learner's class says. All partitions of a broker share one
    object.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def leaving(
        self, isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
    ) -> tuple[int, ...]:
        members, remotes = list(isr), list(followers)
        if not self._code.retired:
            rows = [[one.broker_id, one.last_caught_up_time_ms] for one in remotes]
            arguments = [members, rows, now_ms, max_lag_ms]
            able = {one.broker_id for one in remotes} & {*members}
            try:
                match self._part.ask("leaving", *arguments):
                    case tuple(gone) if {*gone} <= able:
                        return tuple(one for one in members if one in gone)
                    case answer:
                        raise self._code.blame(
                            f"leaving{arguments} answered {answer!r}; expected followers that are"
                            " in the ISR"
                        )
            except LearnerError as error:
                self._code.failed(error)
        return super().leaving(members, remotes, now_ms, max_lag_ms)

    def may_join(
        self, log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int
    ) -> bool:
        arguments = [log_end_offset, high_watermark, leader_epoch_start_offset]
        if not self._code.retired:
            try:
                answer = self._part.ask("may_join", *arguments)
                if isinstance(answer, bool):
                    return answer
                raise self._code.blame(
                    f"may_join{arguments} answered {answer!r}; expected True, False"
                )
            except LearnerError as error:
                self._code.failed(error)
        return super().may_join(log_end_offset, high_watermark, leader_epoch_start_offset)


def adapt(code: LearnerCode) -> Callable[[], IsrRule]:
    """Return the function that replaces `IsrRule` in a broker."""
    rule = LearnerIsr(code)
    return lambda: rule
