"""Exercise 06-2 in a live broker: a learner's ControlledShutdown decides for a stopping broker.

The learner's code runs in the broker that is the controller, and sorts the partitions of the broker
that wants to stop. A wrong answer is used if possible: a partition that the code forgets keeps a
leader that is about to stop. If an answer has a name that was not in the question, that is an error
in the learner's code, and the shipped code answers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.shutdown_rule import Concerned, ShutdownRule
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError

PARTITIONS_A_CALL: Final = 200
"""The maximum number of partitions in one call, because an answer may have at most 64 KiB."""
REFUSALS: Final = ("NONE", "BROKER_NOT_AVAILABLE", "STALE_BROKER_EPOCH")


class LearnerShutdownRule(ShutdownRule):
    """Calls an object of the learner's class, and checks the form of its answers."""

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def refusal(self, asked_epoch: int, live_epoch: int | None) -> Errors:
        if not self._code.retired:
            try:
                name = self._part.ask("refusal", asked_epoch, live_epoch)
                if name not in REFUSALS:
                    raise self._code.blame(
                        f"refusal({asked_epoch}, {live_epoch}) answered {name!r}; it is one of"
                        f" {', '.join(REFUSALS)}"
                    )
                return Errors[str(name)]
            except LearnerError as error:
                self._code.failed(error)
        return super().refusal(asked_epoch, live_epoch)

    def sort(
        self, broker_id: int, partitions: Iterable[Concerned]
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        concerned = list(partitions)
        if not self._code.retired:
            led: list[TopicPartition] = []
            followed: list[TopicPartition] = []
            try:
                for some in _parts(concerned):
                    match self._part.ask("sort", broker_id, _rows(some)):
                        case (tuple(move), tuple(stop)):
                            led += self._named(some, move, "sort")
                            followed += self._named(some, stop, "sort")
                        case answer:
                            raise self._code.blame(
                                f"sort({broker_id}, …) answered {answer!r}; expected (names to"
                                " move, names to stop)"
                            )
                return led, followed
            except LearnerError as error:
                self._code.failed(error)
        return super().sort(broker_id, concerned)

    def remaining(self, broker_id: int, partitions: Iterable[Concerned]) -> list[TopicPartition]:
        concerned = list(partitions)
        if not self._code.retired:
            found: list[TopicPartition] = []
            try:
                for some in _parts(concerned):
                    answer = self._part.ask("remaining", broker_id, _rows(some))
                    if not isinstance(answer, tuple):
                        raise self._code.blame(
                            f"remaining({broker_id}, …) answered {answer!r}; expected names"
                        )
                    found += self._named(some, answer, "remaining")
                return found
            except LearnerError as error:
                self._code.failed(error)
        return super().remaining(broker_id, concerned)

    def _named(
        self, concerned: Sequence[Concerned], names: Sequence[object], method: str
    ) -> Iterator[TopicPartition]:
        """Yield the partitions that the learner's answer names. Raises LearnerError."""
        known: dict[object, TopicPartition] = {
            str(one.partition): one.partition for one in concerned
        }
        for name in names:
            if name not in known:
                raise self._code.blame(
                    f"{method} answered the partition {name!r}, which was not among those asked"
                )
            yield known.pop(name)


def _parts(partitions: Sequence[Concerned]) -> Iterator[Sequence[Concerned]]:
    for start in range(0, len(partitions), PARTITIONS_A_CALL):
        yield partitions[start : start + PARTITIONS_A_CALL]


def _rows(partitions: Iterable[Concerned]) -> list[list[object]]:
    return [
        [str(one.partition), list(one.replicas), one.leader, one.deleting] for one in partitions
    ]


def adapt(code: LearnerCode) -> Callable[[], ShutdownRule]:
    """Return the function that replaces `ShutdownRule` in the controller."""
    return lambda: LearnerShutdownRule(code)
