"""The rules of this broker's reads that depend on the reader (Kafka: ReplicaManager's
shouldLeaderThrottle and findPreferredReadReplica).
"""

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.time import Time
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replica_selector import ClientMetadata, ReplicaSelector, ReplicaView
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.trace.events.replication import ConsumerSentToFollower
from kafka_edu.trace.tracer import Tracer


class ReadRules:
    """Decides for one partition of a fetch whether its records are sent to this reader now."""

    def __init__(
        self,
        quota: ReplicationQuotaManager,
        selector: ReplicaSelector | None,
        metadata_cache: MetadataCache,
        time: Time,
        trace: Tracer | None = None,
    ) -> None:
        """`quota` limits what this broker sends to followers. Without a `selector` every consumer
        reads from the leader.
        """
        self._quota = quota
        self._selector = selector
        self._metadata_cache = metadata_cache
        self._time = time
        self._trace = trace

    @property
    def sends_to_followers(self) -> bool:
        """Return whether consumers may read from followers.

        If so, the leader should send a new high watermark to the followers soon.
        """
        return self._selector is not None

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
        """Return the same as `should_leader_throttle`, but do not count the partition as held back.

        It is for callers that only inspect the state.
        """
        quota = self._quota
        return (
            quota.active
            and replica_id >= 0
            and replica_id not in partition.isr
            and quota.is_throttled(partition.topic_partition)
            and quota.is_quota_exceeded(self._time.hi_res_clock_ms())
        )

    def preferred_read_replica(
        self, partition: Partition, client: ClientMetadata, fetch_offset: int
    ) -> int | None:
        """Return the follower from which the consumer should read; None means from this broker.

        Candidates are the followers whose log contains the offset or ends at it. As in Kafka 2.8,
        they need not be in the ISR. A follower itself never sends a consumer to another replica.
        O(replicas).
        """
        if self._selector is None or not partition.is_leader:
            return None
        now_ms = self._time.hi_res_clock_ms()
        followers = [
            self._view(
                follower.broker_id,
                client,
                follower.log_end_offset.message_offset,
                now_ms - follower.last_caught_up_time_ms,
            )
            for follower in partition.followers
            if follower.log_start_offset <= fetch_offset <= follower.log_end_offset.message_offset
        ]
        leader = self._view(partition.broker_id, client, partition.local_log().log_end_offset, 0)
        chosen = self._selector.select(client, followers, leader)
        if chosen is leader:
            return None
        if self._trace:
            tp = partition.topic_partition
            self._trace(
                ConsumerSentToFollower(
                    topic=tp.topic,
                    partition=tp.partition,
                    client_id=client.client_id,
                    rack=client.rack_id,
                    follower=chosen.broker_id,
                    fetch_offset=fetch_offset,
                    follower_log_end_offset=chosen.log_end_offset,
                    leader_log_end_offset=leader.log_end_offset,
                )
            )
        return chosen.broker_id

    def _view(
        self, broker_id: int, client: ClientMetadata, log_end_offset: int, ms_since_caught_up: int
    ) -> ReplicaView:
        """Return the view of one replica.

        A broker that the consumer cannot reach gets no rack, so no consumer is sent there.
        """
        cache = self._metadata_cache
        reachable = cache.get_alive_end_point(broker_id, client.listener_name) is not None
        rack = cache.rack_of(broker_id) if reachable else None
        return ReplicaView(broker_id, rack, log_end_offset, ms_since_caught_up)
