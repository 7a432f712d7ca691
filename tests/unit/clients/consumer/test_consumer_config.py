"""The settings of our consumer: each key has an effect, or is refused with one line."""

import ast
import random
import re
from pathlib import Path

import pytest

import kafka_edu.clients.consumer
from kafka_edu.clients.consumer.consumer_config import (
    ASSIGNOR_NAMES,
    CONSUMER_CONFIG,
    OBJECT_KEYS,
    REFUSED,
    ConsumerConfig,
    parse_consumer_config,
    setting_rows,
)
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.clients.consumer.consumer_core import ConsumerCore
from kafka_edu.clients.consumer.subscription_state import OffsetResetStrategy
from kafka_edu.common.config_def import ConfigException
from tests.golden.client_keys.record import KafkaClient, KafkaKey, recorded

SERVERS = {"bootstrap.servers": "a:1,b:2"}
#: Settings that are required, that name a Java class, or that take an object of the program.
OTHERWISE = {"bootstrap.servers", "partition.assignment.strategy", *OBJECT_KEYS}
ROOT = Path(__file__).parents[4]


def parsed(**settings: object) -> ConsumerConfig:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    return parse_consumer_config(SERVERS | given, 4)


def test_the_defaults_are_those_of_kafka_2_8() -> None:
    config = parsed(group_id="g")
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert config.client_id == "consumer-4"
    assert config.assignors == ("range",)
    assert (config.session_timeout_ms, config.heartbeat_interval_ms) == (10_000, 3_000)
    assert (config.max_poll_interval_ms, config.max_poll_records) == (300_000, 500)
    assert (config.auto_commit, config.auto_commit_interval_ms) == (True, 5_000)
    assert config.offset_reset is OffsetResetStrategy.LATEST
    assert (config.fetch_min_bytes, config.fetch_max_wait_ms) == (1, 500)
    assert (config.fetch_max_bytes, config.max_partition_fetch_bytes) == (52_428_800, 1_048_576)
    assert config.check_crcs
    assert (config.allow_auto_create_topics, config.exclude_internal_topics) == (True, True)
    assert not config.read_committed


def test_a_consumer_may_forbid_that_a_broker_creates_topics() -> None:
    for allowed in (True, False):
        core = ConsumerCore(parsed(allow_auto_create_topics=allowed), random.Random(0))
        core.use("t", 0)
        assert core.metadata.request(0).allow_auto_topic_creation is allowed


def test_without_a_group_nothing_is_committed() -> None:
    assert not parsed().auto_commit
    with pytest.raises(ConfigException, match=r"enable\.auto\.commit needs group\.id"):
        parsed(enable_auto_commit=True)
    with pytest.raises(ConfigException, match=r"group\.instance\.id needs group\.id"):
        parsed(group_instance_id="i")
    assert not parsed(enable_auto_commit=False).auto_commit


def test_assignors_have_the_names_of_kafka_and_of_java() -> None:
    java = "org.apache.kafka.clients.consumer.StickyAssignor"
    config = parsed(partition_assignment_strategy=[java, "roundrobin", "sticky"])
    assert config.assignors == ("sticky", "roundrobin")
    assert set(ASSIGNOR_NAMES.values()) == set(ASSIGNORS)
    with pytest.raises(ConfigException, match=r"no assignor best\. Use range"):
        parsed(partition_assignment_strategy="best")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_ip": "g"}, "A consumer has no setting group.ip. Did you mean group.id?"),
        ({"wxyz": 1}, "A consumer has no setting wxyz. docs/consumer.md has all keys."),
        ({"session_timeout_ms": 3_000}, "must be below session.timeout.ms, which is 3000"),
        ({"fetch_max_wait_ms": 30_000}, "must be below request.timeout.ms, which is 30000"),
        ({"value_deserializer": "json"}, "value.deserializer is 'json', but it must be a function"),
        ({"interceptor_classes": [object()]}, "a list of objects with on_consume and on_commit"),
        ({"auto_offset_reset": "now"}, "auto.offset.reset"),
        ({"max_poll_records": 0}, "max.poll.records"),
    ],
)
def test_a_wrong_setting_is_one_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigException, match=re.escape(message)) as error:
        parsed(**settings)
    assert "\n" not in str(error.value)


def test_a_key_of_kafka_is_refused_with_the_reason() -> None:
    for name in REFUSED:
        key = name + "x" if name.endswith(".") else name
        with pytest.raises(ConfigException, match="is refused, because"):
            parse_consumer_config({**SERVERS, key: "1"}, 1)
        assert key not in CONSUMER_CONFIG


@pytest.mark.parametrize(
    "kafka_key",
    [key for key in recorded(KafkaClient.CONSUMER) if key.name not in OTHERWISE],
    ids=lambda key: key.name,
)
def test_each_setting_of_kafka_has_its_type_and_default_here_or_is_refused(
    kafka_key: KafkaKey,
) -> None:
    name = kafka_key.name
    if name in CONSUMER_CONFIG:
        key = CONSUMER_CONFIG.keys[name]
        default = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
        assert key.type.name == kafka_key.type
        assert default == kafka_key.default.replace("null", "")  # no group is an empty text here
        return
    with pytest.raises(ConfigException, match=f"^{name} is refused, because"):
        parse_consumer_config({**SERVERS, name: "x"}, 1)


def test_each_setting_is_read_by_the_consumer() -> None:
    """Every field of ConsumerConfig is used outside of the module that parses it."""
    folder = Path(str(kafka_edu.clients.consumer.__file__)).parent
    used = {
        node.attr
        for path in folder.glob("*.py")
        if path.name != "consumer_config.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert set(ConsumerConfig._fields) <= used


def test_the_page_lists_every_setting() -> None:
    page = (ROOT / "docs" / "consumer.md").read_text(encoding="utf-8")
    for name, default, doc in setting_rows():
        assert f"| `{name}` | {default} | {doc} |" in page
    for name, why in REFUSED.items():
        shown = f"{name}*" if name.endswith(".") else name
        assert f"| `{shown}` | {why} |" in page
