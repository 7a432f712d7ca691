"""Exercise 13-2 in a live consumer: a learner's StickyAssignor divides the partitions of a group.

In the exercise, all members of the group read the same topics. For other groups the shipped
assignor makes the assignment.
"""

from collections.abc import Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS, Assignor
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_assignment import LearnerAssignor
from kafka_edu.learner.seams import LearnerCode


class LearnerStickyAssignor(LearnerAssignor):
    """Calls an object of the learner's class, and reads its answer. Each assignment uses a new
    object.
    """

    name = "sticky"

    def can_ask(self, subscriptions: Mapping[str, MemberSubscription]) -> bool:
        """Return whether all members read the same topics."""
        return len({frozenset(one.topics) for one in subscriptions.values()}) == 1

    def ask(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment. Raises LearnerError."""
        wanted = {topic for one in subscriptions.values() for topic in one.topics}
        topics = {topic: n for topic, n in partitions_per_topic.items() if topic in wanted}
        rows = [
            [member, [list(tp) for tp in one.owned], one.generation]
            for member, one in subscriptions.items()
        ]
        answer = self.code.ask(self.code.make(), "assign", topics, rows)
        if not isinstance(answer, dict):
            raise self.code.blame(
                f"assign answered {answer!r}; expected {{member: [(topic, partition)]}}"
            )
        return {str(member): self._partitions(has) for member, has in answer.items()}

    def _partitions(self, has: object) -> list[TopicPartition]:
        """Return the partitions of one member. Raises LearnerError."""
        found = []
        for one in has if isinstance(has, list | tuple) else [has]:
            match one:
                case [str(topic), int(number)]:
                    found.append(TopicPartition(topic, number))
                case _:
                    raise self.code.blame(
                        f"assign answered {one!r} in a member's list; expected (topic, partition)"
                    )
        return found


def adapt(code: LearnerCode) -> Mapping[str, Assignor]:
    """Return the table that replaces `ASSIGNORS` in a consumer."""
    return {**ASSIGNORS, LearnerStickyAssignor.name: LearnerStickyAssignor(code)}
