"""DeleteTopics (Kafka: KafkaApis.handleDeleteTopicsRequest; KIP-4, KIP-516). Only the controller
serves it; other brokers answer NOT_CONTROLLER.

Up to v5 a request contains the topics' names. From v6 on it contains each topic's name or id.
AdminManager does the work.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka_edu.protocol.types import ZERO_UUID
from kafka_edu.server.admin.admin_manager import AdminManager
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_VERSION_WITH_IDS: Final = 6
#: The first version whose clients know the error TOPIC_DELETION_DISABLED.
FIRST_VERSION_WITH_DISABLED: Final = 3


class _Wanted(NamedTuple):
    """One topic of the request: its name, or its id.

    If the name is not given, it is None. If the id is not given, it is all zeros.
    """

    name: str | None
    topic_id: UUID


class DeleteTopicsApi:
    def __init__(
        self,
        admin: AdminManager,
        cache: MetadataCache,
        is_controller: Callable[[], bool],
        delete_topic_enable: bool,
    ) -> None:
        self._admin = admin
        self._cache = cache
        self._is_controller = is_controller
        self._delete_topic_enable = delete_topic_enable

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.DELETE_TOPICS, DeleteTopicsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: DeleteTopicsRequest) -> Awaitable[None]:
        """Delete the topics. If delete.topic.enable=false, answer TOPIC_DELETION_DISABLED. If a
        topic has both a name and an id, the whole request gets INVALID_REQUEST.
        """
        if not self._is_controller():
            raise KafkaException(Errors.NOT_CONTROLLER)
        if not self._delete_topic_enable:
            known = call.version >= FIRST_VERSION_WITH_DISABLED
            raise KafkaException(
                Errors.TOPIC_DELETION_DISABLED if known else Errors.INVALID_REQUEST,
                "delete.topic.enable is false",
            )
        wanted = _wanted(request, call.version)
        if any(name is not None and topic_id != ZERO_UUID for name, topic_id in wanted):
            raise KafkaException(
                Errors.INVALID_REQUEST, "a topic is named by its name or by its id, not by both"
            )
        return self._delete(call, request.timeout_ms, wanted)

    async def _delete(self, call: ApiCall, timeout_ms: int, wanted: list[_Wanted]) -> None:
        names = [
            name if name is not None else self._cache.topic_name(topic_id)
            for name, topic_id in wanted
        ]
        known = list(
            dict.fromkeys(
                name for name in names if name is not None and self._cache.contains_topic(name)
            )
        )

        def respond(errors: Mapping[str, Errors]) -> None:
            results = [
                _result(each, name, errors) for each, name in zip(wanted, names, strict=True)
            ]
            call.respond(DeleteTopicsResponse(responses=results))

        await self._admin.delete_topics(timeout_ms, known, respond, call.fail)
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: DeleteTopicsRequest, version: int, error: Errors, _: str
    ) -> DeleteTopicsResponse:
        """Return a response with this error for every topic. It has no message, because Kafka
        leaves this field empty.
        """
        results = [
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error)
            for name, topic_id in _wanted(request, version)
        ]
        return DeleteTopicsResponse(responses=results)


def _wanted(request: DeleteTopicsRequest, version: int) -> list[_Wanted]:
    if version >= FIRST_VERSION_WITH_IDS:
        return [_Wanted(topic.name, topic.topic_id) for topic in request.topics]
    return [_Wanted(name, ZERO_UUID) for name in request.topic_names]


def _result(
    wanted: _Wanted, name: str | None, errors: Mapping[str, Errors]
) -> DeletableTopicResult:
    """Return the result of one topic. An unknown id gets UNKNOWN_TOPIC_ID. An entry without a name
    and without an id gets TOPIC_AUTHORIZATION_FAILED, as in Kafka.
    """
    if name is not None:
        error = errors.get(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    else:
        error = (
            Errors.TOPIC_AUTHORIZATION_FAILED
            if wanted.topic_id == ZERO_UUID
            else Errors.UNKNOWN_TOPIC_ID
        )
    return DeletableTopicResult(name=name, topic_id=wanted.topic_id, error_code=error)
