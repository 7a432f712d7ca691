"""Build the parts of replication that decide and do no I/O over the network (Kafka:
ReplicaManager.scala).

    Partitions          the replicas of this broker; all other parts use it
    Append              produce requests, and the records of coordinators
    Fetch               fetch requests of consumers and followers
    DeleteRecords       DeleteRecords requests
    OffsetLookup        ListOffsets and OffsetForLeaderEpoch requests
    ControllerOrders    LeaderAndIsr, StopReplica and UpdateMetadata requests
    IsrUpdates          which followers leave the ISR, and what ZooKeeper answered

In Kafka these parts are methods of one class. Here a caller uses only the part that it needs. The
parts are synchronous and owned by the broker's loop. The tasks that do their I/O (fetchers,
reapers, the writer of ISRs) are started by `Replication` in `assembly`.
"""

from collections.abc import Callable

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.append import Append
from kafka_edu.replication.controller_orders import ControllerOrders, Fetchers, Moves
from kafka_edu.replication.delayed_delete_records import DelayedDeleteRecords
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.delayed_operations import DelayedOperations
from kafka_edu.replication.delayed_produce import DelayedProduce
from kafka_edu.replication.delete_records import DeleteRecords
from kafka_edu.replication.fetch import Fetch
from kafka_edu.replication.isr import IsrProposal
from kafka_edu.replication.isr_writer import IsrUpdates
from kafka_edu.replication.leadership import Leadership
from kafka_edu.replication.offset_lookup import OffsetLookup
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.read_rules import ReadRules
from kafka_edu.replication.replica_logs import ReplicaLogs
from kafka_edu.replication.replica_selector import make_selector
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import ReplicationQuotas
from kafka_edu.trace.tracer import Tracer


class ReplicaManager:
    """Builds and holds the parts of one broker's replication that decide. Callers use the parts
    directly.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        time: Time,
        metadata_cache: MetadataCache,
        partitions: Partitions,
        isr_updates: IsrUpdates,
        replica_logs: ReplicaLogs,
        fetchers: Fetchers,
        moves: Moves,
        propose_isr: Callable[[IsrProposal], None],
        quotas: ReplicationQuotas,
        trace: Tracer | None = None,
    ) -> None:
        now_ms = time.hi_res_clock_ms
        produce = DelayedOperationPurgatory[DelayedProduce](
            "Produce", now_ms, trace, config.producer_purgatory_purge_interval_requests
        )
        fetch = DelayedOperationPurgatory[DelayedFetch](
            "Fetch", now_ms, trace, config.fetch_purgatory_purge_interval_requests
        )
        delete_records = DelayedOperationPurgatory[DelayedDeleteRecords](
            "DeleteRecords", now_ms, trace, config.delete_records_purgatory_purge_interval_requests
        )

        def new_partition(topic_partition: TopicPartition) -> Partition:
            delayed = DelayedOperations(topic_partition, produce, fetch, delete_records)
            return Partition(
                topic_partition,
                config.broker_id,
                config.replica_lag_time_max_ms,
                delayed,
                propose_isr,
                trace,
            )

        self.partitions = partitions
        self.isr_updates = isr_updates
        self.leadership = Leadership()
        self.append = Append(partitions, produce, time)
        self.quotas = quotas
        rules = ReadRules(
            quotas.leader,
            make_selector(config.replica_selector_class),
            metadata_cache,
            time,
            trace,
        )
        self.fetch = Fetch(partitions, fetch, time, rules)
        self.delete_records = DeleteRecords(partitions, delete_records, metadata_cache)
        self.offset_lookup = OffsetLookup(partitions, time)
        self.controller_orders = ControllerOrders(
            config.broker_id,
            partitions,
            new_partition,
            replica_logs,
            metadata_cache,
            fetchers,
            moves,
            self.leadership,
            self.fetch.leads_more,
            time,
            trace,
        )
        partitions.on_offline(lambda tp: fetchers.remove_fetcher_for_partitions([tp]))
        partitions.on_offline(self.leadership.removed)
