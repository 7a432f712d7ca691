"""FindCoordinator: return the address of the coordinator of a group or of a transactional id
(Kafka: KafkaApis.handleFindCoordinatorRequest).

Any broker can answer from its metadata cache. The first request creates the internal topic. At that
moment the topic's partitions have no leaders. So the broker answers COORDINATOR_NOT_AVAILABLE, and
the client tries again.
"""

from collections.abc import Awaitable, Mapping

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import INTERNAL_TOPIC, CoordinatorType, partition_for
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.apis.metadata import CreateTopicAutomatically
from kafka_edu.server.kafka_apis import KafkaApis


class FindCoordinatorApi:
    def __init__(
        self,
        cache: MetadataCache,
        create_topic: CreateTopicAutomatically,
        partitions: Mapping[CoordinatorType, int],
    ) -> None:
        """`partitions` holds the number of partitions of the internal topic for each type of
        coordinator.
        """
        self._cache = cache
        self._create_topic = create_topic
        self._partitions = partitions

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: FindCoordinatorRequest) -> Awaitable[None] | None:
        """Answer with the coordinator of the request's key. An unknown type of key gets
        INVALID_REQUEST.
        """
        try:
            kind = CoordinatorType(request.key_type)
        except ValueError:
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unknown coordinator type received: {request.key_type}"
            ) from None
        topic = INTERNAL_TOPIC[kind]
        if not self._cache.contains_topic(topic):
            return self._create_and_respond(call, topic)
        leader = self._cache.get_partition_state(
            TopicPartition(topic, partition_for(request.key, self._partitions[kind]))
        )
        end_point = (
            self._cache.get_alive_end_point(leader.leader, call.request.listener_name)
            if leader
            else None
        )
        if leader is None or end_point is None:
            raise KafkaException(Errors.COORDINATOR_NOT_AVAILABLE)
        call.respond(
            FindCoordinatorResponse(
                error_message=Errors.NONE.name,
                node_id=leader.leader,
                host=end_point.host,
                port=end_point.port,
            )
        )
        return None

    async def _create_and_respond(self, call: ApiCall, topic: str) -> None:
        await self._create_topic(topic)
        call.respond_error(Errors.COORDINATOR_NOT_AVAILABLE)

    @staticmethod
    def error_response(
        _: FindCoordinatorRequest, __: int, error: Errors, message: str
    ) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(
            error_code=error, error_message=message or error.message, node_id=-1, host="", port=-1
        )
