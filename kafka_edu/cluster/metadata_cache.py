"""The whole cluster as one broker knows it. The broker answers Metadata requests from this cache.

Kafka: MetadataCache.scala, ZkMetadataCache in 2.8.

Only the controller changes the cache, with UpdateMetadata requests. Each request names all live
brokers and the partitions that changed. So every broker can answer a Metadata request by itself.
Each broker's cache is a little out of date, and clients must cope with that.

The cache is used only in the broker's event loop. A read is O(partitions that the reader wants). An
update is O(partitions in the request).
"""

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple
from uuid import UUID

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LEADER_DURING_DELETE, NO_LEADER
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kafka_edu.protocol.types import ZERO_UUID
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.server import (
    MetadataSnapshot,
    MetadataUpdated,
    PartitionMetadataSnapshot,
)
from kafka_edu.trace.tracer import Tracer

#: Security protocols by their number in requests (SecurityProtocol.java).
SECURITY_PROTOCOLS: Final[Mapping[int, str]] = {
    0: "PLAINTEXT",
    1: "SSL",
    2: "SASL_PLAINTEXT",
    3: "SASL_SSL",
}


class PartitionState(NamedTuple):
    """The state of one partition in the controller's latest update."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class MetadataCache:
    """This broker's knowledge of the cluster, from the controller's UpdateMetadata requests."""

    def __init__(self, broker_id: int, trace: Tracer | None = None) -> None:
        self.broker_id = broker_id
        self.controller_id: int | None = None
        """Id of the controller that sent the latest update, or None before the first update."""
        self._brokers: dict[int, Broker] = {}
        self._topics: dict[str, dict[int, PartitionState]] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._trace = trace
        self.updated_event = 0
        """The number of the latest MetadataUpdated event.

        The trace shows this event as the cause of operations that waited for the update.
        """
        if trace:
            trace.on_snapshot(self._snapshot)

    def update(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Apply the controller's update, and return the partitions that it deletes.

        The list of brokers is replaced as a whole. Partitions are added or replaced one by one. A
        partition whose leader is LEADER_DURING_DELETE (-2) is removed. The caller has checked the
        controller's epoch (ControllerOrders keeps the latest epoch).
        """
        self.controller_id = request.controller_id if request.controller_id >= 0 else None
        self._brokers = {broker.id: broker for broker in sorted(map(_broker, request.live_brokers))}
        updated: list[TopicPartition] = []
        deleted: list[TopicPartition] = []
        for topic_state in request.topic_states:
            if topic_state.topic_id != ZERO_UUID:
                self._topic_ids[topic_state.topic_name] = topic_state.topic_id
            for state in topic_state.partition_states:
                self._put(
                    TopicPartition(topic_state.topic_name, state.partition_index),
                    state,
                    updated,
                    deleted,
                )
        for state in request.ungrouped_partition_states:
            self._put(
                TopicPartition(state.topic_name, state.partition_index), state, updated, deleted
            )
        if self._trace:
            self.updated_event = self._trace(
                MetadataUpdated(
                    controller_id=request.controller_id,
                    controller_epoch=request.controller_epoch,
                    live_brokers=tuple(self._brokers),
                    updated=tuple(map(str, updated)),
                    deleted=tuple(map(str, deleted)),
                )
            )
        return deleted

    def _put(
        self,
        tp: TopicPartition,
        state: UpdateMetadataPartitionState,
        updated: list[TopicPartition],
        deleted: list[TopicPartition],
    ) -> None:
        if state.leader == LEADER_DURING_DELETE:
            partitions = self._topics.get(tp.topic, {})
            partitions.pop(tp.partition, None)
            if not partitions:
                self._topics.pop(tp.topic, None)
                self._topic_ids.pop(tp.topic, None)
            deleted.append(tp)
            return
        self._topics.setdefault(tp.topic, {})[tp.partition] = PartitionState(
            state.controller_epoch,
            state.leader,
            state.leader_epoch,
            tuple(state.isr),
            state.zk_version,
            tuple(state.replicas),
            tuple(state.offline_replicas),
        )
        updated.append(tp)

    @property
    def topics(self) -> list[str]:
        """The names of all topics, sorted."""
        return sorted(self._topics)

    def topic_id(self, topic: str) -> UUID:
        """Return the topic's id (KIP-516), or the id of zeros if the controller sent none."""
        return self._topic_ids.get(topic, ZERO_UUID)

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id, or None if it is unknown. O(topics)."""
        return next((name for name, known in self._topic_ids.items() if known == topic_id), None)

    def partitions_of(self, topic: str) -> Mapping[int, PartitionState]:
        """Return the topic's partitions by number. The result is empty for an unknown topic."""
        return self._topics.get(topic, {})

    def contains(self, tp: TopicPartition) -> bool:
        return tp.partition in self._topics.get(tp.topic, ())

    def contains_topic(self, topic: str) -> bool:
        return topic in self._topics

    def get_partition_state(self, tp: TopicPartition) -> PartitionState | None:
        return self._topics.get(tp.topic, {}).get(tp.partition)

    def get_alive_brokers(self) -> list[Broker]:
        """Return all live brokers in the order of their ids."""
        return list(self._brokers.values())

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._brokers

    def rack_of(self, broker_id: int) -> str | None:
        """Return the broker's rack; None if the broker has no rack, or is not alive."""
        broker = self._brokers.get(broker_id)
        return broker.rack if broker else None

    def get_alive_end_point(self, broker_id: int, listener_name: str) -> EndPoint | None:
        """Return the address of a broker's listener.

        Return None if the broker is not alive or has no listener with this name.
        """
        broker = self._brokers.get(broker_id)
        return broker.end_point(listener_name) if broker else None

    def get_leader_end_point(self, tp: TopicPartition, listener_name: str) -> EndPoint | None:
        """Return the address of the partition's leader, or None if it is unknown."""
        state = self.get_partition_state(tp)
        return self.get_alive_end_point(state.leader, listener_name) if state else None

    def get_topic_metadata(
        self, topic: str, listener_name: str, api_version: int
    ) -> list[MetadataResponsePartition]:
        """Return the topic's partitions, sorted by number, for a Metadata response of that version.

        A partition without a reachable leader gets LEADER_NOT_AVAILABLE. From v6 on, it gets
        LISTENER_NOT_FOUND if the leader is alive but has no such listener. A v0 client treats each
        listed replica as alive. Therefore v0 lists only the reachable replicas, and sets
        REPLICA_NOT_AVAILABLE if some are missing.
        """
        reachable = {
            broker.id
            for broker in self._brokers.values()
            if broker.end_point(listener_name) is not None
        }
        return [
            self._partition_metadata(number, state, reachable, api_version)
            for number, state in sorted(self._topics.get(topic, {}).items())
        ]

    def _partition_metadata(
        self, number: int, state: PartitionState, reachable: Set[int], api_version: int
    ) -> MetadataResponsePartition:
        replicas, isr = list(state.replicas), list(state.isr)
        if api_version == 0:
            replicas = [r for r in replicas if r in reachable]
            isr = [r for r in isr if r in reachable]
        leader = state.leader
        error = Errors.NONE
        if leader not in reachable:
            known_elsewhere = leader in self._brokers and api_version >= 6
            error = Errors.LISTENER_NOT_FOUND if known_elsewhere else Errors.LEADER_NOT_AVAILABLE
            leader = NO_LEADER
        elif len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
            error = Errors.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error,
            partition_index=number,
            leader_id=leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=list(state.offline_replicas),
        )

    def _snapshot(self) -> Iterable[Event]:
        brokers = tuple((b.id, tuple(map(str, b.end_points))) for b in self._brokers.values())
        yield MetadataSnapshot(
            controller_id=-1 if self.controller_id is None else self.controller_id,
            live_brokers=brokers,
        )
        for topic, partitions in sorted(self._topics.items()):
            for number, state in sorted(partitions.items()):
                yield PartitionMetadataSnapshot(
                    topic=topic,
                    partition=number,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr=state.isr,
                    replicas=state.replicas,
                    offline_replicas=state.offline_replicas,
                )


def _broker(live: UpdateMetadataBroker) -> Broker:
    """Turn one live broker of an UpdateMetadata request of any version into a Broker.

    v0 has a single host and port. v1 and v2 do not name the listener.
    """
    end_points = []
    for end_point in live.endpoints:
        protocol = SECURITY_PROTOCOLS.get(end_point.security_protocol, "PLAINTEXT")
        end_points.append(
            EndPoint(end_point.host, end_point.port, end_point.listener or protocol, protocol)
        )
    if not end_points:
        end_points.append(EndPoint(live.v0_host, live.v0_port, "PLAINTEXT", "PLAINTEXT"))
    return Broker(live.id, tuple(end_points), live.rack)
