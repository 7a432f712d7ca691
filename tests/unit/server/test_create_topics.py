import asyncio
from random import Random

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.server.admin.admin_manager import AdminManager, TopicDefaults, internal_topics
from kafka_edu.server.admin.config_helper import ConfigHelper
from kafka_edu.server.apis.create_topics import CreateTopicsApi
from kafka_edu.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafka_edu.server.config.kafka_config import Setting, make_config
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode


class FakeZk:
    def __init__(self):
        self.topics = {}
        self.configs = {}

    async def get_all_topics_in_cluster(self):
        return sorted(self.topics)

    async def set_or_create_entity_configs(self, entity_type, name, config):
        assert entity_type == "topics"
        self.configs[name] = dict(config)

    async def create_topic_assignment(self, topic, assignment):
        if topic in self.topics:
            raise ZkError(ZkErrorCode.NODE_EXISTS, topic)
        self.topics[topic] = {number: a.replicas for number, a in assignment.partitions.items()}


class World:
    def __init__(self, harness):
        self.zk = FakeZk()
        self.is_controller = True
        self.purgatory = DelayedOperationPurgatory("Topic", harness.time.hi_res_clock_ms)
        config, _ = make_config(
            {
                "zookeeper.connect": Setting("z:1", "here"),
                "log.segment.bytes": Setting("1000", "here"),
            }
        )
        internal = internal_topics((50, 3, 100), (50, 3, 100), 2)
        self.admin = AdminManager(
            self.zk,
            harness.cache,
            ConfigHelper(DynamicBrokerConfig(config)),
            self.purgatory,
            Random(1),
            harness.trace,
            defaults=TopicDefaults(4, 2, internal),
            with_topic_ids=True,
        )
        CreateTopicsApi(self.admin, lambda: self.is_controller).register(harness.apis)
        harness.learn({1: 1, 2: 2, 3: 3}, {})


@pytest.fixture
def world(harness):
    return World(harness)


def topic(name, partitions=1, replicas=1, assignments=None, configs=None):
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=n, broker_ids=ids)
            for n, ids in (assignments or {}).items()
        ],
        configs=[
            CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )


def request(*topics, timeout_ms=0, validate_only=False):
    return CreateTopicsRequest(
        topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )


def codes(response):
    return {t.name: Errors(t.error_code) for t in response.topics}


@pytest.mark.parametrize("version", range(8))
def test_waits_until_all_partitions_have_leaders(harness, world, version):
    asked = request(topic("web", 2, 3), timeout_ms=1000)
    connection = harness.send(asked, version)
    assert connection.answers == []
    assert [len(replicas) for replicas in world.zk.topics["web"].values()] == [3, 3]
    harness.learn({1: 1, 2: 2, 3: 3}, {("web", 0): (1, [1, 2, 3])})
    world.admin.try_complete_delayed_topic_operations(["web"])
    assert connection.answers == []
    harness.learn({1: 1, 2: 2, 3: 3}, {("web", 1): (2, [2, 1, 3])})
    world.admin.try_complete_delayed_topic_operations(["web"])
    (result,) = harness.read(connection, asked, version).topics
    assert (result.name, result.error_code) == ("web", Errors.NONE)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 3)
    if version >= 7:
        assert result.topic_id.version == 4
    (event,) = harness.events("TopicCreated")
    assert event[0] == "web"


def test_time_out_names_who_is_late_and_the_topic_exists(harness, world):
    asked = request(topic("fast"), topic("slow"), timeout_ms=500)
    connection = harness.send(asked, 5)
    harness.learn({1: 1}, {("fast", 0): (1, [1])})
    world.admin.try_complete_delayed_topic_operations(["fast"])
    (waiting,) = world.purgatory.waiting()
    assert [(r.subject, r.at_least, r.have) for r in waiting.why_waiting()] == [("slow", 1, 0)]
    harness.time.advance(600)
    world.purgatory.advance_clock(harness.time.hi_res_clock_ms())
    assert codes(harness.read(connection, asked, 5)) == {
        "fast": Errors.NONE,
        "slow": Errors.REQUEST_TIMED_OUT,
    }
    assert sorted(world.zk.topics) == ["fast", "slow"]


def test_time_out_0_is_a_time_out_and_the_topic_exists(harness, world):
    assert codes(harness.ask(request(topic("web")), 4)) == {"web": Errors.REQUEST_TIMED_OUT}
    assert "web" in world.zk.topics


def test_validate_only_creates_nothing(harness, world):
    response = harness.ask(request(topic("web", 3, 2), validate_only=True), 5)
    assert codes(response) == {"web": Errors.NONE}
    assert (response.topics[0].num_partitions, response.topics[0].replication_factor) == (3, 2)
    assert world.zk.topics == {}


def test_defaults_and_where_configs_come_from(harness, world):
    (result,) = harness.ask(
        request(topic("web", -1, -1, configs={"retention.ms": "5"}), validate_only=True), 5
    ).topics
    assert (result.num_partitions, result.replication_factor) == (4, 2)
    told = {c.name: (c.value, c.config_source) for c in result.configs}
    assert told["retention.ms"] == ("5", 1)
    assert told["segment.bytes"] == ("1000", 4)
    assert told["cleanup.policy"] == ("delete", 5)


def test_configs_are_written_before_the_topic(harness, world):
    harness.ask(request(topic("web", configs={"cleanup.policy": "compact,delete"})), 4)
    assert world.zk.configs == {"web": {"cleanup.policy": "compact,delete"}}


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (topic("a b"), Errors.INVALID_TOPIC_EXCEPTION),
        (topic(""), Errors.INVALID_TOPIC_EXCEPTION),
        (topic(".."), Errors.INVALID_TOPIC_EXCEPTION),
        (topic("x" * 250), Errors.INVALID_TOPIC_EXCEPTION),
        (topic("there_is"), Errors.INVALID_TOPIC_EXCEPTION),
        (topic("there.is"), Errors.TOPIC_ALREADY_EXISTS),
        (topic("known"), Errors.TOPIC_ALREADY_EXISTS),
        (topic("t", 0), Errors.INVALID_PARTITIONS),
        (topic("t", -2), Errors.INVALID_PARTITIONS),
        (topic("t", 1, 4), Errors.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 0), Errors.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 1, {0: [1]}), Errors.INVALID_REQUEST),
        (topic("t", -1, -1, {0: [1, 1]}), Errors.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, {0: [1], 1: [1, 2]}), Errors.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, {1: [1]}), Errors.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, {0: [77]}), Errors.NONE),
        (topic("t", -1, -1, {0: [3], 1: [1]}), Errors.NONE),
        (topic("t", configs={"retention.ms": None}), Errors.INVALID_REQUEST),
        (topic("t", configs={"retention.ms": "soon"}), Errors.INVALID_CONFIG),
        (topic("t", configs={"nonsense": "1"}), Errors.INVALID_CONFIG),
    ],
)
def test_what_is_refused(harness, world, asked, error):
    world.zk.topics["there.is"] = {}
    harness.learn({1: 1, 2: 2, 3: 3}, {("known", 0): (1, [1])})
    response = harness.ask(request(asked, validate_only=True), 5)
    assert codes(response) == {asked.name: error}
    assert (response.topics[0].error_message is None) == (error is Errors.NONE)


def test_one_topics_error_leaves_the_others_alone(harness, world):
    asked = request(topic("good"), topic("b d"), topic("twice"), topic("twice"))
    assert codes(harness.ask(asked, 4)) == {
        "good": Errors.REQUEST_TIMED_OUT,
        "b d": Errors.INVALID_TOPIC_EXCEPTION,
        "twice": Errors.INVALID_REQUEST,
    }
    assert list(world.zk.topics) == ["good"]


def test_only_the_controller_creates(harness, world):
    world.is_controller = False
    assert codes(harness.ask(request(topic("web")), 4)) == {"web": Errors.NOT_CONTROLLER}
    assert world.zk.topics == {}


def test_automatic_creation(harness, world):
    def create(name):
        return asyncio.run(world.admin.create_automatically(name))

    assert create("new") is Errors.LEADER_NOT_AVAILABLE
    assert len(world.zk.topics["new"]) == 4
    assert create("new") is Errors.LEADER_NOT_AVAILABLE
    assert create("n w") is Errors.INVALID_TOPIC_EXCEPTION
    assert create("__consumer_offsets") is Errors.LEADER_NOT_AVAILABLE
    assert len(world.zk.topics["__consumer_offsets"]) == 50
    assert world.zk.configs["__consumer_offsets"]["cleanup.policy"] == "compact"
    harness.learn({1: 1}, {})
    assert create("__transaction_state") is Errors.INVALID_REPLICATION_FACTOR
