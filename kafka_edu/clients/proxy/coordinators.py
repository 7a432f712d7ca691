"""Find the coordinator of a group or a transaction in a copy of the metadata. No I/O, no state.

Previous hop: MetadataCopy. Next: the result goes into the FindCoordinator response.
"""

from collections.abc import Collection, Sequence

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.coordinator.coordinator_type import partition_for


class Coordinators:
    """The rule that finds a coordinator. It keeps no state.

    Each call uses the newest copy of the metadata. (Kafka: KafkaApis.handleFindCoordinator reads
    its metadata cache each time.)
    """

    def find(self, key: str, leaders: Sequence[int], brokers: Collection[int]) -> int:
        """Return the id of the broker that coordinates `key`, or NO_LEADER if there is none now.

        `leaders` are the leaders of the internal topic's partitions, in the order of the
        partitions. `brokers` are the live brokers.
        """
        if not leaders:
            return NO_LEADER
        leader = leaders[partition_for(key, len(leaders))]
        return leader if leader in brokers else NO_LEADER
