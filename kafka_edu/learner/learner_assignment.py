"""Check an assignment that a learner's assignor has made: each partition has exactly one member."""

from collections.abc import Mapping

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.seams import LearnerCode


def check_assignment(
    code: LearnerCode,
    partitions_per_topic: Mapping[str, int],
    subscriptions: Mapping[str, MemberSubscription],
    assignment: Assignment,
) -> None:
    """Raise LearnerError, with the first partition that has two members, or none, or a member that
    does not read its topic. O(partitions).
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
