"""A copy of one cluster's metadata, and the answers made from it.

Book §6.5.2 keeps five fields of MetadataResponse and plays them back. The copy here is a complete
Metadata response for all topics. It answers in any version from 0 to the highest that the target
serves. The codec leaves out the fields that an older version lacks. Where older brokers answered
differently, the copy does too:

    below v6    LISTENER_NOT_FOUND becomes LEADER_NOT_AVAILABLE, which these clients know
    in v0       replicas that are not alive are left out, with REPLICA_NOT_AVAILABLE,
                because v0 clients would connect to each

The copy offers no version newer than the target's, because it cannot know what the target did not
send.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.cluster.metadata_response import NOT_ASKED, error_of_missing
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import is_internal
from kafka_edu.coordinator.coordinator_type import INTERNAL_TOPIC, CoordinatorType, partition_for
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

READ_VERSION: Final = 10
"""The version of the request to a target, or the target's highest if that is lower. Version 10 has
every field; 11 only drops the fields about what the client may do to the cluster.
"""
#: The first version whose clients know LISTENER_NOT_FOUND, and the first whose brokers list dead
#: replicas.
_KNOWS_LISTENERS: Final = 6
_LISTS_DEAD_REPLICAS: Final = 1


@dataclass(frozen=True)
class MetadataCopy:
    """One broker's description of the cluster at one moment. It never changes: a newer copy
    replaces it.
    """

    response: MetadataResponse
    apis: VersionTable
    """The APIs that the broker serves, limited to the keys we know: key → lowest and highest
    version.
    """
    version: int
    """The highest version of Metadata that the target serves, and so the highest answered from the
    copy.
    """
    source: str
    """The broker that sent it, as host:port."""
    taken_at_ms: int
    """Wall-clock time."""

    @property
    def brokers(self) -> list[MetadataResponseBroker]:
        return self.response.brokers

    @cached_property
    def _by_name(self) -> dict[str, MetadataResponseTopic]:
        return {topic.name: topic for topic in self.response.topics}

    @property
    def partitions(self) -> int:
        return sum(len(topic.partitions) for topic in self.response.topics)

    def metadata(
        self,
        request: MetadataRequest,
        version: int,
        names: list[str] | None,
        visible: Callable[[str], bool],
    ) -> MetadataResponse:
        """Return the answer to a request for `names` (None: all topics) in `version`.

        A topic that is not `visible` is answered as if it did not exist. No topic is created,
        whatever the request allows, because a copy cannot grow. O(topics asked for).
        """
        operations = request.include_topic_authorized_operations

        def told(name: str) -> MetadataResponseTopic:
            topic = self._by_name.get(name)
            return (
                _missing(name)
                if topic is None or not visible(name)
                else self._topic(topic, version, operations)
            )

        return MetadataResponse(
            brokers=self.brokers,
            cluster_id=self.response.cluster_id,
            controller_id=self.response.controller_id,
            topics=[
                told(name) for name in (filter(visible, self._by_name) if names is None else names)
            ],
            cluster_authorized_operations=(
                self.response.cluster_authorized_operations
                if request.include_cluster_authorized_operations
                else NOT_ASKED
            ),
        )

    def _topic(
        self, topic: MetadataResponseTopic, version: int, operations: bool
    ) -> MetadataResponseTopic:
        partitions = topic.partitions
        if version < _KNOWS_LISTENERS:
            alive = {broker.node_id for broker in self.brokers}
            partitions = [_in_old_version(partition, version, alive) for partition in partitions]
        return MetadataResponseTopic(
            error_code=topic.error_code,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=partitions,
            topic_authorized_operations=(
                topic.topic_authorized_operations if operations else NOT_ASKED
            ),
        )

    def coordinator(self, key: str, key_type: int) -> FindCoordinatorResponse:
        """Return the leader of the internal topic's partition to which `key` belongs, according to
        the copy.

        Raises KafkaException: INVALID_REQUEST for an unknown type, COORDINATOR_NOT_AVAILABLE if the
        copy has no such topic or the partition had no leader.
        """
        try:
            internal = INTERNAL_TOPIC[CoordinatorType(key_type)]
        except ValueError:
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unknown coordinator type received: {key_type}"
            ) from None
        topic = self._by_name.get(internal)
        if topic is not None and topic.partitions:
            number = partition_for(key, len(topic.partitions))
            leader = next(
                (p.leader_id for p in topic.partitions if p.partition_index == number), NO_LEADER
            )
            for broker in self.brokers:
                if broker.node_id == leader:
                    return FindCoordinatorResponse(
                        error_message=Errors.NONE.name,
                        node_id=leader,
                        host=broker.host,
                        port=broker.port,
                    )
        raise KafkaException(Errors.COORDINATOR_NOT_AVAILABLE)


def _missing(name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error_of_missing(name), name=name, is_internal=is_internal(name)
    )


def _in_old_version(
    partition: MetadataResponsePartition, version: int, alive: set[int]
) -> MetadataResponsePartition:
    error = Errors.of(partition.error_code)
    replicas, isr = partition.replica_nodes, partition.isr_nodes
    if error is Errors.LISTENER_NOT_FOUND:
        error = Errors.LEADER_NOT_AVAILABLE
    if version < _LISTS_DEAD_REPLICAS:
        replicas, isr = [r for r in replicas if r in alive], [r for r in isr if r in alive]
        fewer = len(replicas) < len(partition.replica_nodes) or len(isr) < len(partition.isr_nodes)
        if error is Errors.NONE and fewer:
            error = Errors.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=error,
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=partition.offline_replicas,
    )
