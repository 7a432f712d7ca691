"""A copy of one cluster's metadata, and the answers made from it.

Book §6.5.2 keeps five fields of MetadataResponse and plays them back. The copy here is a complete
Metadata response for all topics. It answers in any version from 0 to the highest that the target
serves. The codec leaves out the fields that an older version lacks. Where older brokers answered
differently, the copy does too (MetadataRewrite).

The copy offers no version newer than the target's, because it cannot know what the target did not
send.
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
"""The version of the request to a target, or the target's highest if that is lower. Version 10 has
every field; 11 only drops the fields about what the client may do to the cluster.
"""


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
        asked = self._by_name if names is None else names
        seen = {
            name: self._by_name[name] for name in asked if name in self._by_name and visible(name)
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
    """Return the topic without what the client may do to it, which it has not asked for."""
    return MetadataResponseTopic(
        error_code=topic.error_code,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=topic.partitions,
        topic_authorized_operations=NOT_ASKED,
    )
