"""CreatePartitions (Kafka: KafkaApis.handleCreatePartitionsRequest; KIP-195). Only the controller
serves it; other brokers answer NOT_CONTROLLER.

The number of partitions can only grow, because removing a partition would remove its records.
AdminManager does the work.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kafka_edu.server.admin.admin_manager import AdminManager
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class CreatePartitionsApi:
    def __init__(
        self,
        admin: AdminManager,
        is_controller: Callable[[], bool],
        is_queued_for_deletion: Callable[[str], bool],
    ) -> None:
        self._admin = admin
        self._is_controller = is_controller
        self._is_queued_for_deletion = is_queued_for_deletion

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.CREATE_PARTITIONS, CreatePartitionsRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: CreatePartitionsRequest) -> Awaitable[None] | None:
        """Check the topic names, then add partitions. A name that occurs twice gets one result,
        with the error INVALID_REQUEST. A topic that is being deleted gets INVALID_TOPIC_EXCEPTION.

        If this broker is not the controller, each name gets one result, with the error
        NOT_CONTROLLER and without a message, as in Kafka.
        """
        if not self._is_controller():
            names = dict.fromkeys(topic.name for topic in request.topics)
            refused = [
                CreatePartitionsTopicResult(name=name, error_code=Errors.NOT_CONTROLLER)
                for name in names
            ]
            call.respond(CreatePartitionsResponse(results=refused))
            return None
        return self._create(call, request)

    async def _create(self, call: ApiCall, request: CreatePartitionsRequest) -> None:
        counts = Counter(topic.name for topic in request.topics)
        refused = {
            name: (Errors.INVALID_REQUEST, "the request names this topic more than once")
            for name, count in counts.items()
            if count > 1
        }
        for name in counts:
            if name not in refused and self._is_queued_for_deletion(name):
                refused[name] = (Errors.INVALID_TOPIC_EXCEPTION, "the topic is queued for deletion")
        failed = [
            CreatePartitionsTopicResult(name=name, error_code=error, error_message=text)
            for name, (error, text) in refused.items()
        ]

        def respond(results: list[CreatePartitionsTopicResult]) -> None:
            call.respond(CreatePartitionsResponse(results=failed + results))

        wanted = [topic for topic in request.topics if topic.name not in refused]
        await self._admin.create_partitions(
            request.timeout_ms, request.validate_only, wanted, respond, call.fail
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: CreatePartitionsRequest, _: int, error: Errors, message: str
    ) -> CreatePartitionsResponse:
        names = dict.fromkeys(topic.name for topic in request.topics)
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(
                    name=name, error_code=error, error_message=message or error.message
                )
                for name in names
            ]
        )
