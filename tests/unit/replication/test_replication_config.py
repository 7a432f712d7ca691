"""The settings of replication are those of server.properties."""

from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.server.config.part_configs import replication_config


def test_each_field_names_a_key_that_a_broker_has() -> None:
    made = replication_config(default_config(), broker_id=7)
    assert made.broker_id == 7
    assert made.replica_lag_time_max_ms == 10_000, "as Kafka 2.0 has it"
    for field in ReplicationConfig._fields:
        assert field.replace("_", ".") in CONFIG_DEF.keys, field


def test_a_changed_key_reaches_its_field() -> None:
    config = default_config(
        {"replica.fetch.wait.max.ms": "77", "inter.broker.protocol.version": "2.0"}
    )
    made = replication_config(config, broker_id=0)
    assert made.replica_fetch_wait_max_ms == 77
    assert made.inter_broker_protocol_version == (2, 0)
