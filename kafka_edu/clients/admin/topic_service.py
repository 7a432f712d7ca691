"""Ask brokers about topics. Let the controller create, extend and delete topics.

Kafka: AdminClientTopicService in TopicCommand.scala of 2.8, KafkaAdminClient.java.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

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
from kafka_edu.protocol.messages.describe_configs import (
    ConfigSource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    ResourceType,
)

#: The newest version of DeleteTopics in which topics are named only by name. Since version 6 there
#: is another field, which can name a topic by its id.
NEWEST_BY_NAME: Final = 5


class PartitionDescription(NamedTuple):
    number: int
    leader: int | None
    """Broker id of the leader.

    None if the broker reports no leader, for example before the first one.
    """
    replicas: Sequence[int]
    isr: Sequence[int]


class TopicDescription(NamedTuple):
    configs: Mapping[str, str]
    """The configs that are set for this topic, sorted by name."""
    partitions: Sequence[PartitionDescription]


class BrokerTopicService:
    """Requests about topics. Changes are sent to the controller, and questions to any broker.

    Every method raises KafkaException, AdminTimeoutError or OSError if it fails.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    async def topics(self) -> list[str]:
        return sorted(topic.name for topic in (await self._brokers.metadata(None)).topics)

    async def live_brokers(self) -> set[int]:
        return set(self._brokers.nodes)

    async def describe(self, topic: str) -> TopicDescription | None:
        answer = (await self._brokers.metadata([topic])).topics[0]
        if answer.error_code:
            return None
        partitions = [
            PartitionDescription(
                p.partition_index,
                None if p.leader_id < 0 else p.leader_id,
                p.replica_nodes,
                p.isr_nodes,
            )
            for p in sorted(answer.partitions, key=lambda p: p.partition_index)
        ]
        return TopicDescription(await self.configs(topic), partitions)

    async def configs(self, topic: str) -> dict[str, str]:
        wanted = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    resource_type=ResourceType.TOPIC, resource_name=topic, configuration_keys=None
                )
            ]
        )
        result = (await self._brokers.ask_any(wanted, DescribeConfigsResponse)).results[0]
        raise_for(result.error_code, result.error_message)
        return {
            config.name: config.value or ""
            for config in sorted(result.configs, key=lambda c: c.name)
            if config.config_source == ConfigSource.TOPIC
        }

    async def partition_count(self, topic: str) -> int:
        return len((await self._brokers.metadata([topic])).topics[0].partitions)

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
