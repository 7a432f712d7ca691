"""Exercise 13-1 in a live consumer: a learner's RangeAssignor divides the partitions of a group.

The consumer that leads the group calls it. An unequal division is used. If a partition has two
members or none, that is an error of the learner, and the message names the partition. The shipped
assignor then divides in its place.
"""

from collections.abc import Iterable, Iterator, Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS, Assignor
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_assignment import check_assignment
from kafka_edu.learner.seams import LearnerCode, LearnerError

RANGE = "range"


class LearnerRangeAssignor:
    """Calls the learner's object, and checks its answer. Each assignment has a new object."""

    def __init__(self, code: LearnerCode) -> None:
        self._code = code

    def __call__(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment, or the shipped one if that is not possible."""
        if not self._code.retired:
            try:
                return self._ask(partitions_per_topic, subscriptions)
            except LearnerError as error:
                self._code.failed(error)
        return ASSIGNORS[RANGE](partitions_per_topic, subscriptions)

    def _ask(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment. Raises LearnerError."""
        rows = [
            [member, one.group_instance_id, list(one.topics)]
            for member, one in subscriptions.items()
        ]
        answer = self._code.ask(self._code.make(), "assign", dict(partitions_per_topic), rows)
        if not isinstance(answer, tuple):
            raise self._code.blame(f"assign answered {answer!r}; expected a list of blocks")
        assignment: Assignment = {member: [] for member in subscriptions}
        for member, tp in self._partitions(answer, partitions_per_topic):
            assignment.setdefault(member, []).append(tp)
        check_assignment(self._code, partitions_per_topic, subscriptions, assignment)
        return assignment

    def _partitions(
        self, blocks: Iterable[object], partitions_per_topic: Mapping[str, int]
    ) -> Iterator[tuple[str, TopicPartition]]:
        """Yield each partition of the learner's blocks. Raises LearnerError."""
        for block in blocks:
            match block:
                case (str(member), str(topic), int(first), int(count)) if (
                    0 <= first <= first + count <= partitions_per_topic.get(topic, 0)
                ):
                    for number in range(first, first + count):
                        yield member, TopicPartition(topic, number)
                case _:
                    raise self._code.blame(
                        f"assign answered the block {block!r}; expected (member, topic, first,"
                        " count) with partitions that exist"
                    )


def adapt(code: LearnerCode) -> Mapping[str, Assignor]:
    """Return the table that replaces `ASSIGNORS` in a consumer."""
    return {**ASSIGNORS, RANGE: LearnerRangeAssignor(code)}
