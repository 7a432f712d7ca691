import asyncio

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_config import LogConfig
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.replication.controller_orders import StoppedReplicas
from kafka_edu.server.apis.inter_broker import InterBrokerApi
from kafka_edu.server.config.topic_configs import TopicConfigs


class World:
    def __init__(self, harness):
        self.done = []
        self.deleted = []
        self.forgotten = []
        self.overrides = {}
        self.updated = []
        self.remaining = []
        self.logs_wanted = []
        self.refused = {}
        self.broker_epoch = 100
        self.epochs_written = 0
        self.configs = TopicConfigs(LogConfig.parse({}), self.fetch)
        self.api = InterBrokerApi(
            self,
            self,
            harness.cache,
            self.controlled_shutdown,
            lambda: self.broker_epoch,
            self.configs,
            self.updated.extend,
            self.forgotten.extend,
            asyncio.Lock(),
            harness.time,
        )
        self.api.register(harness.apis)

    async def fetch(self, topics):
        self.done.append(("configs", tuple(topics)))
        return {topic: self.overrides.get(topic, {}) for topic in topics}

    async def controlled_shutdown(self, broker_id, broker_epoch):
        if broker_id == 9:
            raise KafkaException(Errors.BROKER_NOT_AVAILABLE)
        self.done.append((broker_id, broker_epoch))
        return self.remaining

    # The part of ControllerOrders and of the log manager.
    def new_logs(self, request):
        return self.logs_wanted

    async def create_logs(self, wanted):
        for new in wanted:
            self.done.append(("log", new))
            await asyncio.sleep(0)
        return self.refused

    def logs_refused(self, failures):
        assert failures is self.refused

    def become_leader_or_follower(self, request, version):
        yield
        self.done.append(("lead", version))
        return LeaderAndIsrResponse()

    def write_leader_epochs(self):
        assert self.done[-1][0] == "lead"
        self.epochs_written += 1

    def stop_replicas(self, request, version):
        yield
        self.done.append(("stop", version))
        return StoppedReplicas(Errors.NONE, {}, [TopicPartition("gone", 0)])

    async def delete_logs(self, topic_partitions):
        assert topic_partitions == [TopicPartition("gone", 0)]
        await asyncio.sleep(0)
        self.done.append(("delete", "gone"))
        return {}

    def stop_replica_response(self, stopped, failures):
        return StopReplicaResponse(error_code=stopped.error)

    def maybe_update_metadata_cache(self, request):
        if request.controller_epoch < 5:
            raise KafkaException(Errors.STALE_CONTROLLER_EPOCH)
        self.done.append(("update", request.controller_epoch))
        return self.deleted


class Answered:
    """Stands in for an ApiCall."""

    def __init__(self, version):
        self.version = version
        self.response = None

    def respond(self, response):
        self.response = response


@pytest.fixture
def world(harness):
    return World(harness)


def lead(*topics, version, broker_epoch=-1):
    def state(topic=""):
        return LeaderAndIsrPartitionState(
            topic_name=topic,
            partition_index=0,
            controller_epoch=5,
            leader=1,
            leader_epoch=0,
            isr=[1],
            zk_version=0,
            replicas=[1],
        )

    request = LeaderAndIsrRequest(controller_id=1, controller_epoch=5, broker_epoch=broker_epoch)
    if version < 2:
        request.ungrouped_partition_states = [state(topic) for topic in topics]
    else:
        request.topic_states = [
            LeaderAndIsrTopicState(topic_name=topic, partition_states=[state()]) for topic in topics
        ]
    return request


@pytest.mark.parametrize("version", range(6))
def test_configs_of_new_topics_are_fetched_before_their_logs_are_made(harness, world, version):
    world.overrides = {"a": {"segment.bytes": "77"}}
    assert harness.ask(lead("a", "b", version=version), version).error_code == Errors.NONE
    assert world.done == [("configs", ("a", "b")), ("lead", version)]
    assert (world.configs.of("a").segment_bytes, world.configs.of("b").segment_bytes) == (
        77,
        1 << 30,
    )
    harness.ask(lead("a", version=version), version)
    assert world.done[2:] == [("lead", version)]


def test_a_stop_replica_waits_until_new_logs_are_made_and_roles_are_taken(harness, world):
    """A controller sends its requests over one connection. So only the StopReplica of a new
    controller can come while a LeaderAndIsr is handled. It waits for its turn.
    """
    harness.ask(lead("a", version=5), 5)  # the topic's configs are there now
    world.done.clear()
    world.logs_wanted = ["log 0", "log 1"]

    async def both():
        leading = asyncio.create_task(
            world.api.handle_leader_and_isr(Answered(5), lead("a", version=5))
        )
        await asyncio.sleep(0)
        assert world.done == [("log", "log 0")], "a worker makes them, and others are served"
        stop = StopReplicaRequest(controller_id=2, controller_epoch=6, broker_epoch=-1)
        await asyncio.gather(leading, world.api.handle_stop_replica(Answered(1), stop))

    asyncio.run(both())
    assert world.done == [
        ("log", "log 0"),
        ("log", "log 1"),
        ("lead", 5),
        ("stop", 1),
        ("delete", "gone"),
    ]
    assert world.epochs_written == 2


def test_roles_of_another_request_wait_while_a_log_is_deleted(harness, world):
    harness.ask(lead("a", version=5), 5)  # the topic's configs are there now
    world.done.clear()

    async def both():
        stop = StopReplicaRequest(controller_id=1, controller_epoch=5, broker_epoch=-1)
        first = asyncio.create_task(world.api.handle_stop_replica(Answered(1), stop))
        await asyncio.sleep(0)
        second = world.api.handle_leader_and_isr(Answered(4), lead("a", version=4))
        await asyncio.gather(first, second)

    asyncio.run(both())
    assert [name for name, _ in world.done] == ["stop", "delete", "lead"], (
        "a new log of that name needs the folder's name"
    )


def test_who_was_born_again_while_logs_were_made_takes_no_role_of_the_earlier_life(harness, world):
    world.logs_wanted = ["log 0", "log 1"]

    async def born_again():
        work = asyncio.create_task(
            world.api.handle_leader_and_isr(Answered(5), lead("a", version=5, broker_epoch=100))
        )
        while ("log", "log 0") not in world.done:
            await asyncio.sleep(0)
        world.broker_epoch = 101
        await work

    with pytest.raises(KafkaException, match="epoch"):
        asyncio.run(born_again())
    assert ("lead", 5) not in world.done


def test_behind_every_leader_and_isr_the_files_of_new_epochs_are_written(harness, world):
    harness.ask(lead("a", version=5), 5)
    harness.ask(lead("a", version=5), 5)
    assert [name for name, *_ in world.done] == ["configs", "lead", "lead"]
    assert world.epochs_written == 2


def test_a_request_for_an_earlier_life_of_this_broker_is_refused(harness, world):
    assert (
        harness.ask(lead("a", version=2, broker_epoch=99), 2).error_code
        == Errors.STALE_BROKER_EPOCH
    )
    assert (
        harness.ask(
            StopReplicaRequest(controller_id=1, controller_epoch=5, broker_epoch=99), 1
        ).error_code
        == Errors.STALE_BROKER_EPOCH
    )
    assert (
        harness.ask(
            UpdateMetadataRequest(controller_id=1, controller_epoch=5, broker_epoch=99), 5
        ).error_code
        == Errors.STALE_BROKER_EPOCH
    )
    assert world.done == []
    for epoch in (-1, 100, 101):
        assert (
            harness.ask(
                StopReplicaRequest(controller_id=1, controller_epoch=5, broker_epoch=epoch), 1
            ).error_code
            == Errors.NONE
        )


@pytest.mark.parametrize("version", range(8))
def test_update_metadata_wakes_who_waits_for_the_topics(harness, world, version):
    state = UpdateMetadataPartitionState(
        topic_name="web",
        partition_index=0,
        controller_epoch=5,
        leader=1,
        leader_epoch=0,
        isr=[1],
        zk_version=0,
        replicas=[1],
    )
    request = UpdateMetadataRequest(controller_id=1, controller_epoch=5)
    if version < 5:
        request.ungrouped_partition_states = [state]
    else:
        request.topic_states = [
            UpdateMetadataTopicState(topic_name="web", partition_states=[state])
        ]
    assert harness.ask(request, version).error_code == Errors.NONE
    assert world.updated == ["web"]


def test_an_older_controller_is_refused(harness, world):
    request = UpdateMetadataRequest(controller_id=1, controller_epoch=4)
    assert harness.ask(request, 7).error_code == Errors.STALE_CONTROLLER_EPOCH
    assert world.updated == []


def test_the_configs_of_a_deleted_topic_are_forgotten(harness, world):
    harness.ask(lead("a", version=5), 5)
    world.deleted = [TopicPartition("a", 0)]
    harness.ask(UpdateMetadataRequest(controller_id=1, controller_epoch=5), 7)
    assert world.configs.missing(["a"]) == ["a"]


@pytest.mark.parametrize("version", range(4))
def test_controlled_shutdown(harness, world, version):
    world.remaining = [TopicPartition("web", 3)]
    response = harness.ask(ControlledShutdownRequest(broker_id=2, broker_epoch=44), version)
    assert response.error_code == Errors.NONE
    assert [(p.topic_name, p.partition_index) for p in response.remaining_partitions] == [
        ("web", 3)
    ]
    assert world.done == [(2, 44 if version >= 2 else -1)]
    assert (
        harness.ask(ControlledShutdownRequest(broker_id=9), version).error_code
        == Errors.BROKER_NOT_AVAILABLE
    )
