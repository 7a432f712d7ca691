"""InitProducerId: return a producer id to an idempotent producer, or the next epoch to a
transactional producer (Kafka: KafkaApis.handleInitProducerIdRequest; KIP-98, KIP-360).

Without a transactional id, any broker answers with an id from its own block. With a transactional
id, only this id's coordinator answers. TransactionCoordinator does the work.
"""

from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction.transaction_coordinator import (
    InitProducerIdResult,
    ProducerIdAndEpoch,
    Requester,
    TransactionCoordinator,
)
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_VERSION_WITH_PRODUCER_FENCED: Final = 4


class InitProducerIdApi:
    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self._coordinator = coordinator

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest, self.handle, self.error_response)

    async def handle(self, call: ApiCall, request: InitProducerIdRequest) -> None:
        """Answer with a producer id and an epoch. If the request has a producer id but no epoch, or
        an epoch but no producer id, the answer is INVALID_REQUEST.
        """
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            call.respond_error(Errors.INVALID_REQUEST)
            return
        expected = (
            None
            if request.producer_id == NO_PRODUCER_ID
            else ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        )

        def respond(result: InitProducerIdResult) -> None:
            call.respond(_response(call.version, *result))

        await self._coordinator.handle_init_producer_id(
            request.transactional_id,
            request.transaction_timeout_ms,
            expected,
            respond,
            Requester(call.client_id, call.request.connection_id),
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        _: InitProducerIdRequest, version: int, error: Errors, __: str
    ) -> InitProducerIdResponse:
        return _response(version, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, error)


def _response(
    version: int, producer_id: int, producer_epoch: int, error: Errors
) -> InitProducerIdResponse:
    if error is Errors.PRODUCER_FENCED and version < FIRST_VERSION_WITH_PRODUCER_FENCED:
        error = Errors.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(
        error_code=error, producer_id=producer_id, producer_epoch=producer_epoch
    )
