"""A changed config reaches all brokers. Three brokers run in virtual time, and the requests come
over simulated connections.
"""

from collections.abc import Iterator

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.replication.replication_quota_manager import UNLIMITED
from kafka_edu.server.config import dynamic_config_manager
from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import BrokerListenersChanged
from kafka_edu.trace.events.server import (
    BrokerConfigChanged,
    EntityConfigTaken,
    HandlerPoolResized,
    TopicConfigChanged,
)

TOPIC, BROKER = 2, 4


class World:
    def __init__(self) -> None:
        self.cluster = SimCluster(seed=3, properties={"num.network.threads": "2"})
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assert self.run(self.client.create_topic("t", 3, 3)) is Errors.NONE

    def run(self, work):
        return self.cluster.run_as(self.client.process, work)

    async def _alter(self, to: int, kind: int, name: str, configs: dict[str, str]) -> Errors:
        client = NetworkClient(self.cluster.network.transport(), "admin")
        await client.connect("127.0.0.1", self.cluster.port(to), 1000)
        resource = AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[AlterableConfig(name=key, value=value) for key, value in configs.items()],
        )
        try:
            response = await client.ask(
                AlterConfigsRequest(resources=[resource]), 1, AlterConfigsResponse, 30_000
            )
        finally:
            client.close()
        return Errors.of(response.responses[0].error_code)

    def alter(self, to: int, kind: int, name: str, **configs: str) -> Errors:
        """Alter configs. `configs` have underscores in place of dots."""
        error = self.run(
            self._alter(
                to, kind, name, {key.replace("_", "."): value for key, value in configs.items()}
            )
        )
        self.cluster.advance(1000)
        return error

    def logs(self, broker_id: int):
        manager = self.cluster.brokers[broker_id].running._log_manager
        assert manager is not None
        return list(manager.logs.values())

    def told(self, kind) -> dict[int, list]:
        told: dict[int, list] = {}
        for envelope in self.cluster.facts(kind):
            told.setdefault(envelope.broker, []).append(envelope.event)
        return told

    def write_by_hand(self, entity: str, config: dict[str, str]) -> None:
        zk = self.cluster.brokers[1].running._zk
        entity_type, _, name = entity.partition("/")
        self.run(zk.set_or_create_entity_configs(entity_type, name, config))
        self.run(zk.create_config_change_notification(entity))
        self.cluster.advance(1000)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.cluster.close()


def test_a_topics_config_reaches_the_logs_of_all_brokers(world: World) -> None:
    assert world.alter(2, TOPIC, "t", retention_ms="1234", min_insync_replicas="2") is Errors.NONE
    for broker_id in (1, 2, 3):
        assert {
            (log.config.retention_ms, log.config.min_insync_replicas)
            for log in world.logs(broker_id)
        } == {(1234, 2)}
    changes = (("min.insync.replicas", "1", "2"), ("retention.ms", "604800000", "1234"))
    assert world.told(TopicConfigChanged) == {
        broker_id: [("t", changes)] for broker_id in (1, 2, 3)
    }
    assert {
        broker_id: events[0][0] for broker_id, events in world.told(EntityConfigTaken).items()
    } == dict.fromkeys((1, 2, 3), "topics/t")


def test_all_brokers_settings_are_the_defaults_of_topics_that_do_not_say_otherwise(
    world: World,
) -> None:
    world.alter(1, TOPIC, "t", segment_bytes="5000")
    assert (
        world.alter(3, BROKER, "", log_segment_bytes="9000", log_retention_ms="77") is Errors.NONE
    )
    for broker_id in (1, 2, 3):
        assert {
            (log.config.segment_bytes, log.config.retention_ms) for log in world.logs(broker_id)
        } == {(5000, 77)}
    assert world.run(world.client.create_topic("new", 1, 3)) is Errors.NONE
    for broker_id in (1, 2, 3):
        assert {
            log.config.segment_bytes
            for log in world.logs(broker_id)
            if log.topic_partition.topic == "new"
        } == {9000}


def test_one_brokers_own_setting_counts_before_all_brokers(world: World) -> None:
    world.alter(1, BROKER, "", log_retention_ms="77")
    assert world.alter(2, BROKER, "2", log_retention_ms="88") is Errors.NONE
    assert [
        next(iter({log.config.retention_ms for log in world.logs(broker_id)}))
        for broker_id in (1, 2, 3)
    ] == [77, 88, 77]
    world.alter(2, BROKER, "2")
    assert {log.config.retention_ms for log in world.logs(2)} == {77}
    assert [changes for (changes,) in (event for event in world.told(BrokerConfigChanged)[2])][
        -1
    ] == (("log.retention.ms", "88", "77"),)


def test_handlers_and_processors_are_resized_while_they_work(world: World) -> None:
    assert world.alter(1, BROKER, "1", num_io_threads="4", num_network_threads="4") is Errors.NONE
    server = world.cluster.brokers[1].running
    assert server._apis is not None
    assert server._socket_server is not None
    assert (server._apis.handlers.size, len(server._socket_server.processors)) == (4, 4)
    assert world.told(HandlerPoolResized) == {1: [(8, 4)]}
    assert world.alter(1, BROKER, "1", num_io_threads="2", num_network_threads="2") is Errors.NONE
    assert world.alter(1, BROKER, "1", num_io_threads="4", num_network_threads="1") is Errors.NONE
    assert (server._apis.handlers.size, len(server._socket_server.processors)) == (4, 1)
    assert world.run(world.client.create_topic("still.serves", 1, 3)) is Errors.NONE


def test_more_fetchers_go_on_where_the_old_ones_were(world: World) -> None:
    tp = TopicPartition("t", 0)
    follower = next(b for b in (1, 2, 3) if world.run(world.client.leader_of(tp)) != b)
    assert world.alter(follower, BROKER, str(follower), num_replica_fetchers="2") is Errors.NONE
    answer = world.client.produce(tp, "a", -1)
    world.cluster.advance(5000)
    assert answer.acked is not None
    assert answer.acked.error is Errors.NONE
    assert {log.log_end_offset for log in world.logs(follower) if log.topic_partition == tp} == {1}


def test_a_broker_is_advertised_elsewhere_while_it_runs_and_all_hear_of_it(world: World) -> None:
    """The broker moves to an address where nobody listens, and back.

    Kafka does this in DynamicListenerConfig and updateBrokerInfo, and then in the controller's
    BrokerModifications.
    """
    metadata = world.client.metadata
    here = f"PLAINTEXT://127.0.0.1:{world.cluster.port(2)}"

    assert (
        world.alter(2, BROKER, "2", advertised_listeners="PLAINTEXT://elsewhere.example:1234")
        is Errors.NONE
    )
    world.cluster.advance(3000)
    (changed,) = world.told(BrokerListenersChanged)[1]
    assert (changed.before, changed.after) == ((here,), ("PLAINTEXT://elsewhere.example:1234",))
    hosts = {broker.node_id: broker.host for broker in world.run(metadata("t")).brokers}
    assert hosts == {1: "127.0.0.1", 2: "elsewhere.example", 3: "127.0.0.1"}
    assert world.cluster.brokers[2].running._controller.end_points == (
        "PLAINTEXT://elsewhere.example:1234",
    )
    assert world.alter(2, BROKER, "2") is Errors.NONE
    world.cluster.advance(3000)
    assert world.told(BrokerListenersChanged)[1][-1].after == (here,)
    assert {broker.host for broker in world.run(metadata("t")).brokers} == {"127.0.0.1"}
    assert world.run(world.client.create_topic("back", 1, 3)) is Errors.NONE, (
        "the controller reaches it again"
    )


def test_a_broker_stays_advertised_elsewhere_in_its_next_session_and_its_next_life(
    world: World,
) -> None:
    assert (
        world.alter(2, BROKER, "2", advertised_listeners="PLAINTEXT://elsewhere.example:1234")
        is Errors.NONE
    )
    world.cluster.zookeeper.expire(world.cluster.brokers[2].zk_client.session_id)
    world.cluster.advance(12_000)
    assert {b.host for b in world.run(world.client.metadata("t")).brokers if b.node_id == 2} == {
        "elsewhere.example"
    }
    world.cluster.kill(2)
    world.cluster.advance(12_000)
    world.cluster.start(2)
    world.cluster.advance(3000)
    assert {b.host for b in world.run(world.client.metadata("t")).brokers if b.node_id == 2} == {
        "elsewhere.example"
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "PLAINTEXT://elsewhere.example:1"),
        ("2", "OTHER://elsewhere.example:1"),
        ("2", "PLAINTEXT://0.0.0.0:1"),
        ("2", "nonsense"),
    ],
)
def test_where_a_broker_cannot_be_advertised(world: World, name: str, value: str) -> None:
    assert world.alter(2, BROKER, name, advertised_listeners=value) in (
        Errors.INVALID_REQUEST,
        Errors.INVALID_CONFIG,
    )
    assert not world.told(BrokerListenersChanged)


def test_an_address_that_was_written_by_hand_for_all_brokers_counts_for_none(world: World) -> None:
    world.write_by_hand(
        f"brokers/{DEFAULT_ENTITY}",
        {"advertised.listeners": "PLAINTEXT://elsewhere.example:1", "log.retention.ms": "77"},
    )
    world.cluster.advance(3000)
    assert {log.config.retention_ms for b in (1, 2, 3) for log in world.logs(b)} == {77}
    assert not world.told(BrokerListenersChanged)


def test_dynamic_configs_hold_after_a_restart(world: World) -> None:
    world.alter(1, BROKER, "", log_retention_ms="77")
    world.cluster.stop(2)
    world.cluster.start(2)
    world.cluster.advance(1000)
    assert world.cluster.brokers[2].running.config.values["log.retention.ms"] == 77
    assert {log.config.retention_ms for log in world.logs(2)} == {77}


def test_what_is_changed_while_a_broker_is_away_it_reads_when_it_is_back(world: World) -> None:
    world.cluster.kill(3)
    world.cluster.advance(30_000)
    world.alter(1, TOPIC, "t", retention_ms="1234")
    world.cluster.start(3)
    world.cluster.advance(5000)
    assert {log.config.retention_ms for log in world.logs(3)} == {1234}


def test_what_is_changed_while_a_session_is_lost_is_read_with_the_next(world: World) -> None:
    client = world.cluster.brokers[3].zk_client
    assert client is not None
    world.cluster.zookeeper.expire(client.session_id)
    world.alter(1, TOPIC, "t", retention_ms="1234")
    world.cluster.advance(10_000)
    assert {log.config.retention_ms for log in world.logs(3)} == {1234}
    world.alter(1, TOPIC, "t", retention_ms="4321")
    assert {log.config.retention_ms for log in world.logs(3)} == {4321}


def test_wrong_values_written_by_hand_are_left_out(world: World) -> None:
    world.write_by_hand(
        f"brokers/{DEFAULT_ENTITY}",
        {
            "log.retention.ms": "soon",
            "log.segment.bytes": "9000",
            "log.roll.ms": "-5",
            "broker.id": "9",
        },
    )
    world.write_by_hand(
        "topics/t", {"min.insync.replicas": "many", "no.such.key": "1", "retention.ms": "5"}
    )
    for broker_id in (1, 2, 3):
        assert {
            (log.config.segment_bytes, log.config.retention_ms, log.config.min_insync_replicas)
            for log in world.logs(broker_id)
        } == {(9000, 5, 1)}
        assert world.cluster.brokers[broker_id].running.broker_id == broker_id


def test_old_notifications_are_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dynamic_config_manager, "CHANGE_EXPIRATION_MS", 5000
    )  # a quarter of an hour takes long, even in virtual time
    zk = world.cluster.brokers[1].running._zk
    world.alter(1, TOPIC, "t", retention_ms="1")
    world.cluster.advance(5000)
    assert world.run(zk.get_config_change_notifications()) == ["0000000000"]
    world.alter(1, TOPIC, "t", retention_ms="2")
    assert world.run(zk.get_config_change_notifications()) == ["0000000001"]


@pytest.mark.parametrize("threads", ["17", "3", "0", "x"])
def test_thread_pools_are_at_most_halved_or_doubled(world: World, threads: str) -> None:
    assert world.alter(1, BROKER, "1", num_io_threads=threads) is Errors.INVALID_REQUEST


def test_limits_of_connections_change_while_the_broker_runs(world):
    """max.connections of all brokers, and of one broker's listener (KIP-402)."""
    server = world.cluster.brokers[2].running._socket_server
    assert (
        world.alter(
            2,
            BROKER,
            "",
            max_connections="50",
            max_connections_per_ip="40",
            max_connections_per_ip_overrides="10.0.0.1:3",
        )
        is Errors.NONE
    )
    limits = server._quotas.limits
    assert (limits.max_connections, limits.max_per_ip, limits.per_ip_overrides) == (
        50,
        40,
        {"10.0.0.1": 3},
    )
    assert world.alter(2, BROKER, "2", listener_name_plaintext_max_connections="30") is Errors.NONE
    assert server._quotas.limits.max_per_listener == {"PLAINTEXT": 30}
    assert world.cluster.brokers[1].running._socket_server._quotas.limits.max_per_listener == {}
    assert world.alter(2, BROKER, "2") is Errors.NONE
    assert server._quotas.limits.max_per_listener == {}
    assert (
        world.alter(2, BROKER, "2", listener_name_plaintext_max_connections="many")
        is Errors.INVALID_REQUEST
    )


def quota_bounds(world: World, broker_id: int) -> tuple[int, ...]:
    """Return a broker's replication quotas: as leader, as follower, and for moves between log
    dirs.
    """
    replication = world.cluster.brokers[broker_id].running.replication
    assert replication is not None
    return tuple(quota.bound for quota in replication.replicas.quotas)


def test_a_throttles_rate_counts_for_its_broker_alone_and_ends_with_the_setting(
    world: World,
) -> None:
    rates = {
        "leader_replication_throttled_rate": "5",
        "follower_replication_throttled_rate": "7",
        "replica_alter_log_dirs_io_max_bytes_per_second": "9",
    }
    assert world.alter(2, BROKER, "2", **rates) is Errors.NONE
    assert quota_bounds(world, 2) == (5, 7, 9)
    assert quota_bounds(world, 1) == 3 * (UNLIMITED,)
    assert world.alter(2, BROKER, "2") is Errors.NONE
    assert quota_bounds(world, 2) == 3 * (UNLIMITED,)


def test_a_throttles_rate_for_all_brokers_has_no_effect_and_the_log_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    assert world.alter(1, BROKER, "", leader_replication_throttled_rate="5") is Errors.NONE
    assert quota_bounds(world, 1) == 3 * (UNLIMITED,)
    assert "leader.replication.throttled.rate has no effect for all brokers at once" in caplog.text


def test_a_negative_rate_is_refused_and_one_written_by_hand_is_ignored(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    refused = world.alter(2, BROKER, "2", leader_replication_throttled_rate="-5")
    assert refused is Errors.INVALID_REQUEST
    world.write_by_hand("brokers/2", {"leader.replication.throttled.rate": "-5"})
    assert quota_bounds(world, 2) == 3 * (UNLIMITED,)
    assert (
        "Invalid value -5 for configuration leader.replication.throttled.rate: Value must be at"
        " least 0" in caplog.text
    )


def test_throttled_replicas_reach_the_brokers_that_have_them_and_go_with_the_topic(
    world: World,
) -> None:
    def throttled(broker_id: int) -> list[bool]:
        replication = world.cluster.brokers[broker_id].running.replication
        assert replication is not None
        quota = replication.replicas.quotas.follower
        return [quota.is_throttled(TopicPartition("t", number)) for number in range(3)]

    replicas = {"follower_replication_throttled_replicas": "0:1,2:1,1:2"}
    assert world.alter(1, TOPIC, "t", **replicas) is Errors.NONE
    assert throttled(1) == [True, False, True]
    assert throttled(2) == [False, True, False]
    assert throttled(3) == [False, False, False]
    replicas = {"follower_replication_throttled_replicas": "*"}
    assert world.alter(1, TOPIC, "t", **replicas) is Errors.NONE
    assert throttled(3) == [True, True, True]
    assert world.run(world.client.delete_topic("t")) is Errors.NONE
    world.cluster.advance(1000)
    assert throttled(3) == [False, False, False]
