"""AlterIsr: a leader proposes a new ISR to the controller (Kafka: KafkaApis.handleAlterIsrRequest;
KIP-497). The controller's part is in KafkaController.
"""

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrResponsePartition,
    AlterIsrResponseTopic,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class AlterIsrApi:
    def __init__(self, controller: KafkaController) -> None:
        self._controller = controller

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.ALTER_ISR, AlterIsrRequest, self.handle, self.error_response)

    async def handle(self, call: ApiCall, request: AlterIsrRequest) -> None:
        """Pass the proposed ISRs to the controller. The sender believes that it leads the
        partitions, but the controller checks this.
        """
        wanted = {
            TopicPartition(topic.name, p.partition_index): LeaderAndIsr(
                request.broker_id, p.leader_epoch, tuple(p.new_isr), p.current_isr_version
            )
            for topic in request.topics
            for p in topic.partitions
        }
        topics: dict[str, AlterIsrResponseTopic] = {}
        for tp, (error, state) in (
            await self._controller.alter_isrs(request.broker_id, request.broker_epoch, wanted)
        ).items():
            topic = topics.setdefault(tp.topic, AlterIsrResponseTopic(name=tp.topic, partitions=[]))
            partition = AlterIsrResponsePartition(partition_index=tp.partition, error_code=error)
            topic.partitions.append(partition)
            if state is not None:
                partition.leader_id, partition.leader_epoch, partition.isr = (
                    state.leader,
                    state.leader_epoch,
                    list(state.isr),
                )
                partition.current_isr_version = state.zk_version
        call.respond(AlterIsrResponse(topics=list(topics.values())))

    @staticmethod
    def error_response(_: AlterIsrRequest, __: int, error: Errors, ___: str) -> AlterIsrResponse:
        return AlterIsrResponse(error_code=error)
