"""The tool `topics` with --bootstrap-server: what it sends to the controller, what it refuses."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_edu.clients.admin.topic_service import BrokerTopicService
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_edu.protocol.messages.create_topics import CreateTopicsRequest
from kafka_edu.tools.options import UsageError
from kafka_edu.tools.tool import ToolError
from kafka_edu.tools.topic_service import TopicsByBrokers


class FakeBrokers:
    """Stands for the connections: one topic of two partitions, and a controller with one answer."""

    def __init__(self, error: Errors = Errors.NONE) -> None:
        self.sent: list[Any] = []
        result = SimpleNamespace(error_code=int(error), error_message="no")
        self.answer = SimpleNamespace(topics=[result], results=[result], responses=[result])

    async def metadata(self, names: object) -> object:
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[None, None])])

    async def ask_controller(self, request: object, *_: object, **__: object) -> object:
        self.sent.append(request)
        return self.answer


def service_of(brokers: Any) -> TopicsByBrokers:
    return TopicsByBrokers(BrokerTopicService(brokers))


def test_only_the_new_partitions_of_an_assignment_are_sent() -> None:
    brokers = FakeBrokers()
    asyncio.run(service_of(brokers).add_partitions("t", 4, "0:1,1:0,0:1,1:2"))
    asyncio.run(service_of(brokers).add_partitions("t", 5, ""))
    by_hand, by_controller = brokers.sent
    assert isinstance(by_hand, CreatePartitionsRequest)
    assert [a.broker_ids for a in by_hand.topics[0].assignments or ()] == [[0, 1], [1, 2]]
    assert by_hand.topics[0].count == 4
    assert by_controller.topics[0].assignments is None


def test_an_assignment_that_is_no_number_has_javas_name_and_is_not_sent() -> None:
    brokers = FakeBrokers()
    with pytest.raises(ToolError) as refused:
        asyncio.run(service_of(brokers).add_partitions("t", 3, "0,0,x"))
    assert refused.value.java_class == "java.lang.NumberFormatException"
    assert brokers.sent == []


def test_an_existing_topic_is_an_error_unless_it_may_exist() -> None:
    service = service_of(FakeBrokers(Errors.TOPIC_ALREADY_EXISTS))
    assert not asyncio.run(service.create("t", 1, 1, {}, rack_aware=True, again=True))
    assert not asyncio.run(service.create_assigned("t", {0: [1]}, {}, again=True))
    with pytest.raises(KafkaException, match="no"):
        asyncio.run(service.create("t", 1, 1, {}, rack_aware=True, again=False))


def test_a_topic_is_created_with_its_size_or_its_assignment() -> None:
    brokers = FakeBrokers()
    service = service_of(brokers)
    assert asyncio.run(service.create("t", 3, 2, {"a": "b"}, rack_aware=True, again=False))
    assert asyncio.run(service.create_assigned("t", {0: [1, 2]}, {}, again=False))
    sized, assigned = brokers.sent
    assert isinstance(sized, CreateTopicsRequest)
    topic = sized.topics[0]
    assert (topic.num_partitions, topic.replication_factor) == (3, 2)
    assert [(config.name, config.value) for config in topic.configs] == [("a", "b")]
    assert assigned.topics[0].assignments[0].broker_ids == [1, 2]
    assert assigned.topics[0].num_partitions == -1
    assert asyncio.run(service.delete("t")) == []


def test_the_tool_refuses_what_only_zookeeper_can_do() -> None:
    brokers = FakeBrokers()
    service = service_of(brokers)
    with pytest.raises(UsageError, match="can't be used with option"):
        asyncio.run(service.change_config("t", {}))
    with pytest.raises(ToolError, match="goes with --zookeeper only"):
        asyncio.run(service.create("t", 1, 1, {}, rack_aware=False, again=False))
    assert brokers.sent == []
