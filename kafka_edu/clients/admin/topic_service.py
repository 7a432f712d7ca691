"""Let the controller create, extend and delete topics, by the older admin client.

Kafka: AdminClientTopicService in TopicCommand.scala of 2.8, KafkaAdminClient.java.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.clients.admin.brokers import REQUEST_TIMEOUT_MS, Brokers, raise_for
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

#: The newest version of DeleteTopics in which topics are named only by name. Since version 6 there
#: is another field, which can name a topic by its id.
NEWEST_BY_NAME: Final = 5


class BrokerTopicService:
    """Requests about topics, to the controller.

    Every method raises KafkaException, AdminTimeoutError or OSError if it fails.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def live_brokers(self) -> set[int]:
        return set(self._brokers.nodes)

    async def create(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic. The controller chooses the brokers of its replicas."""
        await self._create(
            CreatableTopic(
                name=topic, num_partitions=partitions, replication_factor=replication_factor
            ),
            configs,
        )

    async def create_assigned(
        self, topic: str, assignment: Mapping[int, Sequence[int]], configs: Mapping[str, str]
    ) -> None:
        """Create a topic with the given replicas.

        `assignment` maps each partition to its brokers.
        """
        assigned = [
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(ids))
            for number, ids in assignment.items()
        ]
        await self._create(
            CreatableTopic(
                name=topic, num_partitions=-1, replication_factor=-1, assignments=assigned
            ),
            configs,
        )

    async def _create(self, topic: CreatableTopic, configs: Mapping[str, str]) -> None:
        topic.configs = [
            CreateableTopicConfig(name=name, value=value) for name, value in configs.items()
        ]
        request = CreateTopicsRequest(topics=[topic], timeout_ms=REQUEST_TIMEOUT_MS)
        answer = await self._brokers.ask_controller(
            request, CreateTopicsResponse, lambda answer: Errors.of(answer.topics[0].error_code)
        )
        raise_for(answer.topics[0].error_code, answer.topics[0].error_message)

    async def add_partitions(
        self, topic: str, partitions: int, added: Sequence[Sequence[int]] | None
    ) -> None:
        """Add partitions to the topic, so that it has `partitions` partitions.

        `added` lists the brokers of each new partition. If it is None, the controller chooses them.
        """
        assignments = (
            None
            if added is None
            else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in added]
        )
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic, count=partitions, assignments=assignments)],
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
        answer = await self._brokers.ask_controller(
            request,
            CreatePartitionsResponse,
            lambda answer: Errors.of(answer.results[0].error_code),
        )
        raise_for(answer.results[0].error_code, answer.results[0].error_message)

    async def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=REQUEST_TIMEOUT_MS)
        answer = await self._brokers.ask_controller(
            request,
            DeleteTopicsResponse,
            lambda answer: Errors.of(answer.responses[0].error_code),
            newest=NEWEST_BY_NAME,
        )
        raise_for(answer.responses[0].error_code)
