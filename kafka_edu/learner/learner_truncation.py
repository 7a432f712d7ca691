"""Exercise 07-3 in a live broker: a learner's Truncation decides where a follower cuts its log.

A wrong offset is used if it lies inside the log: the follower then loses committed records, or
keeps records that no other replica has. If the offset lies outside the log, that is an error in the
learner's code, and the shipped code decides.
"""

from collections.abc import Callable, Sequence

from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.leader_epoch_file_cache import EpochEntry
from kafka_edu.replication import truncation
from kafka_edu.replication.truncation import OffsetTruncationState

Cut = Callable[[int, int, int, int, Sequence[EpochEntry]], OffsetTruncationState]


class LearnerTruncation:
    """Asks an object of the learner's class for the offset. If that fails, the shipped code
    decides.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._ours: Cut = truncation.offset_truncation_state
        self._part = LearnerPart(code)

    def cut(
        self,
        leader_epoch: int,
        leader_end_offset: int,
        high_watermark: int,
        log_end_offset: int,
        epochs: Sequence[EpochEntry],
    ) -> OffsetTruncationState:
        """Return the offset at which to truncate, and whether the truncation is then complete."""
        if not self._code.retired:
            known = [list(entry) for entry in epochs]
            arguments = [known, log_end_offset, high_watermark, leader_epoch, leader_end_offset]
            try:
                match self._part.ask("cut", *arguments):
                    case (int(offset), bool(complete)) if 0 <= offset <= log_end_offset:
                        return OffsetTruncationState(offset, complete)
                    case answer:
                        raise self._code.blame(
                            f"cut{arguments} answered {answer!r}; expected (offset, complete), with"
                            f" an offset from 0 to {log_end_offset}"
                        )
            except LearnerError as error:
                self._code.failed(error)
        return self._ours(leader_epoch, leader_end_offset, high_watermark, log_end_offset, epochs)


def adapt(code: LearnerCode) -> Cut:
    """Return the function that replaces `offset_truncation_state` in the fetcher."""
    return LearnerTruncation(code).cut
