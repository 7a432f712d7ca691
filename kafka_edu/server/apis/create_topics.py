"""CreateTopics (Kafka: KafkaApis.handleCreateTopicsRequest; KIP-4). Only the controller serves it;
other brokers answer NOT_CONTROLLER.

Any broker could create a topic, because this only means writing znodes. But the response must wait
until the topic has leaders, and the controller's metadata cache is the first to know them.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.server.admin.admin_manager import AdminManager
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class CreateTopicsApi:
    def __init__(self, admin: AdminManager, is_controller: Callable[[], bool]) -> None:
        self._admin = admin
        self._is_controller = is_controller

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.CREATE_TOPICS, CreateTopicsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: CreateTopicsRequest) -> Awaitable[None] | None:
        """Check the topic names, then create the topics. If a name occurs twice, both results have
        the error INVALID_REQUEST.

        If this broker is not the controller, each result has the error NOT_CONTROLLER and an empty
        message, as in Kafka.
        """
        if not self._is_controller():
            refused = [_failed(topic.name, Errors.NOT_CONTROLLER, "") for topic in request.topics]
            call.respond(CreateTopicsResponse(topics=refused))
            return None
        return self._create(call, request)

    async def _create(self, call: ApiCall, request: CreateTopicsRequest) -> None:
        counts = Counter(topic.name for topic in request.topics)
        reason = "the request names this topic more than once"
        twice = [
            _failed(name, Errors.INVALID_REQUEST, reason)
            for name, count in counts.items()
            if count > 1
            for _ in range(count)
        ]

        def respond(results: list[CreatableTopicResult]) -> None:
            call.respond(CreateTopicsResponse(topics=twice + results))

        once = [topic for topic in request.topics if counts[topic.name] == 1]
        await self._admin.create_topics(
            request.timeout_ms, request.validate_only, once, respond, call.fail
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: CreateTopicsRequest, _: int, error: Errors, message: str
    ) -> CreateTopicsResponse:
        names = dict.fromkeys(topic.name for topic in request.topics)
        return CreateTopicsResponse(
            topics=[_failed(name, error, message or error.message) for name in names]
        )


def _failed(name: str, error: Errors, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error, error_message=message, configs=[])
