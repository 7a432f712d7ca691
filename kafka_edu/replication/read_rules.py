"""The rules of this broker's reads that depend on the reader (Kafka: ReplicaManager's
shouldLeaderThrottle).
"""

from kafka_edu.common.time import Time
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager


class ReadRules:
    """Decides for one partition of a fetch whether its records are sent to this reader now."""

    def __init__(self, quota: ReplicationQuotaManager, time: Time) -> None:
        """`quota` limits what this broker sends to followers."""
        self._quota = quota
        self._time = time

    def should_leader_throttle(self, partition: Partition, replica_id: int) -> bool:
        """Return whether a follower gets no records of the partition now. A follower in the ISR
        always gets them, and so does a consumer. O(1) while nothing is throttled.
        """
        quota = self._quota
        return (
            quota.active
            and replica_id >= 0
            and quota.should_throttle(
                partition.topic_partition,
                replica_id in partition.isr,
                self._time.hi_res_clock_ms(),
            )
        )

    def leader_throttles(self, partition: Partition, replica_id: int) -> bool:
        """Return the same without counting it as held back, for those who only look."""
        quota = self._quota
        return (
            quota.active
            and replica_id >= 0
            and replica_id not in partition.isr
            and quota.is_throttled(partition.topic_partition)
            and quota.is_quota_exceeded(self._time.hi_res_clock_ms())
        )
