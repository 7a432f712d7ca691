"""Exercise 08-4 in a live proxy: a learner's Coordinators say which broker coordinates a group.

A wrong answer is sent if it names a broker of the cluster. The client then gets NOT_COORDINATOR
from that broker. If the cluster does not have the named broker, that is an error in the learner's
code, and the shipped code answers.
"""

from collections.abc import Callable, Collection, Sequence

from kafka_edu.clients.proxy.coordinators import Coordinators
from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerCoordinators(Coordinators):
    """Finds coordinators by an object of the learner's class. All copies of a proxy share one
    object.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def find(self, key: str, leaders: Sequence[int], brokers: Collection[int]) -> int:
        if not self._code.retired:
            try:
                able = sorted(brokers)
                answer = self._part.ask("find", key, list(leaders), able)
                if type(answer) is int and answer in (NO_LEADER, *able):
                    return answer
                raise self._code.blame(
                    f"find({key!r}, …, {able}) answered {answer!r}; expected a broker that lives,"
                    f" or {NO_LEADER}"
                )
            except LearnerError as error:
                self._code.failed(error)
        return super().find(key, leaders, brokers)


def adapt(code: LearnerCode) -> Callable[[], Coordinators]:
    """Return the function that replaces `Coordinators` in a proxy."""
    rule = LearnerCoordinators(code)
    return lambda: rule
