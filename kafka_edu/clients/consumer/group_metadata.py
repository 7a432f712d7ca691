"""The ids of a consumer in its group. A transactional producer sends them to the coordinator."""

from typing import NamedTuple

from kafka_edu.clients.consumer.assignors import NO_GENERATION
from kafka_edu.clients.consumer.membership import NO_MEMBER_ID


class ConsumerGroupMetadata(NamedTuple):
    """A group and one membership in it (Kafka: ConsumerGroupMetadata.java; KIP-447).

    The coordinator refuses offsets of a member that it has removed from the group. So two consumers
    never store offsets for the same partition.
    """

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None

    @property
    def names_a_member(self) -> bool:
        """Return whether the metadata names a member of the group, and not only the group."""
        return self != ConsumerGroupMetadata(self.group_id)
