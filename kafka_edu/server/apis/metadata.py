"""Metadata: return brokers, controller and partition leaders from this broker's cache (Kafka:
KafkaApis.handleTopicMetadataRequest; book §6.5.2).

Any broker answers, without a request to another broker. A request for a topic that does not exist
may create this topic. The answer is then LEADER_NOT_AVAILABLE. The client retries until the
controller has elected a leader and has updated all brokers.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.cluster.metadata_response import (
    NOT_ASKED,
    error_of_missing,
    metadata_error,
    requested_topics,
)
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic import INTERNAL_TOPICS, is_internal
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

CreateTopicAutomatically = Callable[[str], Awaitable[Errors]]
"""A function that creates a topic with the broker's defaults. It returns the topic's error for the
Metadata response. The error is LEADER_NOT_AVAILABLE if the topic was created.
"""

#: The operations that a client may do with a topic, as bits. Bit n stands for the operation with
#: code n (AclOperation.java). Without an authorizer every client may do all of them (KIP-430).
TOPIC_OPERATIONS: Final = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS: Final = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))


class MetadataApi:
    def __init__(
        self,
        cache: MetadataCache,
        cluster_id: str,
        create_topic: CreateTopicAutomatically,
        auto_create_topics_enable: bool,
    ) -> None:
        self._cache = cache
        self._cluster_id = cluster_id
        self._create_topic = create_topic
        self._auto_create_topics_enable = auto_create_topics_enable

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.METADATA, MetadataRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: MetadataRequest) -> Awaitable[None] | None:
        """Answer from the cache, and create missing topics where that is allowed. A request for all
        topics creates no topic.
        """
        names = requested_topics(request, call.version)
        if names is None:
            self._respond(
                call, request, [self._topic(call, topic, request) for topic in self._cache.topics]
            )
            return None
        known = [
            self._topic(call, name, request) for name in names if self._cache.contains_topic(name)
        ]
        missing = [name for name in names if not self._cache.contains_topic(name)]
        if not missing:
            self._respond(call, request, known)
            return None
        may_create = request.allow_auto_topic_creation and self._auto_create_topics_enable
        if not may_create and INTERNAL_TOPICS.isdisjoint(missing):
            self._respond(
                call,
                request,
                known + [self._missing(name, error_of_missing(name), request) for name in missing],
            )
            return None
        return self._create_and_respond(call, request, known, missing, may_create)

    async def _create_and_respond(
        self,
        call: ApiCall,
        request: MetadataRequest,
        known: list[MetadataResponseTopic],
        missing: list[str],
        may_create: bool,
    ) -> None:
        """Create the missing topics one after the other, then answer. If `may_create` is False,
        only missing internal topics are created.
        """
        topics = list(known)
        for name in missing:
            error = (
                await self._create_topic(name)
                if may_create or is_internal(name)
                else error_of_missing(name)
            )
            topics.append(self._missing(name, error, request))
        self._respond(call, request, topics)

    def _topic(self, call: ApiCall, name: str, request: MetadataRequest) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=name,
            topic_id=self._cache.topic_id(name),
            is_internal=is_internal(name),
            partitions=self._cache.get_topic_metadata(
                name, call.request.listener_name, call.version
            ),
            topic_authorized_operations=(
                TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
            ),
        )

    def _missing(self, name: str, error: Errors, request: MetadataRequest) -> MetadataResponseTopic:
        operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
        return MetadataResponseTopic(
            error_code=error,
            name=name,
            is_internal=is_internal(name),
            topic_authorized_operations=operations,
        )

    def _respond(
        self, call: ApiCall, request: MetadataRequest, topics: list[MetadataResponseTopic]
    ) -> None:
        brokers = []
        for broker in self._cache.get_alive_brokers():
            end_point = broker.end_point(call.request.listener_name)
            if end_point is not None:
                brokers.append(
                    MetadataResponseBroker(
                        node_id=broker.id,
                        host=end_point.host,
                        port=end_point.port,
                        rack=broker.rack,
                    )
                )
        controller_id = self._cache.controller_id
        call.respond(
            MetadataResponse(
                brokers=brokers,
                cluster_id=self._cluster_id,
                controller_id=-1 if controller_id is None else controller_id,
                topics=topics,
                cluster_authorized_operations=(
                    CLUSTER_OPERATIONS
                    if request.include_cluster_authorized_operations
                    else NOT_ASKED
                ),
            )
        )

    @staticmethod
    def error_response(
        request: MetadataRequest, _: int, error: Errors, __: str
    ) -> MetadataResponse:
        return metadata_error(request, error)
