"""Build everything that answers a broker's requests: the managers behind the APIs, the table of
APIs, and the request handlers (Kafka: KafkaServer.startup).

Each family of APIs has its own `_serve_…` method, which creates the managers of this family and
registers its handlers in the table. `_purgatory` creates a purgatory, whose time-outs run from
`startup` on. `shutdown` stops all managers and purgatories.
"""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from kafka_edu.common.tasks import report_failure
from kafka_edu.coordinator.coordinator_type import INTERNAL_TOPIC, CoordinatorType
from kafka_edu.coordinator.group.delayed_heartbeat import DelayedHeartbeat
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.purgatory.expired_operation_reaper import ExpiredOperationReaper
from kafka_edu.replication.fetch_manager import FetchManager
from kafka_edu.replication.fetch_session_cache import FetchSessionCache
from kafka_edu.server.admin.admin_apis import serve_admin_apis
from kafka_edu.server.admin.admin_manager import (
    AdminManager,
    InternalTopic,
    TopicDefaults,
    internal_topics,
)
from kafka_edu.server.admin.config_helper import ConfigHelper
from kafka_edu.server.admin.delayed_elect_leader import DelayedElectLeader
from kafka_edu.server.apis.api_versions import ApiVersionsApi
from kafka_edu.server.apis.elect_leaders import ElectLeadersApi
from kafka_edu.server.apis.fetch import FetchApi
from kafka_edu.server.apis.find_coordinator import FindCoordinatorApi
from kafka_edu.server.apis.inter_broker import InterBrokerApi
from kafka_edu.server.apis.list_offsets import ListOffsetsApi
from kafka_edu.server.apis.metadata import MetadataApi
from kafka_edu.server.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from kafka_edu.server.apis.produce import ProduceApi
from kafka_edu.server.broker_parts import BrokerParts
from kafka_edu.server.config.inter_broker_versions import inter_broker_versions
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.server.group_service import GroupService
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.server.kafka_request_handler_pool import KafkaRequestHandlerPool
from kafka_edu.server.producer_id_manager import ProducerIdManager
from kafka_edu.server.transaction_service import TransactionService
from kafka_edu.zk.zk_data import TOPIC_IDS

Operation = TypeVar("Operation", bound=DelayedOperation)


class ApiAssembly:
    """Builds the APIs of one broker. KafkaServer creates it after all other parts. After `startup`
    the handlers accept requests.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts
        self._reapers: list[ExpiredOperationReaper] = []
        config = parts.config
        self._internal_partitions = {
            CoordinatorType.GROUP: config.offsets_topic_num_partitions,
            CoordinatorType.TRANSACTION: config.values.get_int(
                "transaction.state.log.num.partitions"
            ),
        }
        """The number of partitions that each internal topic has, or will have when it is created.
        `startup` sets it.
        """
        between_brokers = inter_broker_versions(config.inter_broker_protocol_version)
        self.apis = KafkaApis(
            parts.request_channel,
            API_LEVELS[config.api_level],
            parts.time,
            parts.trace,
            between_brokers,
        )
        self.handlers = KafkaRequestHandlerPool(
            parts.request_channel,
            self.apis.handle,
            parts.time,
            parts.trace,
            num_io_threads=config.num_io_threads,
            on_failure=parts.on_failure,
        )
        self._control_plane_handlers = self._make_control_plane_handlers()
        self._role_changes = asyncio.Lock()
        """Some requests change which replicas this broker has, or the log dir of a replica. Each of
        them holds this lock (Kafka: replicaStateChangeLock).
        """
        topic_purgatory = self._purgatory("Topic", DelayedOperation)
        admin = self._admin = AdminManager(
            parts.zk,
            parts.cache,
            ConfigHelper(parts.dynamic_config),
            topic_purgatory,
            parts.random,
            parts.trace,
            defaults=TopicDefaults(
                config.num_partitions, config.default_replication_factor, _internal_topics(config)
            ),
            with_topic_ids=config.inter_broker_protocol_version >= TOPIC_IDS,
        )
        self._serve_metadata(admin)
        self._serve_records()
        serve_admin_apis(self.apis, parts, admin, self._role_changes)
        self._elections = ElectLeadersApi(
            parts.controller,
            parts.cache,
            self._purgatory("ElectLeader", DelayedElectLeader),
            parts.time,
        )
        self._elections.register(self.apis)
        self._groups = self._serve_coordinators(admin)
        self._transactions = self._serve_transactions()
        self._serve_inter_broker(admin)

    async def startup(self) -> None:
        """Start the coordinators, the time-outs of the purgatories and the request handlers. Raises
        ZkError.
        """
        await self._settle_internal_partitions()
        self._groups.startup()
        for reaper in self._reapers:
            report_failure(reaper.start(), self._parts.on_failure)
        self._transactions.startup()
        self.handlers.start()
        if self._control_plane_handlers is not None:
            self._control_plane_handlers.start()

    async def _settle_internal_partitions(self) -> None:
        """Read the number of partitions of the internal topics that exist. This number takes
        precedence over the configuration (Kafka: getTopicPartitionCount).
        """
        existing = await self._parts.zk.get_assignment_for_topics(INTERNAL_TOPIC.values())
        for kind, topic in INTERNAL_TOPIC.items():
            if topic in existing:
                self._internal_partitions[kind] = len(existing[topic].partitions)

    async def shutdown_handlers(self) -> None:
        """Stop the request handlers. No further request is handled."""
        await self.handlers.shutdown()
        if self._control_plane_handlers is not None:
            await self._control_plane_handlers.shutdown()

    async def shutdown(self) -> None:
        """Stop the managers behind the APIs. Call this after `shutdown_handlers`."""
        await self._transactions.shutdown()
        await self._groups.shutdown()
        for reaper in self._reapers:
            await reaper.shutdown()

    def _make_control_plane_handlers(self) -> KafkaRequestHandlerPool | None:
        """Create one request handler for the listener control.plane.listener.name. It uses the same
        table of APIs. Return None if this listener is not configured.
        """
        parts = self._parts
        if parts.control_plane is None:
            return None
        channel, name = parts.control_plane.request_channel, "control-plane-kafka-request-handler"
        return KafkaRequestHandlerPool(
            channel,
            self.apis.handle,
            parts.time,
            parts.trace,
            num_io_threads=1,
            on_failure=parts.on_failure,
            name=name,
        )

    def _purgatory(self, name: str, _: type[Operation]) -> DelayedOperationPurgatory[Operation]:
        """Create a purgatory for operations of the given type. Its time-outs run from `startup` to
        `shutdown`.
        """
        purgatory = DelayedOperationPurgatory[Operation](
            name, self._parts.time.hi_res_clock_ms, self._parts.trace
        )
        self._reapers.append(ExpiredOperationReaper(purgatory, self._parts.time))
        return purgatory

    def _serve_metadata(self, admin: AdminManager) -> None:
        parts = self._parts
        ApiVersionsApi(self.apis.versions, lambda: parts.features.epoch).register(self.apis)
        MetadataApi(
            parts.cache,
            parts.cluster_id,
            admin.create_automatically,
            parts.config.auto_create_topics_enable,
        ).register(self.apis)

    def _serve_records(self) -> None:
        parts, config = self._parts, self._parts.config
        replicas = parts.replication.replicas
        fetch_manager = FetchManager(
            FetchSessionCache(
                config.max_incremental_fetch_session_cache_slots, parts.random, parts.trace
            )
        )
        ProduceApi(replicas.append, parts.cache, parts.trace).register(self.apis)
        FetchApi(
            replicas.fetch,
            replicas.partitions,
            fetch_manager,
            parts.time,
            config.fetch_max_bytes,
            replicas.quotas.leader,
        ).register(self.apis)
        ListOffsetsApi(replicas.offset_lookup).register(self.apis)
        OffsetForLeaderEpochApi(replicas.offset_lookup).register(self.apis)

    def _serve_coordinators(self, admin: AdminManager) -> GroupService:
        partitions = self._internal_partitions
        FindCoordinatorApi(self._parts.cache, admin.create_automatically, partitions).register(
            self.apis
        )
        heartbeats, rebalances = (
            self._purgatory("Heartbeat", DelayedHeartbeat),
            self._purgatory("Rebalance", DelayedOperation),
        )
        groups = GroupService(
            self._parts, heartbeats, rebalances, lambda: partitions[CoordinatorType.GROUP]
        )
        groups.register(self.apis)
        return groups

    def _serve_transactions(self) -> TransactionService:
        producer_ids = ProducerIdManager(self._new_producer_id_block, self._parts.trace)
        transactions = TransactionService(
            self._parts, producer_ids, self._groups, self._internal_partitions
        )
        transactions.register(self.apis)
        return transactions

    async def _new_producer_id_block(self) -> tuple[int, int]:
        block = await self._parts.zk.generate_producer_id_block(self._parts.broker_id)
        return block.start, block.end

    def _serve_inter_broker(self, admin: AdminManager) -> None:
        controller = self._parts.controller
        InterBrokerApi(
            self._parts.replication.replicas.controller_orders,
            self._parts.replication.log_manager,
            self._parts.cache,
            controller.controlled_shutdown,
            lambda: controller.broker_epoch,
            self._parts.topic_configs,
            self._on_topics_updated,
            self._groups.partitions_deleted,
            self._role_changes,
            self._parts.time,
            self._parts.trace,
        ).register(self.apis)

    def _on_topics_updated(self, topics: Sequence[str]) -> None:
        """Check again whether the requests that wait for `topics` are complete, because an
        UpdateMetadata request named these topics.
        """
        self._admin.try_complete_delayed_topic_operations(topics)
        self._elections.on_topics_updated(topics)


def _internal_topics(config: KafkaConfig) -> dict[str, InternalTopic]:
    values = config.values
    return internal_topics(
        (
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            values.get_int("offsets.topic.segment.bytes"),
        ),
        (
            values.get_int("transaction.state.log.num.partitions"),
            values.get_int("transaction.state.log.replication.factor"),
            values.get_int("transaction.state.log.segment.bytes"),
        ),
        values.get_int("transaction.state.log.min.isr"),
    )
