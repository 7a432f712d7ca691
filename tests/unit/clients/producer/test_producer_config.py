"""The settings of our producer: Kafka's keys and defaults, and one clear line for each wrong
setting.
"""

from pathlib import Path

import pytest

from kafka_edu.clients.producer.producer_config import (
    OBJECT_KEYS,
    PRODUCER_CONFIG,
    REFUSED,
    parse_producer_config,
    setting_rows,
)
from kafka_edu.common.config_def import ConfigException
from kafka_edu.record.compression_type import CompressionType
from tests.golden.client_keys.record import KafkaClient, KafkaKey, recorded

PAGE = Path(__file__).parents[4] / "docs" / "clients.md"
BOOT = {"bootstrap.servers": "a:1,b:2"}
#: Settings that are required, or that take an object of the program instead of a class name.
OTHERWISE = {"bootstrap.servers", *OBJECT_KEYS}


def test_defaults_are_those_of_kafka() -> None:
    config = parse_producer_config(BOOT, 4)
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert config.client_id == "producer-4"
    assert (config.acks, config.batch_size, config.linger_ms) == (1, 16_384, 0)
    assert (config.buffer_memory, config.max_block_ms) == (33_554_432, 60_000)
    assert (config.retries, config.delivery_timeout_ms) == (2**31 - 1, 120_000)
    assert config.compression is CompressionType.NONE


def test_values_may_be_texts_or_python_values() -> None:
    config = parse_producer_config(
        BOOT | {"acks": -1, "linger.ms": "7", "enable.idempotence": True}, 1
    )
    assert (config.acks, config.linger_ms, config.idempotent) == (-1, 7, True)
    assert parse_producer_config(BOOT | {"enable.idempotence": "true"}, 1).acks == -1


def test_a_transactional_id_makes_the_producer_idempotent() -> None:
    given = {"transactional.id": "x", "transaction.timeout.ms": 7}
    config = parse_producer_config(BOOT | given, 1)
    assert (config.transactional_id, config.idempotent, config.acks) == ("x", True, -1)
    assert (config.transaction_timeout_ms, config.auto_downgrade_txn_commit) == (7, False)
    assert parse_producer_config(BOOT, 1).transactional_id is None


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"linger.mss": 1}, "A producer has no setting linger.mss. Did you mean linger.ms?"),
        ({"batch_size": 1}, "A producer has no setting batch_size. Did you mean batch.size?"),
        ({"wxyz": 1}, "A producer has no setting wxyz. docs/clients.md has all keys."),
        (
            {"security.protocol": "SSL"},
            "security.protocol is refused, because connections are never encrypted; leave the key"
            " out. Remove it from the settings.",
        ),
        (
            {"transactional.id": "x", "enable.idempotence": False},
            "Cannot set a transactional.id without also enabling idempotence.",
        ),
        ({"transactional.id": "x", "acks": 1}, "Must set acks to all in order to use the"),
        ({"transaction.timeout.ms": 7}, "transaction.timeout.ms needs transactional.id."),
        (
            {"internal.auto.downgrade.txn.commit": True},
            "internal.auto.downgrade.txn.commit needs transactional.id.",
        ),
        ({"acks": "2"}, "Invalid value 2 for configuration acks: String must be one of: all, -1,"),
        ({"batch.size": -1}, "Invalid value -1 for configuration batch.size"),
        (
            {"connections.max.idle.ms": 0},
            "Invalid value 0 for configuration connections.max.idle.ms: Value must be at least 1",
        ),
        ({"linger.ms": 1.5}, "Invalid value 1.5 for configuration linger.ms: Not a number"),
        ({"bootstrap.servers": "a"}, "Invalid value a for configuration bootstrap.servers"),
        ({"delivery.timeout.ms": 10}, "delivery.timeout.ms should be equal to or larger than"),
        ({"enable.idempotence": True, "acks": "1"}, "Must set acks to all in order to use the"),
        (
            {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6},
            "Must set max.in.flight.requests.per.connection to at most 5",
        ),
        ({"enable.idempotence": True, "retries": 0}, "Must set retries to non-zero"),
        ({"partitioner.class": "Foo"}, "There is no partitioner Foo. Use one of Default"),
        ({"partitioner.class": 3}, "partitioner.class is 3, but it must be a name"),
        ({"interceptor.classes": [3]}, "interceptor.classes must be a list of objects"),
        ({"key.serializer": 3}, "key.serializer is 3, but it must be a function to bytes."),
    ],
)
def test_a_wrong_setting_is_one_clear_line(given: dict[str, object], line: str) -> None:
    with pytest.raises(ConfigException) as refused:
        parse_producer_config(BOOT | given, 1)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(ConfigException, match=r"bootstrap\.servers"):
        parse_producer_config({}, 1)


@pytest.mark.parametrize(
    "kafka_key",
    [key for key in recorded(KafkaClient.PRODUCER) if key.name not in OTHERWISE],
    ids=lambda key: key.name,
)
def test_each_setting_of_kafka_has_its_type_and_default_here_or_is_refused(
    kafka_key: KafkaKey,
) -> None:
    name = kafka_key.name
    if name in PRODUCER_CONFIG:
        key = PRODUCER_CONFIG.keys[name]
        default = str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
        assert key.type.name == kafka_key.type
        assert default == kafka_key.default.replace("null", "")  # no id is an empty text here
        return
    with pytest.raises(ConfigException, match=f"^{name} is refused, because"):
        parse_producer_config(BOOT | {name: "x"}, 1)


@pytest.mark.parametrize("name", REFUSED)
def test_no_setting_is_accepted_and_does_nothing(name: str) -> None:
    with pytest.raises(ConfigException, match="is refused, because"):
        parse_producer_config(BOOT | {name + "x" if name.endswith(".") else name: "x"}, 1)


def test_the_page_has_every_setting_as_the_code_has_it() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for name, default, meaning in setting_rows():
        assert f"| `{name}` | {default} | {meaning} |" in lines
    for name, why in REFUSED.items():
        assert f"| `{name}{'*' if name.endswith('.') else ''}` | {why} |" in lines
