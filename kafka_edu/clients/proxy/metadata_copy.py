"""A copy of one cluster's metadata, which makes answers to clients.

The program of book §6.5.2 keeps five fields of MetadataResponse. The copy in this module is a
complete Metadata response for all topics. The copy answers in every version from 0 to the highest
version that the target serves. The codec leaves out the fields that an older version lacks. In some
old versions, brokers also gave other values. The copy does the same (MetadataRewrite).

The copy offers no version newer than the target's, because the target did not send the fields of a
newer version.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kafka_edu.clients.proxy.coordinators import Coordinators
from kafka_edu.clients.proxy.metadata_rewrite import MetadataRewrite
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.coordinator.coordinator_type import INTERNAL_TOPIC, CoordinatorType
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)

READ_VERSION: Final = 10
"""The version of the request to a target.

If the target's highest version is lower, that version is used. Version 10 has every field. Version
11 only drops the fields about the client's permissions on the cluster.
"""


@dataclass(frozen=True)
class MetadataCopy:
    """The cluster as one broker described it at one moment.

    A copy never changes: a newer copy replaces it.
    """

    response: MetadataResponse
    apis: VersionTable
    """The APIs that the broker serves: API key → lowest and highest version.

    API keys that kafka-edu does not know are left out.
    """
    version: int
    """The highest version of Metadata that the target serves.

    The copy answers up to this version.
    """
    source: str
    """The broker that sent the metadata, as host:port."""
    taken_at_ms: int
    """Wall-clock time of the copy, in ms since 1970."""

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
        """Return the response to a Metadata request for the topics `names`. None means all topics.

        A topic that is not `visible` is treated as if it did not exist. No topic is created, even
        if the request allows it, because a copy cannot change. O(topics in the request).
        """
        wanted = self._by_name if names is None else names
        seen = {
            name: self._by_name[name] for name in wanted if name in self._by_name and visible(name)
        }
        topics = MetadataRewrite().topics(
            names, version, seen, {broker.node_id for broker in self.brokers}
        )
        if not request.include_topic_authorized_operations:
            topics = [_without_operations(topic) for topic in topics]
        return MetadataResponse(
            brokers=self.brokers,
            cluster_id=self.response.cluster_id,
            controller_id=self.response.controller_id,
            topics=topics,
            cluster_authorized_operations=(
                self.response.cluster_authorized_operations
                if request.include_cluster_authorized_operations
                else NOT_ASKED
            ),
        )

    def coordinator(self, key: str, key_type: int) -> FindCoordinatorResponse:
        """Return the coordinator of `key` according to the copy.

        The coordinator is the leader of one partition of the internal topic. The hash of `key`
        selects the partition. Raises KafkaException: INVALID_REQUEST for an unknown type,
        COORDINATOR_NOT_AVAILABLE if the copy has no such topic or the partition had no leader.
        """
        try:
            internal = INTERNAL_TOPIC[CoordinatorType(key_type)]
        except ValueError:
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unknown coordinator type received: {key_type}"
            ) from None
        topic = self._by_name.get(internal)
        found = sorted(topic.partitions, key=lambda one: one.partition_index) if topic else []
        leader = Coordinators().find(
            key, [one.leader_id for one in found], {broker.node_id for broker in self.brokers}
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


def _without_operations(topic: MetadataResponseTopic) -> MetadataResponseTopic:
    """Return the topic without its authorized operations. The client did not request them."""
    return MetadataResponseTopic(
        error_code=topic.error_code,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=topic.partitions,
        topic_authorized_operations=NOT_ASKED,
    )
