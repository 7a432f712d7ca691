"""Collects what one controller step must send to the brokers, and sends it in few requests.

(Kafka: ControllerBrokerRequestBatch.) A state machine may change a thousand partitions. For each
partition, the state machine adds to the batch which brokers need the change. At the end every
broker gets at most one LeaderAndIsr, one UpdateMetadata and two StopReplica requests, and not a
thousand of each. LeaderAndIsr goes to the brokers with replicas. UpdateMetadata goes to every
broker, because any broker may answer a client's Metadata request.

Each request carries the controller's epoch and the receiver's broker epoch. A broker refuses the
request of a controller that was replaced (error 11). It also refuses a request that was made before
the broker restarted (error 77, KIP-380).

Next: `ControllerChannelManager.send_request` (controller_channel_manager.py).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    LeaderIsrAndControllerEpoch,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ZERO_UUID
from kafka_edu.zk.zk_data import ProtocolVersion

SECURITY_PROTOCOL_IDS: Final[Mapping[str, int]] = {
    "PLAINTEXT": 0,
    "SSL": 1,
    "SASL_PLAINTEXT": 2,
    "SASL_SSL": 3,
}
#: Lowest inter.broker.protocol.version → versions of the requests (LeaderAndIsr, StopReplica,
#: UpdateMetadata). The newest line comes first. (Kafka: the same class.)
REQUEST_VERSIONS: Final[tuple[tuple[ProtocolVersion, tuple[int, int, int]], ...]] = (
    ((2, 8), (5, 3, 7)),
    ((2, 6), (4, 3, 6)),
    ((2, 4), (4, 2, 6)),
    ((2, 2), (2, 1, 5)),
    ((2, 0), (1, 0, 4)),
)

SendRequest = Callable[[int, Message, int, int], None]
"""The function that queues a request: (broker id, request, API version, partition count) → None."""


def request_versions(inter_broker_protocol: ProtocolVersion) -> tuple[int, int, int]:
    """Return the versions of the requests LeaderAndIsr, StopReplica and UpdateMetadata.

    If inter.broker.protocol.version is below 2.0, the versions are those of 2.0.
    """
    return next(
        (versions for since, versions in REQUEST_VERSIONS if inter_broker_protocol >= since),
        REQUEST_VERSIONS[-1][1],
    )


class ControllerBrokersRequestBatch:
    """Collects one batch at a time: `new_batch`, then `add_…`, then `send_requests_to_brokers`.

    Only the controller's event task uses it.
    """

    def __init__(
        self,
        broker_id: int,
        context: ControllerContext,
        inter_broker_protocol: ProtocolVersion,
        listener_name: str,
        send: SendRequest,
    ) -> None:
        self._broker_id = broker_id
        self._context = context
        self._listener_name = listener_name
        self._send = send
        self._leader_and_isr_version, self._stop_replica_version, self._update_metadata_version = (
            request_versions(inter_broker_protocol)
        )
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}
        self._update_metadata_brokers: set[int] = set()
        self._update_metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}

    def new_batch(self) -> None:
        """Begin a new batch.

        Raises RuntimeError if the previous batch was neither sent nor cleared, which is a bug.
        """
        if self._leader_and_isr or self._stop_replica or self._update_metadata_brokers:
            raise RuntimeError("the previous batch was neither sent nor cleared")

    def clear(self) -> None:
        """Drop the collected requests, because the controller's current step has failed."""
        self._leader_and_isr.clear()
        self._stop_replica.clear()
        self._update_metadata_brokers.clear()
        self._update_metadata.clear()

    def add_leader_and_isr_request(
        self,
        broker_ids: Iterable[int],
        tp: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        is_new: bool,
    ) -> None:
        """Add a partition's state: as LeaderAndIsr for `broker_ids`, as UpdateMetadata for all
        brokers.
        """
        assignment = self._context.partition_full_replica_assignment(tp)
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            of_broker = self._leader_and_isr.setdefault(broker_id, {})
            before = of_broker.get(tp)
            of_broker[tp] = LeaderAndIsrPartitionState(
                topic_name=tp.topic,
                partition_index=tp.partition,
                controller_epoch=state.controller_epoch,
                leader=state.leader_and_isr.leader,
                leader_epoch=state.leader_and_isr.leader_epoch,
                isr=list(state.leader_and_isr.isr),
                zk_version=state.leader_and_isr.zk_version,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding_replicas),
                removing_replicas=list(assignment.removing_replicas),
                is_new=is_new or (before is not None and before.is_new),
            )
        self.add_update_metadata_request(self._context.live_or_shutting_down_broker_ids, [tp])

    def add_stop_replica_request(
        self, broker_ids: Iterable[int], tp: TopicPartition, delete: bool
    ) -> None:
        """Add a request to stop the replicas on `broker_ids`, and delete their logs if `delete`."""
        leadership = self._context.partition_leadership_info(tp)
        if self._context.is_topic_queued_up_for_deletion(tp.topic):
            leader_epoch = EPOCH_DURING_DELETE
        else:
            leader_epoch = leadership.leader_and_isr.leader_epoch if leadership else NO_EPOCH
        for broker_id in broker_ids:
            if broker_id >= 0:
                of_broker = self._stop_replica.setdefault(broker_id, {})
                before = of_broker.get(tp)
                of_broker[tp] = StopReplicaPartitionState(
                    partition_index=tp.partition,
                    leader_epoch=leader_epoch,
                    delete_partition=delete or (before is not None and before.delete_partition),
                )

    def add_update_metadata_request(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Add the live brokers and the states of `partitions` as metadata for `broker_ids`.

        A partition without a state is left out.
        """
        self._update_metadata_brokers.update(
            broker_id for broker_id in broker_ids if broker_id >= 0
        )
        for tp in partitions:
            state = self._context.partition_leadership_info(tp)
            if state is None:
                continue
            replicas = self._context.partition_replica_assignment(tp)
            deleted = self._context.is_topic_queued_up_for_deletion(tp.topic)
            self._update_metadata[tp] = UpdateMetadataPartitionState(
                topic_name=tp.topic,
                partition_index=tp.partition,
                controller_epoch=state.controller_epoch,
                leader=LEADER_DURING_DELETE if deleted else state.leader_and_isr.leader,
                leader_epoch=state.leader_and_isr.leader_epoch,
                isr=list(state.leader_and_isr.isr),
                zk_version=state.leader_and_isr.zk_version,
                replicas=list(replicas),
                offline_replicas=[
                    replica
                    for replica in replicas
                    if not self._context.is_replica_online(replica, tp)
                ],
            )

    def send_requests_to_brokers(self) -> None:
        """Put all collected requests into the brokers' queues, and empty the batch.

        The order is LeaderAndIsr, UpdateMetadata, StopReplica.
        """
        for broker_id in sorted(self._leader_and_isr):
            if broker := self._context.live_broker(broker_id):
                states = self._leader_and_isr[broker_id]
                self._send(
                    broker_id,
                    self._leader_and_isr_request(broker, states),
                    self._leader_and_isr_version,
                    len(states),
                )
        if self._update_metadata_brokers:
            self._send_update_metadata()
        for broker_id in sorted(self._stop_replica):
            if broker := self._context.live_broker(broker_id):
                self._send_stop_replica(broker, self._stop_replica[broker_id])
        self.clear()

    def _leader_and_isr_request(
        self, broker: Broker, states: dict[TopicPartition, LeaderAndIsrPartitionState]
    ) -> LeaderAndIsrRequest:
        request = LeaderAndIsrRequest(
            controller_id=self._broker_id,
            controller_epoch=self._context.epoch,
            broker_epoch=broker.epoch,
        )
        leaders = sorted({state.leader for state in states.values()})
        for leader in (self._context.live_broker(leader) for leader in leaders):
            if leader is not None and (end_point := leader.end_point(self._listener_name)):
                request.live_leaders.append(
                    LeaderAndIsrLiveLeader(
                        broker_id=leader.id, host_name=end_point.host, port=end_point.port
                    )
                )
        if self._leader_and_isr_version < 2:
            request.ungrouped_partition_states = [states[tp] for tp in sorted(states)]
        else:
            for topic, partitions in _by_topic(states).items():
                topic_id = self._context.topic_ids.get(topic, ZERO_UUID)
                request.topic_states.append(
                    LeaderAndIsrTopicState(
                        topic_name=topic,
                        topic_id=topic_id,
                        partition_states=[states[tp] for tp in partitions],
                    )
                )
        if self._leader_and_isr_version >= 5:
            request.type = 1
        return request

    def _send_update_metadata(self) -> None:
        live_brokers = [
            UpdateMetadataBroker(
                id=broker.id,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=e.port,
                        host=e.host,
                        listener=e.listener_name,
                        security_protocol=SECURITY_PROTOCOL_IDS[e.security_protocol],
                    )
                    for e in broker.end_points
                ],
                rack=broker.rack,
            )
            for broker in self._context.live_or_shutting_down_brokers
        ]
        by_topic = _by_topic(self._update_metadata)
        topic_states = [
            UpdateMetadataTopicState(
                topic_name=topic,
                topic_id=self._context.topic_ids.get(topic, ZERO_UUID),
                partition_states=[self._update_metadata[tp] for tp in partitions],
            )
            for topic, partitions in by_topic.items()
        ]
        for broker_id in sorted(self._update_metadata_brokers):
            if broker := self._context.live_broker(broker_id):
                request = UpdateMetadataRequest(
                    controller_id=self._broker_id,
                    controller_epoch=self._context.epoch,
                    broker_epoch=broker.epoch,
                    live_brokers=live_brokers,
                )
                if self._update_metadata_version < 5:
                    request.ungrouped_partition_states = [
                        self._update_metadata[tp] for tp in sorted(self._update_metadata)
                    ]
                else:
                    request.topic_states = topic_states
                self._send(
                    broker_id, request, self._update_metadata_version, len(self._update_metadata)
                )

    def _send_stop_replica(
        self, broker: Broker, states: dict[TopicPartition, StopReplicaPartitionState]
    ) -> None:
        """Send one StopReplica request; below version 3, send up to two.

        From version 3 on, each partition has its own delete flag. In earlier versions a request had
        one flag for all its partitions, so the partitions to delete need a separate request.
        """
        if self._stop_replica_version >= 3:
            request = StopReplicaRequest(
                controller_id=self._broker_id,
                controller_epoch=self._context.epoch,
                broker_epoch=broker.epoch,
            )
            for topic, partitions in _by_topic(states).items():
                request.topic_states.append(
                    StopReplicaTopicState(
                        topic_name=topic, partition_states=[states[tp] for tp in partitions]
                    )
                )
            self._send(broker.id, request, self._stop_replica_version, len(states))
            return
        for delete in (False, True):
            chosen = sorted(tp for tp, state in states.items() if state.delete_partition is delete)
            if not chosen:
                continue
            request = StopReplicaRequest(
                controller_id=self._broker_id,
                controller_epoch=self._context.epoch,
                broker_epoch=broker.epoch,
                delete_partitions=delete,
            )
            if self._stop_replica_version == 0:
                request.ungrouped_partitions = [
                    StopReplicaPartitionV0(topic_name=tp.topic, partition_index=tp.partition)
                    for tp in chosen
                ]
            else:
                for topic, partitions in _by_topic(chosen).items():
                    request.topics.append(
                        StopReplicaTopicV1(
                            name=topic, partition_indexes=[tp.partition for tp in partitions]
                        )
                    )
            self._send(broker.id, request, self._stop_replica_version, len(chosen))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Return topic → its partitions, both sorted."""
    grouped: dict[str, list[TopicPartition]] = {}
    for tp in sorted(partitions):
        grouped.setdefault(tp.topic, []).append(tp)
    return grouped
