"""Messages about settings that are unknown, that have no effect, or that ask for a protection which
is missing here.
"""

import pytest

from kafka_edu.common.config_def import ConfigException, Effect
from kafka_edu.server.config.config_gaps import BROKER_GAPS
from kafka_edu.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafka_edu.server.config.kafka_config import ConfigFileError, Setting, make_config
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.server.config.settings_check import check_settings

PROTECTION = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "zookeeper.set.acl": "true",
    "zookeeper.ssl.client.enable": "true",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required;",
    "ssl.keystore.location": "/etc/kafka/keystore.jks",
    "ssl.client.auth": "required",
    "listener.name.plaintext.ssl.client.auth": "required",
    "delegation.token.master.key": "a secret",
    "connections.max.reauth.ms": "3600000",
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": "false",
    "create.topic.policy.class.name": "com.example.Policy",
    "security.inter.broker.protocol": "SASL_SSL",
    "listeners": "SASL_PLAINTEXT://127.0.0.1:9092",
}


def make(**settings):
    given = {"zookeeper.connect": "h:1", **settings}
    return make_config({key: Setting(value, f"here, {key}") for key, value in given.items()})


@pytest.mark.parametrize("key", PROTECTION)
def test_protection_that_is_missing_refuses_the_start_and_says_what_to_do(key):
    with pytest.raises(ConfigFileError) as refused:
        make(**{key: PROTECTION[key]})
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"here, {key}: ")
    assert "The broker does not start" in line
    assert "Apache Kafka" in line
    assert "a secret" not in line


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authorizer.class.name", ""),
        ("zookeeper.set.acl", "false"),
        ("ssl.client.auth", "none"),
        ("sasl.enabled.mechanisms", ""),
    ],
)
def test_a_value_that_asks_for_no_protection_is_taken_without_a_word(key, value):
    assert make(**{key: value})[1] == []


def test_each_key_without_effect_is_named_once_with_its_place_and_the_reason():
    settings = {
        "log.cleaner.io.buffer.size": "1000000",
        "log.preallocate": "true",
        "quota.window.num": "11",
        "num.partitions": "3",
    }
    assert make(**settings)[1] == [
        (
            "here, log.cleaner.io.buffer.size: log.cleaner.io.buffer.size=1000000 has no effect"
            " yet, because the cleaner reads a batch at a time"
        ),
        (
            "here, log.preallocate: log.preallocate=true has no effect yet, because segments grow"
            " as they are written"
        ),
        (
            "here, quota.window.num: quota.window.num=11 has no effect yet, because quotas are"
            " stored but not enforced"
        ),
    ]


def test_a_policy_with_compact_works():
    assert make(**{"log.cleanup.policy": "compact,delete"})[1] == []


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("num.partition", "num.partitions"),
        ("min.insync.replica", "min.insync.replicas"),
        ("log.retention.hour", "log.retention.hours"),
        ("xyz", ""),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_right_one(key, nearest):
    (finding,) = check_settings({key: "1"})
    assert finding.key == key
    assert finding.text == f"{key} is not a known key, so it is ignored" + (
        f"; did you mean {nearest}?" if nearest else ""
    )


def test_a_key_for_one_listener_is_named_unless_it_works():
    assert check_settings({"listener.name.inside.max.connections": "5"}) == []
    (finding,) = check_settings({"listener.name.inside.num.network.threads": "5"})
    assert "num.network.threads cannot be set for one listener alone" in finding.text


def test_a_password_without_effect_is_not_shown():
    (finding,) = check_settings({"password.encoder.secret": "hush"})
    assert "hush" not in finding.text


def test_each_refused_key_refuses_with_any_value_that_is_not_harmless():
    for name, gap in BROKER_GAPS.items():
        if gap.effect is Effect.REFUSED:
            key = CONFIG_DEF.keys[name]
            text = {"boolean": "true", "int": "5", "long": "5"}.get(key.type.value, "required")
            (finding,) = check_settings({name: text})
            assert finding.refuses, name


def test_protection_cannot_be_asked_for_while_the_broker_runs_either():
    dynamic = DynamicBrokerConfig(make()[0])
    for key in (
        "listener.name.plaintext.ssl.keystore.location",
        "super.users",
        "ssl.keystore.location",
    ):
        with pytest.raises(ConfigException):
            dynamic.validate({key: "/etc/keystore"}, per_broker=True)


def test_dynamic_settings_that_do_nothing_are_named_in_the_log_once(caplog):
    dynamic = DynamicBrokerConfig(make()[0])
    for _ in range(2):
        dynamic.update_broker(
            {"no.such.key": "1", "log.cleaner.io.buffer.size": "2", "num.io.threads": "4"}
        )
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "dynamic configuration: no.such.key is not a known key, so it is ignored",
        (
            "dynamic configuration: log.cleaner.io.buffer.size=2 has no effect yet, because the"
            " cleaner reads a batch at a time"
        ),
    ]


def test_a_key_that_only_a_running_broker_has_is_no_key_of_a_file():
    warnings = make(**{"leader.replication.throttled.rate": "5"})[1]
    assert len(warnings) == 1
    assert "leader.replication.throttled.rate has no effect before the start" in warnings[0]
