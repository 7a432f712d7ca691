"""Exercise 13-1 in a live consumer: a learner's RangeAssignor divides the partitions of a group."""

from collections.abc import Iterable, Iterator, Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS, Assignor
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_assignment import LearnerAssignor
from kafka_edu.learner.seams import LearnerCode


class LearnerRangeAssignor(LearnerAssignor):
    """Calls an object of the learner's class, and reads the blocks of partitions in its answer.

    Each assignment uses a new object.
    """

    name = "range"

    def ask(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment. Raises LearnerError."""
        rows = [
            [member, one.group_instance_id, list(one.topics)]
            for member, one in subscriptions.items()
        ]
        answer = self.code.ask(self.code.make(), "assign", dict(partitions_per_topic), rows)
        if not isinstance(answer, tuple):
            raise self.code.blame(f"assign answered {answer!r}; expected a list of blocks")
        assignment: Assignment = {}
        for member, tp in self._partitions(answer, partitions_per_topic):
            assignment.setdefault(member, []).append(tp)
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
                    raise self.code.blame(
                        f"assign answered the block {block!r}; expected (member, topic, first,"
                        " count) with partitions that exist"
                    )


def adapt(code: LearnerCode) -> Mapping[str, Assignor]:
    """Return the table that replaces `ASSIGNORS` in a consumer."""
    return {**ASSIGNORS, LearnerRangeAssignor.name: LearnerRangeAssignor(code)}
