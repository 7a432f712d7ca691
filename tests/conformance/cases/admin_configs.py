"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: topics, brokers, loggers."""

from collections.abc import Sequence
from typing import Any, Final

from kafka_edu.protocol.messages import alter_configs, incremental_alter_configs
from kafka_edu.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_edu.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafka_edu.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.conformance.cases.admin_topics import create
from tests.conformance.replay import Asker

#: Sets the keys whose defaults are those of 2.0.1 here, so that both sides use the same values.
SETTINGS: Final = {
    "message.max.bytes": "1000012",
    "log.message.format.version": "2.8-IV1",
    "num.io.threads": "8",
}
DIFFERENT: Final = {
    "all of a topic, DescribeConfigsRequest v4": (
        "the default of log.message.format.version is 2.0.1's"
    ),
    "all of the topic now, DescribeConfigsRequest v4": "likewise",
    "keys of security, DescribeConfigsRequest v4": (
        "they cannot be changed while the broker runs, and are read-only here"
    ),
    **dict.fromkeys(
        [
            *(f"type {kind}, DescribeConfigsRequest v4" for kind in (0, 1, 3, 99)),
            "a topic and a type that is none, DescribeConfigsRequest v4",
        ],
        "what an error means in general is said in our words",
    ),
    "all of the broker with synonyms, DescribeConfigsRequest v4": (
        "some defaults are 2.0.1's, and some keys cannot be changed here"
    ),
    "alter log.retention.ms of broker '0' to '0', AlterConfigsRequest v2": (
        "Kafka's words are Scala's `requirement failed`"
    ),
    **dict.fromkeys(
        [
            f"alter num.io.threads of broker '0' to '{number}', AlterConfigsRequest v2"
            for number in (100, 1)
        ],
        "Kafka wraps the sentence into another exception's, whose class it names",
    ),
    "operation 0 on logger root of broker '0' with 'LOUD', IncrementalAlterConfigsRequest v1": (
        "levels in order, not as a set's hash has them"
    ),
}
ALL_KEYS: Final = "all of the broker with synonyms"
TOPIC: Final = 2
BROKER: Final = 4
LOGGER: Final = 8
SET, DELETE, APPEND, SUBTRACT = range(4)
KEYS: Final = (
    "broker.id",
    "log.retention.hours",
    "log.retention.ms",
    "log.roll.ms",
    "log.cleanup.policy",
    "num.io.threads",
    "compression.type",
    "offsets.topic.replication.factor",
    "log.cleaner.min.cleanable.ratio",
    "unclean.leader.election.enable",
    "auto.create.topics.enable",
    "no.such.key",
)


def describe(
    kind: int,
    name: str,
    keys: Sequence[str] | None = None,
    *,
    synonyms: bool = False,
    documented: bool = False,
) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    return DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=documented
    )


def alter(
    kind: int, name: str, *configs: tuple[str, str | None], validate_only: bool = False
) -> AlterConfigsRequest:
    given = [alter_configs.AlterableConfig(name=key, value=value) for key, value in configs]
    resource = alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=given
    )
    return AlterConfigsRequest(resources=[resource], validate_only=validate_only)


def change(
    kind: int, name: str, *ops: tuple[str, int, str | None], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    given = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=op, value=value)
        for key, op, value in ops
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=given
    )
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def told(**values: str) -> Any:
    """Return a condition that holds when the response contains these values. An underscore in a
    keyword stands for a dot in the key. A broker applies a change shortly after it has answered the
    request, so the case repeats its question until then.
    """
    wanted = {key.replace("_", "."): value for key, value in values.items()}
    return lambda response: (
        {config.name: config.value for config in response.results[0].configs} == wanted
    )


def ask_all(asker: Asker) -> None:
    asker.words = True
    asker.ask("create", create("t", 1, {"retention.ms": "1000"}), 4)
    ask_describe(asker)
    ask_everything(asker)
    ask_alter_topic(asker)
    ask_alter_broker(asker)
    ask_change_topic(asker)
    ask_change_broker(asker)
    ask_loggers(asker)


def ask_describe(asker: Asker) -> None:
    for version in range(5):
        asker.ask(
            "a topic's retention", describe(TOPIC, "t", ["retention.ms", "segment.ms"]), version
        )
        asker.ask("some keys of the broker", describe(BROKER, "0", KEYS), version)
    asker.ask("all of a topic", describe(TOPIC, "t", synonyms=True), 4)
    asker.ask("no keys of a topic", describe(TOPIC, "t", []), 4)
    asker.ask("an unknown key", describe(TOPIC, "t", ["no.such.key"]), 4)
    asker.ask(
        "some keys of the broker with synonyms", describe(BROKER, "0", KEYS, synonyms=True), 4
    )
    asker.ask(
        "keys of security",
        describe(BROKER, "0", ["ssl.key.password", "principal.builder.class"]),
        4,
    )
    asker.ask("what is set for all brokers", describe(BROKER, "", synonyms=True), 4)
    for name in ("nope", "a b", ""):
        asker.ask(f"topic {name!r}", describe(TOPIC, name), 4)
    for name in ("7", "x", "-1", ""):
        asker.ask(f"broker {name!r}", describe(BROKER, name, ["broker.id"]), 4)
        asker.ask(f"loggers {name!r}", describe(LOGGER, name, ["none"]), 4)
    for kind in (0, 1, 3, 99):
        asker.ask(f"type {kind}", describe(kind, "t"), 4)
    asker.ask("nothing", DescribeConfigsRequest(resources=[]), 4)
    both = [*describe(TOPIC, "t", ["retention.ms"]).resources, *describe(TOPIC, "nope").resources]
    asker.ask("two topics", DescribeConfigsRequest(resources=both), 4)
    asker.ask("one topic twice", DescribeConfigsRequest(resources=both[:1] * 2), 4)
    asker.ask(
        "a topic and a type that is none",
        DescribeConfigsRequest(resources=[*both, *describe(99, "x").resources]),
        4,
    )


def ask_everything(asker: Asker) -> None:
    """Ask for the documentation of the keys, and for all keys of a broker.
    tests/unit/server/test_described_keys.py compares the keys of the broker one by one.
    """
    for version in range(5):
        asker.ask(
            "some keys with documentation",
            describe(BROKER, "0", KEYS[:3], documented=True),
            version,
        )
    asker.ask(
        "a topic's key with documentation",
        describe(TOPIC, "t", ["retention.ms"], documented=True),
        4,
    )
    asker.ask(ALL_KEYS, describe(BROKER, "0", synonyms=True), 4)


def ask_alter_topic(asker: Asker) -> None:
    for version in range(3):
        asker.ask(
            "alter",
            alter(TOPIC, "t", ("retention.ms", f"{2000 + version}"), ("segment.bytes", "100000")),
            version,
        )
    asker.ask("now", describe(TOPIC, "t", ["retention.ms", "segment.bytes"], synonyms=True), 4)
    asker.ask("only asked", alter(TOPIC, "t", ("retention.ms", "9"), validate_only=True), 2)
    asker.ask("now", describe(TOPIC, "t", ["retention.ms"]), 4)
    for key, value in (
        ("retention.ms", None),
        ("retention.ms", "x"),
        ("retention.ms", ""),
        ("no.such.key", "1"),
        ("min.insync.replicas", "0"),
        ("cleanup.policy", "foo"),
        ("leader.replication.throttled.replicas", "x"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("min.cleanable.dirty.ratio", "2"),
        ("segment.bytes", "99999999999"),
    ):
        asker.ask(f"alter {key} to {value!r}", alter(TOPIC, "t", (key, value)), 2)
    asker.ask(
        "alter one key twice", alter(TOPIC, "t", ("retention.ms", "1"), ("retention.ms", "2")), 2
    )
    asker.ask("now", describe(TOPIC, "t", ["retention.ms"]), 4)
    for name in ("nope", "a b", ""):
        asker.ask(f"alter topic {name!r}", alter(TOPIC, name, ("retention.ms", "1")), 2)
    for kind in (0, 1, LOGGER, 99):
        asker.ask(f"alter type {kind}", alter(kind, "0", ("a", "b")), 2)
    asker.ask("alter nothing", AlterConfigsRequest(resources=[]), 2)
    asker.ask("alter to nothing", alter(TOPIC, "t"), 2)
    asker.ask("all of the topic now", describe(TOPIC, "t", synonyms=True), 4)


def ask_alter_broker(asker: Asker) -> None:
    asker.ask("alter the broker", alter(BROKER, "0", ("log.retention.ms", "600000")), 2)
    asker.ask(
        "the broker now",
        describe(BROKER, "0", ["log.retention.ms"], synonyms=True),
        4,
        until=told(log_retention_ms="600000"),
    )
    asker.ask(
        "alter all brokers",
        alter(BROKER, "", ("log.retention.ms", "700000"), ("log.segment.bytes", "200000")),
        2,
    )
    asker.ask(
        "all brokers now",
        describe(BROKER, "", synonyms=True),
        4,
        until=told(log_retention_ms="700000", log_segment_bytes="200000"),
    )
    asker.ask(
        "the broker now",
        describe(BROKER, "0", ["log.retention.ms", "log.segment.bytes"], synonyms=True),
        4,
    )
    asker.ask(
        "a topic now", describe(TOPIC, "t", ["retention.ms", "segment.bytes"], synonyms=True), 4
    )
    for name, key, value in (
        ("0", "broker.id", "3"),
        ("", "auto.create.topics.enable", "true"),
        ("7", "log.retention.ms", "1"),
        ("x", "log.retention.ms", "1"),
        ("0", "log.retention.ms", None),
        ("0", "log.retention.ms", "soon"),
        ("0", "log.retention.ms", "0"),
        ("", "listeners", "PLAINTEXT://127.0.0.1:1"),
        ("0", "ssl.keystore.password", "x"),
        ("0", "ssl.keystore.location", "/x"),
        ("0", "num.io.threads", "100"),
        ("0", "num.io.threads", "1"),
        ("0", "num.io.threads", "x"),
        ("0", "leader.replication.throttled.rate", "x"),
    ):
        asker.ask(
            f"alter {key} of broker {name!r} to {value!r}", alter(BROKER, name, (key, value)), 2
        )
    asker.ask(
        "an unknown key of the broker",
        alter(BROKER, "0", ("no.such.key", "1"), ("compression.type", "gzip")),
        2,
    )
    asker.ask(
        "an unknown key, described",
        describe(BROKER, "0", ["compression.type", "no.such.key"], synonyms=True),
        4,
        until=lambda r: _source(r) == 2,
    )
    asker.ask("a throttle", alter(BROKER, "0", ("leader.replication.throttled.rate", "1000")), 2)
    key = "leader.replication.throttled.rate"
    asker.ask(
        "a throttle, described",
        describe(BROKER, "0", [key], synonyms=True),
        4,
        until=lambda r: bool(r.results[0].configs),
    )
    asker.ask("reset the broker", alter(BROKER, "0"), 2)
    asker.ask("reset all brokers", alter(BROKER, ""), 2)
    asker.ask(
        "the broker now",
        describe(BROKER, "0", ["log.retention.ms"], synonyms=True),
        4,
        until=told(log_retention_ms="-1"),
    )


def _source(response: Any) -> int:
    return next(
        (
            c.config_source
            for c in response.results[0].configs
            if (c.name, c.value) == ("compression.type", "gzip")
        ),
        0,
    )


def ask_change_topic(asker: Asker) -> None:
    for version in range(2):
        asker.ask("set", change(TOPIC, "t", ("retention.ms", SET, f"{3000 + version}")), version)
    throttled = "leader.replication.throttled.replicas"
    for key, op, value in (
        ("retention.ms", DELETE, None),
        ("retention.ms", SET, None),
        ("retention.ms", 9, "x"),
        ("retention.ms", APPEND, "1"),
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", SUBTRACT, "compact"),
        ("cleanup.policy", APPEND, None),
        ("cleanup.policy", SUBTRACT, "delete,compact"),
        (throttled, APPEND, "0:0"),
        (throttled, APPEND, "0:0,1:1"),
        (throttled, SUBTRACT, "0:0"),
        (throttled, SUBTRACT, "5:5"),
        ("no.such.key", SET, "1"),
        ("no.such.key", DELETE, None),
        ("no.such.key", APPEND, "1"),
        ("retention.ms", DELETE, "x"),
    ):
        asker.ask(
            f"operation {op} on {key} with {value!r}", change(TOPIC, "t", (key, op, value)), 1
        )
        asker.ask("the lists now", describe(TOPIC, "t", ["cleanup.policy", throttled]), 4)
    asker.ask(
        "one key twice",
        change(TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)),
        1,
    )
    asker.ask("no operations", change(TOPIC, "t"), 1)
    asker.ask("only asked", change(TOPIC, "t", ("retention.ms", SET, "1"), validate_only=True), 1)
    asker.ask("of an unknown topic", change(TOPIC, "nope", ("retention.ms", SET, "1")), 1)
    twice = change(TOPIC, "t", ("retention.ms", SET, "1")).resources * 2
    asker.ask("of one topic twice", IncrementalAlterConfigsRequest(resources=twice), 1)
    for kind in (0, 1, 99):
        asker.ask(f"of type {kind}", change(kind, "0", ("a", SET, "b")), 1)
    asker.ask("of nothing", IncrementalAlterConfigsRequest(resources=[]), 1)


def ask_change_broker(asker: Asker) -> None:
    asker.ask(
        "append to the broker's", change(BROKER, "0", ("log.cleanup.policy", APPEND, "compact")), 1
    )
    policy = describe(BROKER, "0", ["log.cleanup.policy"], synonyms=True)
    asker.ask("the broker's policy", policy, 4, until=told(log_cleanup_policy="delete,compact"))
    for name, key, op, value in (
        ("0", "num.io.threads", APPEND, "1"),
        ("0", "no.such.key", SET, "x"),
        ("0", "no.such.key", APPEND, "x"),
        ("0", "broker.id", SET, "2"),
        ("0", "broker.id", DELETE, None),
        ("7", "log.retention.ms", SET, "2"),
        ("0", "log.cleanup.policy", DELETE, None),
        ("", "log.cleanup.policy", DELETE, None),
    ):
        asker.ask(
            f"operation {op} on {key} of broker {name!r} with {value!r}",
            change(BROKER, name, (key, op, value)),
            1,
        )
    asker.ask("the broker's policy", policy, 4, until=told(log_cleanup_policy="delete"))


def ask_loggers(asker: Asker) -> None:
    for name, key, op, value in (
        ("0", "no.such.logger", SET, "DEBUG"),
        ("0", "root", SET, "LOUD"),
        ("0", "root", APPEND, "DEBUG"),
        ("0", "root", DELETE, None),
        ("0", "root", SET, None),
        ("7", "root", SET, "DEBUG"),
        ("", "root", SET, "DEBUG"),
        ("0", "root", SET, "WARN"),
    ):
        asker.ask(
            f"operation {op} on logger {key} of broker {name!r} with {value!r}",
            change(LOGGER, name, (key, op, value)),
            1,
        )
    asker.ask("the root logger", describe(LOGGER, "0", ["root"]), 4)
    asker.ask("only asked", change(LOGGER, "0", ("root", SET, "DEBUG"), validate_only=True), 1)
    asker.ask("the root logger", describe(LOGGER, "0", ["root"], synonyms=True), 1)
    asker.ask(
        "the root logger with documentation", describe(LOGGER, "0", ["root"], documented=True), 4
    )
