"""The coordinator of a group or a transaction, read from a copy of the metadata: a pure rule.

Hop before: MetadataCopy. Next hop: the answer to FindCoordinator.
"""

from collections.abc import Collection, Sequence

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.coordinator.coordinator_type import partition_for


class Coordinators:
    """Remembers nothing: what the newest copy says counts (Kafka: KafkaApis.handleFindCoordinator
    asks its metadata cache each time).
    """

    def find(self, key: str, leaders: Sequence[int], brokers: Collection[int]) -> int:
        """Return the broker that coordinates `key`; NO_LEADER if nobody does now.

        `leaders` are those of the internal topic's partitions, by partition; `brokers` live.
        """
        if not leaders:
            return NO_LEADER
        leader = leaders[partition_for(key, len(leaders))]
        return leader if leader in brokers else NO_LEADER
