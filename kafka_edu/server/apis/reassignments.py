"""AlterPartitionReassignments and ListPartitionReassignments (Kafka:
KafkaApis.handleAlterPartitionReassignmentsRequest …; KIP-455).

Clients send these requests to the controller. Each partition has its own error. The response's own
error message is empty, not null. KafkaController does the work.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class ReassignmentsApi:
    def __init__(self, controller: KafkaController) -> None:
        self._controller = controller

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            AlterPartitionReassignmentsRequest,
            self.handle_alter,
            self._alter_error,
        )
        apis.serve(
            ApiKey.LIST_PARTITION_REASSIGNMENTS,
            ListPartitionReassignmentsRequest,
            self.handle_list,
            self._list_error,
        )

    async def handle_alter(
        self, call: ApiCall, request: AlterPartitionReassignmentsRequest
    ) -> None:
        """Change the assignments. If the request contains a partition twice, the last
        entry counts.
        """
        wanted = {
            TopicPartition(t.name, p.partition_index): p.replicas
            for t in request.topics
            for p in t.partitions
        }
        results = await self._controller.alter_partition_reassignments(wanted)
        topics: dict[str, ReassignableTopicResponse] = {}
        for tp, (error, message) in results.items():
            topic = topics.setdefault(
                tp.topic, ReassignableTopicResponse(name=tp.topic, partitions=[])
            )
            text = None if error is Errors.NONE else message or error.message
            topic.partitions.append(
                ReassignablePartitionResponse(
                    partition_index=tp.partition, error_code=error, error_message=text
                )
            )
        call.respond(
            AlterPartitionReassignmentsResponse(error_message="", responses=list(topics.values()))
        )

    async def handle_list(self, call: ApiCall, request: ListPartitionReassignmentsRequest) -> None:
        """Answer with the reassignments in progress. If the request's list of topics is null,
        include all topics.
        """
        partitions = (
            None
            if request.topics is None
            else [
                TopicPartition(t.name, number)
                for t in request.topics
                for number in t.partition_indexes
            ]
        )
        topics: dict[str, OngoingTopicReassignment] = {}
        for tp, assignment in (
            await self._controller.list_partition_reassignments(partitions)
        ).items():
            topic = topics.setdefault(
                tp.topic, OngoingTopicReassignment(name=tp.topic, partitions=[])
            )
            topic.partitions.append(
                OngoingPartitionReassignment(
                    partition_index=tp.partition,
                    replicas=list(assignment.replicas),
                    adding_replicas=list(assignment.adding_replicas),
                    removing_replicas=list(assignment.removing_replicas),
                )
            )
        call.respond(
            ListPartitionReassignmentsResponse(error_message="", topics=list(topics.values()))
        )

    @staticmethod
    def _alter_error(
        _: AlterPartitionReassignmentsRequest, __: int, error: Errors, message: str
    ) -> AlterPartitionReassignmentsResponse:
        return AlterPartitionReassignmentsResponse(
            error_code=error, error_message=message or error.message
        )

    @staticmethod
    def _list_error(
        _: ListPartitionReassignmentsRequest, __: int, error: Errors, message: str
    ) -> ListPartitionReassignmentsResponse:
        return ListPartitionReassignmentsResponse(
            error_code=error, error_message=message or error.message
        )
