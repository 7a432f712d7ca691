"""No key is silently without effect: the broker reads every key that works, and reads no key that
is marked as without effect.
"""

import sys
from types import FrameType
from typing import Any

import pytest

from kafka_edu.common.config_def import ConfigDef, ConfigValue, ConfigValues, Effect
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from tests.unit.server.key_readers import (
    KAFKA_CONFIG,
    LOG_CONFIG,
    OF_THE_CONFIGURATION,
    keys_read,
    log_config_attributes,
    unread_fields,
)

READS = {Effect.WORKS}


def said_to_work(keys: ConfigDef) -> set[str]:
    return {key.name for key in keys if key.effect in READS}


@pytest.mark.source
def test_each_key_of_the_broker_that_works_is_read_and_no_other() -> None:
    broker, _ = keys_read()
    works = said_to_work(CONFIG_DEF)
    assert works - broker == set(), (
        "said to work, but nothing reads them: give them a gap (config_gaps), or an effect"
    )
    assert broker - works == set(), (
        "said to have no effect, but something reads them: take them out of config_gaps"
    )


def test_each_key_of_a_topic_that_works_is_read_and_no_other() -> None:
    _, topic = keys_read()
    works = said_to_work(TOPIC_CONFIG)
    assert works - topic == set()
    assert topic - works == set()


def test_no_setting_is_handed_on_and_then_forgotten() -> None:
    assert unread_fields() == set()


class Recorder:
    """Notes the keys whose values are read while brokers start, serve, are altered and stop. Reads
    that only check or describe a value do not count.
    """

    #: The configuration's own modules. They check and describe, which does not count as use.
    CHECKS = frozenset(
        {
            "__init__",
            "_check",
            "_connection_limits",
            "_control_plane_listener_name",
            "_inter_broker_listener_name",
            "_made",
            "_of",
            "_parse_advertised",
            "_parse_listeners",
            "_reconfigure",
            "_refuse",
            "_topic_entry",
            "broker_entries",
            "topic_defaults",
            "topic_entries",
            "validate",
        }
    )
    MODULES = frozenset(str(path) for path in OF_THE_CONFIGURATION)

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker: set[str] = set()
        self.topic: set[str] = set()
        plain_item, plain_attribute = ConfigValues.__getitem__, LogConfig.__getattribute__
        of_log = log_config_attributes()

        def read_item(values: ConfigValues, key: str) -> ConfigValue:
            if "zookeeper.connect" in values and not self._checks(sys._getframe(1)):
                self.broker.add(key)
            return plain_item(values, key)

        def read_attribute(config: LogConfig, name: str) -> Any:
            if name in of_log and not self._checks(sys._getframe(1)):
                self.topic.add(of_log[name])
            return plain_attribute(config, name)

        monkeypatch.setattr(ConfigValues, "__getitem__", read_item)
        monkeypatch.setattr(LogConfig, "__getattribute__", read_attribute)

    def _checks(self, frame: FrameType | None) -> bool:
        """Return whether the value is read only to check or describe it.

        The method looks at the calling functions from the read outwards, up to the first one
        outside the configuration's modules.
        """
        while frame is not None and frame.f_code.co_filename in self.MODULES | {"<string>"}:
            if frame.f_code.co_name in self.CHECKS:
                return True
            frame = frame.f_back
        return False


def live(cluster: SimCluster) -> None:
    """Use a cluster in many ways: topics, records, the groups' topic, altered settings, a killed
    broker, and a broker that stops.
    """
    cluster.start_all()
    client = SimClient(cluster)

    def run(work: Any) -> Any:
        return cluster.run_as(client.process, work)

    assert run(client.create_topic("t", 2, 3)) is Errors.NONE
    cluster.advance(2000)
    for number in range(20):
        client.produce(TopicPartition("t", number % 2), f"value {number}", acks=-1)
        cluster.advance(500)

    async def alter(kind: int, name: str, **configs: str) -> None:
        connection = NetworkClient(cluster.network.transport(), "admin")
        await connection.connect("127.0.0.1", cluster.port(2), 1000)
        given = [
            AlterableConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=given)
        await connection.ask(
            AlterConfigsRequest(resources=[resource]), 1, AlterConfigsResponse, 30_000
        )
        connection.close()

    run(alter(2, "t", segment_ms="1000", retention_ms="2000"))
    run(alter(4, "", num_io_threads="4", max_connections="100"))
    cluster.advance(60_000)
    cluster.kill(3)
    cluster.advance(20_000)
    cluster.stop(2)
    cluster.close()


@pytest.fixture(scope="module")
def recorded() -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:
        recorder = Recorder(monkeypatch)
        live(SimCluster(5, properties={"num.network.threads": "2", "delete.topic.enable": "true"}))
    return recorder


def test_what_a_living_broker_reads_is_known_to_the_search_of_the_source(
    recorded: Recorder,
) -> None:
    """So the search in the source misses no key that is really read, and no key that is marked as
    without effect is read.
    """
    broker, topic = keys_read()
    assert recorded.broker - broker == set()
    assert recorded.topic - topic == set()
    assert {name for name in recorded.broker if CONFIG_DEF.keys[name].effect not in READS} == set()
    assert {name for name in recorded.topic if TOPIC_CONFIG.keys[name].effect not in READS} == set()


def test_a_living_broker_reads_most_of_what_works(recorded: Recorder) -> None:
    """The recorder records, so the test above is not empty."""
    assert len(recorded.broker) > 60
    assert {
        "num.io.threads",
        "replica.lag.time.max.ms",
        "offsets.topic.num.partitions",
        "zookeeper.session.timeout.ms",
    } <= recorded.broker
    assert {"retention.ms", "segment.ms", "min.insync.replicas", "segment.bytes"} <= recorded.topic
    assert {KAFKA_CONFIG, LOG_CONFIG} <= OF_THE_CONFIGURATION
