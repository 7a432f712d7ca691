"""The tool `topics` with --bootstrap-server: what it sends to the controller, what it refuses."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kafka_edu.clients.admin.admin_call import Results, failed, results_of
from kafka_edu.clients.admin.config_calls import ConfigEntry, ConfigResource
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.admin.topic_calls import (
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPartitionInfo,
)
from kafka_edu.clients.client_errors import BrokerException, TimeoutException
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.messages.describe_configs import ConfigSource
from kafka_edu.tools.options import UsageError
from kafka_edu.tools.tool import ToolError
from kafka_edu.tools.topic_service import PartitionDescription, TopicsByBrokers

NODE = Node(1, "h", 9092)


class FakeAdmin:
    """Stands for the client: one topic of two partitions, and a controller with one answer."""

    def __init__(self, error: Errors = Errors.NONE) -> None:
        self.sent: list[Any] = []
        self.error = failed(error, "no")

    async def describe_topics(self, topics: Collection[str]) -> Results[str, TopicDescription]:
        partitions = (
            TopicPartitionInfo(0, NODE, (NODE,), (NODE,)),
            TopicPartitionInfo(1, None, (NODE,), ()),
        )
        gone = BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        late = TimeoutException("no answer")
        return results_of(
            (
                name,
                TopicDescription(name, None, False, partitions)
                if name == "t"
                else late
                if name == "late"
                else gone,
            )
            for name in topics
        )

    async def describe_configs(
        self, resources: Collection[ConfigResource]
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        def entry(name: str, source: ConfigSource) -> ConfigEntry:
            return ConfigEntry(name, "1", source, False, False, (), None)

        configs = {
            "a": entry("a", ConfigSource.TOPIC),
            "b": entry("b", ConfigSource.DEFAULT),
        }
        return results_of((resource, configs) for resource in resources)

    async def create_topics(self, topics: Collection[NewTopic]) -> Results[str, object]:
        self.sent += topics
        return results_of((topic.name, self.error) for topic in topics)

    async def create_partitions(self, new: Mapping[str, NewPartitions]) -> Results[str, object]:
        self.sent += new.values()
        return results_of((topic, self.error) for topic in new)

    async def delete_topics(self, topics: Collection[str]) -> Results[str, object]:
        self.sent += topics
        return results_of((topic, self.error) for topic in topics)


def service_of(admin: Any) -> TopicsByBrokers:
    return TopicsByBrokers(admin)


def test_a_description_has_the_topics_own_configs_and_a_partition_without_leader() -> None:
    service = service_of(FakeAdmin())
    described = asyncio.run(service.describe("t"))
    assert described is not None
    assert described.configs == {"a": "1"}
    assert described.partitions == [
        PartitionDescription(0, 1, [1], [1]),
        PartitionDescription(1, None, [1], []),
    ]
    assert asyncio.run(service.describe("gone")) is None


def test_a_topic_about_which_no_broker_answered_is_not_called_missing() -> None:
    with pytest.raises(TimeoutException, match="no answer"):
        asyncio.run(service_of(FakeAdmin()).describe("late"))


def test_only_the_new_partitions_of_an_assignment_are_sent() -> None:
    brokers = FakeAdmin()
    asyncio.run(service_of(brokers).add_partitions("t", 4, "0:1,1:0,0:1,1:2"))
    asyncio.run(service_of(brokers).add_partitions("t", 5, ""))
    by_hand, by_controller = brokers.sent
    assert by_hand == NewPartitions(4, [[0, 1], [1, 2]])
    assert by_controller == NewPartitions(5)


def test_an_assignment_that_is_no_number_has_javas_name_and_is_not_sent() -> None:
    brokers = FakeAdmin()
    with pytest.raises(ToolError) as refused:
        asyncio.run(service_of(brokers).add_partitions("t", 3, "0,0,x"))
    assert refused.value.java_class == "java.lang.NumberFormatException"
    assert brokers.sent == []


def test_an_existing_topic_is_an_error_unless_it_may_exist() -> None:
    service = service_of(FakeAdmin(Errors.TOPIC_ALREADY_EXISTS))
    assert not asyncio.run(service.create("t", 1, 1, {}, rack_aware=True, again=True))
    assert not asyncio.run(service.create_assigned("t", {0: [1]}, {}, again=True))
    with pytest.raises(KafkaException, match="no"):
        asyncio.run(service.create("t", 1, 1, {}, rack_aware=True, again=False))


def test_a_topic_is_created_with_its_size_or_its_assignment() -> None:
    brokers = FakeAdmin()
    service = service_of(brokers)
    assert asyncio.run(service.create("t", 3, 2, {"a": "b"}, rack_aware=True, again=False))
    assert asyncio.run(service.create_assigned("t", {0: [1, 2]}, {}, again=False))
    sized, assigned = brokers.sent
    assert sized == NewTopic("t", 3, 2, configs={"a": "b"})
    assert assigned == NewTopic("t", assignments={0: [1, 2]}, configs={})
    assert asyncio.run(service.delete("t")) == []


def test_the_tool_refuses_what_only_zookeeper_can_do() -> None:
    brokers = FakeAdmin()
    service = service_of(brokers)
    with pytest.raises(UsageError, match="can't be used with option"):
        asyncio.run(service.change_config("t", {}))
    with pytest.raises(ToolError, match="goes with --zookeeper only"):
        asyncio.run(service.create("t", 1, 1, {}, rack_aware=False, again=False))
    assert brokers.sent == []
