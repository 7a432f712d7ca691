"""InitProducerId: a producer id for an idempotent producer (Kafka: KafkaApis.handleInitProducerIdRequest; KIP-98).

Transactional producers need the transaction coordinator. Until it is there, they are told COORDINATOR_NOT_AVAILABLE, which their clients retry.
"""

from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.server.producer_id_manager import ProducerIdManager
from kafka_edu.zk.zk_client import ZkError

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1


class InitProducerIdApi:
    def __init__(self, producer_ids: ProducerIdManager) -> None:
        self._producer_ids = producer_ids

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest, self.handle, self.error_response)

    async def handle(self, call: ApiCall, request: InitProducerIdRequest) -> None:
        """Without a transactional id every request gets a new id, at epoch 0."""
        if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH) or request.transactional_id == "":
            call.respond_error(Errors.INVALID_REQUEST)
        elif request.transactional_id is not None:
            call.respond_error(Errors.COORDINATOR_NOT_AVAILABLE)
        else:
            try:
                producer_id = await self._producer_ids.generate_producer_id()
            except ZkError:
                call.respond_error(Errors.COORDINATOR_NOT_AVAILABLE)
                return
            call.respond(InitProducerIdResponse(producer_id=producer_id, producer_epoch=0))

    @staticmethod
    def error_response(_: InitProducerIdRequest, __: int, error: Errors, ___: str) -> InitProducerIdResponse:
        return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
