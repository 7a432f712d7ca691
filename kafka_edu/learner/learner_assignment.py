"""A learner's assignor in a live consumer that leads a group.

Each partition has to have exactly one member. If a partition has two members or none, that is an
error in the learner's code, and the message names the partition. The shipped assignor then makes
the assignment. An assignment that is complete, but not the best one, is used.
"""

from collections.abc import Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerAssignor:
    """Asks the learner's code, and checks its answer. A subclass defines `ask`."""

    name = ""
    """The name of the assignor in `partition.assignment.strategy`."""

    def __init__(self, code: LearnerCode) -> None:
        self.code = code

    def __call__(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment, or the shipped assignment if that is not possible."""
        if not self.code.retired and self.can_ask(subscriptions):
            try:
                assignment = self.ask(partitions_per_topic, subscriptions)
                check_assignment(self.code, partitions_per_topic, subscriptions, assignment)
                return {member: assignment.get(member, []) for member in subscriptions}
            except LearnerError as error:
                self.code.failed(error)
        return ASSIGNORS[self.name](partitions_per_topic, subscriptions)

    def can_ask(self, subscriptions: Mapping[str, MemberSubscription]) -> bool:
        """Return whether the exercise includes groups with these subscriptions."""
        return True

    def ask(
        self,
        partitions_per_topic: Mapping[str, int],
        subscriptions: Mapping[str, MemberSubscription],
    ) -> Assignment:
        """Return the learner's assignment. Raises LearnerError."""
        raise NotImplementedError(f"{type(self).__name__} must define `ask`")


def check_assignment(
    code: LearnerCode,
    partitions_per_topic: Mapping[str, int],
    subscriptions: Mapping[str, MemberSubscription],
    assignment: Assignment,
) -> None:
    """Raise LearnerError if a partition has two members, none, or a member that does not read its
    topic. The message names the first such partition. O(partitions).
    """
    owners: dict[TopicPartition, str] = {}
    for member, partitions in assignment.items():
        if member not in subscriptions:
            raise code.blame(f"assign names the member {member!r}, which is not in the group")
        for tp in partitions:
            if not 0 <= tp.partition < partitions_per_topic.get(tp.topic, 0):
                raise code.blame(f"assign gives {member} the partition {tp}, which does not exist")
            if tp.topic not in subscriptions[member].topics:
                raise code.blame(f"assign gives {tp} to {member}, which does not read {tp.topic}")
            if tp in owners:
                raise code.blame(f"assign gives {tp} to two members: {owners[tp]} and {member}")
            owners[tp] = member
    read = {topic for one in subscriptions.values() for topic in one.topics}
    for topic in sorted(read & set(partitions_per_topic)):
        for number in range(partitions_per_topic[topic]):
            if TopicPartition(topic, number) not in owners:
                raise code.blame(f"assign gives {topic}-{number} to no member")
