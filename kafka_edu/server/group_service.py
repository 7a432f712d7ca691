"""Build the group coordinator of one broker, with its purgatories, its log, and its background work
(Kafka: GroupCoordinator.apply and startup).
"""

from collections.abc import Callable, Collection, Mapping

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.delayed_heartbeat import DelayedHeartbeat
from kafka_edu.coordinator.group.group_coordinator import GroupCoordinator, Member
from kafka_edu.coordinator.group.group_metadata_manager import CommitErrors, GroupMetadataManager
from kafka_edu.coordinator.group.group_rebalancer import GroupRebalancer
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.coordinator.group.partition_loader import PartitionLoader
from kafka_edu.log.log import Log
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.server.apis.group_admin import GroupAdminApi
from kafka_edu.server.apis.groups import GroupsApi
from kafka_edu.server.apis.offsets import ConsumerOffsets, OffsetsApi
from kafka_edu.server.broker_parts import BrokerParts
from kafka_edu.server.config.part_configs import group_config, offset_config
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.server.kafka_scheduler import KafkaScheduler


class GroupService:
    """The group coordinator of one broker, and its APIs. `partitions` returns the number of
    partitions of `__consumer_offsets`.
    """

    def __init__(
        self,
        parts: BrokerParts,
        heartbeats: DelayedOperationPurgatory[DelayedHeartbeat],
        rebalances: DelayedOperationPurgatory[DelayedOperation],
        partitions: Callable[[], int],
    ) -> None:
        self._config = parts.config
        self._cache: MetadataCache = parts.cache
        self._zk: ConsumerOffsets = parts.zk
        self._time = parts.time
        replicas = parts.replication.replicas
        self._replicated_partitions = replicas.partitions
        self._offset_config = offset_config(parts.config)
        group_settings = group_config(parts.config)
        manager = self._manager = GroupMetadataManager(
            self._offset_config, replicas.append, parts.time, partitions, parts.trace
        )
        rebalancer = GroupRebalancer(
            group_settings, manager, heartbeats, rebalances, parts.time, parts.trace
        )
        self.coordinator = GroupCoordinator(group_settings, manager, rebalancer, parts.random)
        self._loader = PartitionLoader(
            manager,
            self.coordinator,
            self._log_of,
            parts.time,
            self._offset_config.offsets_load_buffer_size,
            parts.trace,
        )
        self._scheduler = KafkaScheduler(parts.time, parts.on_failure)
        replicas.leadership.listen(GROUP_METADATA_TOPIC_NAME, self._loader)

    def _log_of(self, tp: TopicPartition) -> Log | None:
        partition = self._replicated_partitions.get(tp)
        return partition.log if partition is not None and partition.is_leader else None

    def register(self, apis: KafkaApis) -> None:
        """Register the handlers of the eight group APIs and the two offset APIs in the table
        `apis`.
        """
        protocol = self._config.inter_broker_protocol_version
        GroupsApi(self.coordinator, protocol).register(apis)
        GroupAdminApi(self.coordinator, self._cache).register(apis)
        OffsetsApi(
            self.coordinator,
            self._cache,
            self._zk,
            self._time,
            offset_metadata_max_size=self._offset_config.offset_metadata_max_bytes,
            inter_broker_protocol=protocol,
        ).register(apis)

    def startup(self) -> None:
        """Start the background work: loading groups from the log, and expiring old offsets."""
        self._scheduler.schedule("group-metadata-manager", self._loader.run)
        period_ms = self._offset_config.offsets_retention_check_interval_ms
        self._scheduler.schedule(
            "delete-expired-group-metadata",
            self._loader.cleanup_expired,
            delay_ms=period_ms,
            period_ms=period_ms,
        )

    async def shutdown(self) -> None:
        """Stop the coordinator. From now on requests get COORDINATOR_NOT_AVAILABLE. The broker
        closes the connection of each member whose request still waits. The member then looks for
        another coordinator.
        """
        self.coordinator.is_active = False
        await self._scheduler.shutdown()

    def partitions_deleted(self, partitions: Collection[TopicPartition]) -> None:
        """Delete the offsets that groups committed for these partitions. Call this when an
        UpdateMetadata request has reported the partitions as deleted.
        """
        if partitions:
            self._manager.cleanup_deleted(partitions)

    def store_transactional_offsets(
        self,
        group_id: str,
        producer_id: int,
        producer_epoch: int,
        member: Member,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        respond: Callable[[CommitErrors], None],
    ) -> None:
        """Write the offsets of a TxnOffsetCommit request to the log. Then call `respond` with each
        partition's error. The offsets become valid when the transaction commits.
        """
        self.coordinator.handle_txn_commit_offsets(
            group_id, producer_id, producer_epoch, member, offsets, respond
        )

    def on_transaction_completed(
        self, producer_id: int, partitions: Collection[int], committed: bool
    ) -> None:
        """End the producer's transaction in the groups of these partitions of `__consumer_offsets`.
        Call this when WriteTxnMarkers has written the marker there, and the marker is replicated.
        """
        self._loader.complete_transaction(producer_id, frozenset(partitions), committed)
