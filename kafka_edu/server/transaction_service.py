"""Build a broker's transaction coordinator, with its log, its markers, its periodic work, and its
APIs (Kafka: KafkaServer.startup).
"""

from collections.abc import Awaitable, Callable, Mapping

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import CoordinatorType, partition_for
from kafka_edu.coordinator.transaction.marker_writer import MarkerWriter
from kafka_edu.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import (
    TransactionMarkerChannelManager,
)
from kafka_edu.coordinator.transaction.transaction_state_manager import TransactionStateManager
from kafka_edu.server.apis.describe_producers import DescribeProducersApi
from kafka_edu.server.apis.init_producer_id import InitProducerIdApi
from kafka_edu.server.apis.transactions import TransactionsApi
from kafka_edu.server.apis.txn_offset_commit import TxnOffsetCommitApi
from kafka_edu.server.apis.write_txn_markers import WriteTxnMarkersApi
from kafka_edu.server.broker_parts import BrokerParts
from kafka_edu.server.config.part_configs import transaction_config
from kafka_edu.server.group_service import GroupService
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.server.kafka_scheduler import KafkaScheduler
from kafka_edu.server.producer_id_manager import ProducerIdManager
from kafka_edu.zk.zk_client import ZkError


class TransactionService:
    """The transaction coordinator of one broker, and its APIs. `partitions` holds the number of
    partitions of each internal topic.
    """

    def __init__(
        self,
        parts: BrokerParts,
        producer_ids: ProducerIdManager,
        groups: GroupService,
        partitions: Mapping[CoordinatorType, int],
    ) -> None:
        self._cache = parts.cache
        self._zk = parts.zk
        replicas = parts.replication.replicas
        self._replicated_partitions = replicas.partitions
        self._groups = groups
        self._partitions = partitions
        self._time = parts.time
        config = self._config = transaction_config(parts.config)
        time, on_failure, trace = parts.time, parts.on_failure, parts.trace
        self._writer = MarkerWriter(
            replicas.partitions,
            replicas.append,
            time,
            config.request_timeout_ms,
            groups.on_transaction_completed,
        )
        self._states = TransactionStateManager(
            config,
            replicas.partitions,
            replicas.append,
            time,
            lambda: partitions[CoordinatorType.TRANSACTION],
            on_failure,
            trace,
        )
        self._markers = TransactionMarkerChannelManager(
            parts.broker_id,
            config,
            parts.cache,
            self._states,
            self._writer,
            self._exists,
            parts.transport,
            time,
            on_failure,
            trace,
        )
        self._coordinator = TransactionCoordinator(
            config, self._states, self._markers, or_unavailable(producer_ids), time, trace
        )
        self._scheduler = KafkaScheduler(time, on_failure)
        replicas.leadership.listen(TRANSACTION_STATE_TOPIC_NAME, self._coordinator)

    def register(self, apis: KafkaApis) -> None:
        """Register the handlers of the seven transaction APIs in the table `apis`."""
        InitProducerIdApi(self._coordinator).register(apis)
        TransactionsApi(self._coordinator, self._cache, self._group_partition_for).register(apis)
        WriteTxnMarkersApi(self._writer).register(apis)
        TxnOffsetCommitApi(
            self._groups.store_transactional_offsets, self._cache, self._time
        ).register(apis)
        DescribeProducersApi(self._replicated_partitions, self._cache).register(apis)

    def _group_partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._partitions[CoordinatorType.GROUP])

    async def _exists(self, tp: TopicPartition) -> bool:
        """Return whether the partition exists in ZooKeeper. Also return True if ZooKeeper does not
        answer.
        """
        try:
            assignment = await self._zk.get_assignment_for_topics([tp.topic])
        except ZkError:
            return True
        return tp.topic in assignment and tp.partition in assignment[tp.topic].partitions

    def startup(self) -> None:
        """Start the periodic work, which aborts transactions that are too old and removes expired
        transactional ids.
        """
        config, schedule = self._config, self._scheduler.schedule
        for name, work, period_ms in (
            (
                "transaction-abort",
                self._coordinator.abort_timed_out_transactions,
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            ),
            (
                "transactionalId-expiration",
                self._states.remove_expired_transactional_ids,
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
            ),
        ):
            schedule(name, work, delay_ms=period_ms, period_ms=period_ms)

    async def shutdown(self) -> None:
        await self._scheduler.shutdown()
        await self._markers.shutdown()
        await self._states.shutdown()


def or_unavailable(producer_ids: ProducerIdManager) -> Callable[[], Awaitable[int]]:
    """Return a function that generates producer ids. If it cannot get a new block from ZooKeeper,
    it raises COORDINATOR_NOT_AVAILABLE. Clients then retry.
    """

    async def generate() -> int:
        try:
            return await producer_ids.generate_producer_id()
        except ZkError as error:
            raise KafkaException(Errors.COORDINATOR_NOT_AVAILABLE, str(error)) from error

    return generate
