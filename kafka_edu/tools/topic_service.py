"""Operations on topics for the tool `topics`, through ZooKeeper or through brokers.

(Kafka: TopicCommand.scala, ZookeeperTopicService and AdminClientTopicService of 2.8)
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from random import SystemRandom
from typing import NamedTuple, Protocol

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.config_calls import ConfigResource
from kafka_edu.clients.admin.topic_calls import NewPartitions, NewTopic
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import is_internal
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.describe_configs import ConfigSource, ResourceType
from kafka_edu.server.admin.admin_zk_client import AdminOperationError, AdminZkClient, RackAwareMode
from kafka_edu.tools.admin_client import open_admin
from kafka_edu.tools.options import UsageError
from kafka_edu.tools.tool import ToolError, illegal_argument
from kafka_edu.tools.zookeeper import zookeeper
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode


class PartitionDescription(NamedTuple):
    number: int
    leader: int | None
    """Broker id of the leader. None if there is no leader, for example before the first
    election.
    """
    replicas: Sequence[int]
    isr: Sequence[int]


class TopicDescription(NamedTuple):
    configs: Mapping[str, str]
    """The configs that are set for this topic, sorted by name."""
    partitions: Sequence[PartitionDescription]


class TopicService(Protocol):
    """The interface for operations on topics.

    Every method raises KafkaException, AdminOperationError, ToolError, ZkError or OSError.
    """

    where: str
    """Where the topics are, for messages, such as `ZK path localhost:2181`."""

    def created(self, topic: str) -> str:
        """Return the tool's message about a created topic.

        A topic created through ZooKeeper gets the message of Kafka 2.0, and one created through
        brokers the message of 2.8.
        """
        ...

    async def topics(self) -> list[str]: ...

    async def live_brokers(self) -> set[int]: ...

    async def is_marked_for_deletion(self, topic: str) -> bool: ...

    async def describe(self, topic: str) -> TopicDescription | None: ...

    async def configs(self, topic: str) -> dict[str, str]: ...

    async def change_config(self, topic: str, configs: Mapping[str, str]) -> None: ...

    async def create(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        rack_aware: bool,
        again: bool,
    ) -> bool:
        """Create a topic. Return whether it was created.

        With `again`, a topic that already exists is no error.
        """
        ...

    async def create_assigned(
        self,
        topic: str,
        assignment: Mapping[int, Sequence[int]],
        configs: Mapping[str, str],
        *,
        again: bool,
    ) -> bool: ...

    async def add_partitions(self, topic: str, partitions: int, assignment: str) -> None:
        """Add partitions to a topic, so that it has `partitions` in total.

        `assignment` has the form of --replica-assignment. It is empty, or lists the brokers of all
        partitions, including the existing partitions.
        """
        ...

    async def delete(self, topic: str) -> list[str]:
        """Request the deletion of a topic. Return the lines to print."""
        ...


class ZooKeeperTopicService:
    """Reads and writes Kafka's znodes. It needs no running broker."""

    def __init__(self, zk: KafkaZkClient, connect: str) -> None:
        self._zk = zk
        self._admin = AdminZkClient(zk, SystemRandom())
        self.where = f"ZK path {connect}"

    def created(self, topic: str) -> str:
        return f'Created topic "{topic}".'

    async def topics(self) -> list[str]:
        return sorted(await self._zk.get_all_topics_in_cluster())

    async def live_brokers(self) -> set[int]:
        return set(await self._zk.get_broker_ids())

    async def is_marked_for_deletion(self, topic: str) -> bool:
        return topic in await self._zk.get_topic_deletions()

    async def describe(self, topic: str) -> TopicDescription | None:
        assignment = (await self._zk.get_assignment_for_topics([topic])).get(topic)
        if assignment is None:
            return None
        states = await self._zk.get_topic_partition_states(
            [TopicPartition(topic, number) for number in assignment.partitions]
        )
        partitions = []
        for number, assigned in sorted(assignment.partitions.items()):
            state = states.get(TopicPartition(topic, number))
            leader = state.leader_and_isr.leader if state else None
            partitions.append(
                PartitionDescription(
                    number, leader, assigned.replicas, state.leader_and_isr.isr if state else ()
                )
            )
        return TopicDescription(await self.configs(topic), partitions)

    async def configs(self, topic: str) -> dict[str, str]:
        return await self._zk.get_entity_configs("topics", topic)

    async def change_config(self, topic: str, configs: Mapping[str, str]) -> None:
        await self._admin.change_topic_config(topic, configs)

    async def create(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        rack_aware: bool,
        again: bool,
    ) -> bool:
        mode = RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED
        return await _created(
            self._admin.create_topic(topic, partitions, replication_factor, configs, mode), again
        )

    async def create_assigned(
        self,
        topic: str,
        assignment: Mapping[int, Sequence[int]],
        configs: Mapping[str, str],
        *,
        again: bool,
    ) -> bool:
        return await _created(
            self._admin.create_topic_with_assignment(topic, assignment, configs), again
        )

    async def add_partitions(self, topic: str, partitions: int, assignment: str) -> None:
        known = (await self._zk.get_assignment_for_topics([topic])).get(topic)
        assigned = parse_added(assignment, len(known.partitions)) if assignment and known else None
        await self._admin.add_partitions(topic, partitions, assigned)

    async def delete(self, topic: str) -> list[str]:
        if is_internal(topic):
            raise AdminOperationError(
                f"Topic {topic} is a kafka internal topic and is not allowed to be marked for"
                " deletion."
            )
        try:
            await self._zk.create_delete_topic_path(topic)
        except ZkError as error:
            if error.code is ZkErrorCode.NODE_EXISTS:
                return [f"Topic {topic} is already marked for deletion."]
            raise AdminOperationError(f"Error while deleting topic {topic}") from error
        return [
            f"Topic {topic} is marked for deletion.",
            "Note: This will have no impact if delete.topic.enable is not set to true.",
        ]


async def _created(creation: Awaitable[None], again: bool) -> bool:
    """Return whether the topic was created. With `again`, an existing topic is not an error."""
    try:
        await creation
    except KafkaException as refused:
        if again and refused.error is Errors.TOPIC_ALREADY_EXISTS:
            return False
        raise
    return True


def parse_added(assignment: str, known: int) -> dict[int, list[int]]:
    """Return the brokers of each added partition. `known` is the number of existing partitions.

    Raises ToolError.
    """
    try:
        return {
            known + index: [int(part) for part in text.split(":")]
            for index, text in enumerate(assignment.split(",")[known:])
        }
    except ValueError as error:
        raise ToolError("java.lang.NumberFormatException", str(error)) from None


@contextlib.asynccontextmanager
async def zookeeper_topic_service(connect: str) -> AsyncIterator[TopicService]:
    """Connect to ZooKeeper. `connect` is host:port[,host:port…][/chroot]."""
    async with zookeeper(connect) as zk:
        yield ZooKeeperTopicService(zk, connect)


class TopicsByBrokers:
    """Sends requests to the brokers. Its checks and messages are those of the tool of Kafka 2.8."""

    where = "the cluster"

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def created(self, topic: str) -> str:
        return f"Created topic {topic}."

    async def topics(self) -> list[str]:
        return sorted(await self._admin.list_topics(list_internal=True))

    async def live_brokers(self) -> set[int]:
        return {node.id for node in (await self._admin.describe_cluster()).nodes}

    async def is_marked_for_deletion(self, topic: str) -> bool:
        return False  # the brokers do not report it

    async def describe(self, topic: str) -> TopicDescription | None:
        found = (await self._admin.describe_topics([topic])).existing().get(topic)
        if found is None:
            return None
        partitions = [
            PartitionDescription(
                each.partition,
                None if each.leader is None else each.leader.id,
                [node.id for node in each.replicas],
                [node.id for node in each.isr],
            )
            for each in found.partitions
        ]
        return TopicDescription(await self.configs(topic), partitions)

    async def configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        configs = (await self._admin.describe_configs([resource]))[resource]
        return {
            name: config.value or ""
            for name, config in configs.items()
            if config.source is ConfigSource.TOPIC
        }

    async def change_config(self, topic: str, configs: Mapping[str, str]) -> None:
        raise UsageError(
            'Option combination "[bootstrap-server],[config]" can\'t be used with option "[alter]"'
        )

    async def create(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        rack_aware: bool,
        again: bool,
    ) -> bool:
        if not rack_aware:
            raise illegal_argument("--disable-rack-aware goes with --zookeeper only")
        new = NewTopic(topic, partitions, replication_factor, configs=configs)
        return await _created(self._create(new), again)

    async def create_assigned(
        self,
        topic: str,
        assignment: Mapping[int, Sequence[int]],
        configs: Mapping[str, str],
        *,
        again: bool,
    ) -> bool:
        new = NewTopic(topic, assignments=assignment, configs=configs)
        return await _created(self._create(new), again)

    async def _create(self, topic: NewTopic) -> None:
        (await self._admin.create_topics([topic])).all()

    async def add_partitions(self, topic: str, partitions: int, assignment: str) -> None:
        added = None
        if assignment:
            known = len((await self._admin.describe_topics([topic]))[topic].partitions)
            added = list(parse_added(assignment, known).values())
        (await self._admin.create_partitions({topic: NewPartitions(partitions, added)})).all()

    async def delete(self, topic: str) -> list[str]:
        (await self._admin.delete_topics([topic])).all()
        return []


@contextlib.asynccontextmanager
async def broker_topic_service(servers: str) -> AsyncIterator[TopicService]:
    """Connect to the brokers. `servers` is host:port[,host:port…]."""
    async with open_admin(servers, {}) as admin:
        yield TopicsByBrokers(admin)
