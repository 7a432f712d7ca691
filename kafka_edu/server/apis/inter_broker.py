"""Requests that the controller sends to brokers, and ControlledShutdown, which a stopping broker
sends to the controller (Kafka: KafkaApis; book §6.4).

Two epochs protect a broker from late requests. The first is the controller's epoch. A request of an
older controller is refused with STALE_CONTROLLER_EPOCH (ControllerOrders keeps the newest epoch
seen). The second is the broker's epoch, which is the czxid of its registration in ZooKeeper. A
request for an earlier registration of this broker is refused with STALE_BROKER_EPOCH (KIP-380).
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import in_turns
from kafka_edu.log.log_manager import LogManager
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.controlled_shutdown import (
    EPOCH_NOT_CHECKED,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_edu.replication.controller_orders import ControllerOrders
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.config.topic_configs import TopicConfigs
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.trace.tracer import Tracer, because

ControlledShutdown = Callable[[int, int], Awaitable[list[TopicPartition]]]
"""The controller's part of a controlled shutdown. The arguments are the stopping broker's id and
epoch. The result holds the partitions that this broker still leads. Raises KafkaException.
"""


class InterBrokerApi:
    def __init__(
        self,
        orders: ControllerOrders,
        log_manager: LogManager,
        cache: MetadataCache,
        controlled_shutdown: ControlledShutdown,
        broker_epoch: Callable[[], int],
        topic_configs: TopicConfigs,
        on_topics_updated: Callable[[list[str]], None],
        on_partitions_deleted: Callable[[list[TopicPartition]], None],
        role_changes: asyncio.Lock,
        time: Time,
        trace: Tracer | None = None,
    ) -> None:
        self._time = time
        self._trace = trace
        self._orders = orders
        self._log_manager = log_manager
        self._cache = cache
        self._topic_configs = topic_configs
        self._controlled_shutdown = controlled_shutdown
        self._broker_epoch = broker_epoch
        self._role_changes = role_changes
        """Held while a LeaderAndIsr or a StopReplica request is carried out (Kafka:
        replicaStateChangeLock).
        """
        self._on_topics_updated = on_topics_updated
        self._on_partitions_deleted = on_partitions_deleted

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.LEADER_AND_ISR,
            LeaderAndIsrRequest,
            self.handle_leader_and_isr,
            self._leader_and_isr_error,
        )
        apis.serve(
            ApiKey.STOP_REPLICA,
            StopReplicaRequest,
            self.handle_stop_replica,
            self._stop_replica_error,
        )
        apis.serve(
            ApiKey.UPDATE_METADATA,
            UpdateMetadataRequest,
            self.handle_update_metadata,
            self._update_metadata_error,
        )
        apis.serve(
            ApiKey.CONTROLLED_SHUTDOWN,
            ControlledShutdownRequest,
            self.handle_controlled_shutdown,
            self._controlled_shutdown_error,
        )

    async def handle_leader_and_isr(self, call: ApiCall, request: LeaderAndIsrRequest) -> None:
        """Make this broker leader or follower of partitions, as the controller ordered.

        New logs need the configs of their topics. Unknown configs are fetched first, all at once. A
        worker then creates the logs. At the end each partition gets its role. One new topic may
        have thousands of partitions. So the broker handles other requests in between.
        """
        async with self._role_changes:
            self._check_broker_epoch(request.broker_epoch)
            missing = self._topic_configs.missing(_topics(request))
            if missing:
                await self._topic_configs.load(missing)
            new_logs = self._orders.new_logs(request)
            if new_logs:
                self._orders.logs_refused(await self._log_manager.create_logs(new_logs))
            self._check_broker_epoch(request.broker_epoch)
            steps = self._orders.become_leader_or_follower(request, call.version)
            call.respond(await in_turns(steps, self._time))
            self._log_manager.write_leader_epochs()

    async def handle_stop_replica(self, call: ApiCall, request: StopReplicaRequest) -> None:
        """Stop replicas. A worker then moves away the folders of replicas that must be deleted."""
        async with self._role_changes:
            self._check_broker_epoch(request.broker_epoch)
            steps = self._orders.stop_replicas(request, call.version)
            stopped = await in_turns(steps, self._time)
            failures = await self._log_manager.delete_logs(stopped.deleted)
            call.respond(self._orders.stop_replica_response(stopped, failures))

    def handle_update_metadata(self, call: ApiCall, request: UpdateMetadataRequest) -> None:
        """Update the metadata cache. For each deleted partition, drop the topic's configs and the
        offsets that groups committed. Then check the requests that wait for the updated topics.
        """
        self._check_broker_epoch(request.broker_epoch)
        deleted = self._orders.maybe_update_metadata_cache(request)
        updated = self._cache.updated_event if self._trace else 0
        with because(self._trace, updated):
            for tp in deleted:
                self._topic_configs.forget(tp.topic)
            self._on_partitions_deleted(deleted)
            self._on_topics_updated(_topics(request))
        call.respond(UpdateMetadataResponse())

    async def handle_controlled_shutdown(
        self, call: ApiCall, request: ControlledShutdownRequest
    ) -> None:
        """Move the leaderships of the stopping broker to other brokers. The broker does not check
        the sender: any client may send this request for any broker, as the book shows (spec G4).
        """
        remaining = await self._controlled_shutdown(request.broker_id, request.broker_epoch)
        partitions = [
            RemainingPartition(topic_name=tp.topic, partition_index=tp.partition)
            for tp in remaining
        ]
        call.respond(ControlledShutdownResponse(remaining_partitions=partitions))

    def _check_broker_epoch(self, epoch: int) -> None:
        """Raise STALE_BROKER_EPOCH if `epoch` is below this broker's epoch. A higher epoch is no
        error, because the controller may see this broker's new registration before this broker gets
        ZooKeeper's answer.
        """
        ours = self._broker_epoch()
        if EPOCH_NOT_CHECKED < epoch < ours:
            raise KafkaException(
                Errors.STALE_BROKER_EPOCH,
                f"the request is for epoch {epoch} of this broker; now it is {ours}",
            )

    @staticmethod
    def _leader_and_isr_error(
        _: LeaderAndIsrRequest, __: int, error: Errors, ___: str
    ) -> LeaderAndIsrResponse:
        return LeaderAndIsrResponse(error_code=error)

    @staticmethod
    def _stop_replica_error(
        _: StopReplicaRequest, __: int, error: Errors, ___: str
    ) -> StopReplicaResponse:
        return StopReplicaResponse(error_code=error)

    @staticmethod
    def _update_metadata_error(
        _: UpdateMetadataRequest, __: int, error: Errors, ___: str
    ) -> UpdateMetadataResponse:
        return UpdateMetadataResponse(error_code=error)

    @staticmethod
    def _controlled_shutdown_error(
        _: ControlledShutdownRequest, __: int, error: Errors, ___: str
    ) -> ControlledShutdownResponse:
        return ControlledShutdownResponse(error_code=error)


def _topics(request: LeaderAndIsrRequest | UpdateMetadataRequest) -> list[str]:
    """Return the names of the topics in the request, each name once."""
    return list(
        {state.topic_name: None for state in request.topic_states}
        | {state.topic_name: None for state in request.ungrouped_partition_states}
    )
