"""The settings of our consumer: Kafka's keys, and the defaults of Kafka 2.8 (ConsumerConfig.java).

A key that only Kafka's consumer supports is refused. So each accepted setting has an effect. The
error for an unknown key names the most similar known key.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from kafka_edu.clients.client_config import (
    REFUSED_BY_ALL,
    SettingRow,
    a_function,
    address,
    check_names,
    config_text,
    connection_keys,
    interceptors,
    name_keys,
    rows_of,
)
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata, OffsetResetStrategy
from kafka_edu.common.config_def import (
    MAX_INT,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    NonEmpty,
    OneOf,
    Range,
)
from kafka_edu.common.topic_partition import TopicPartition

_INT: Final = ConfigType.INT
_LONG: Final = ConfigType.LONG
_ISOLATION: Final = ("read_uncommitted", "read_committed")
ASSIGNOR_NAMES: Final = {
    "range": "range",
    "RangeAssignor": "range",
    "roundrobin": "roundrobin",
    "RoundRobinAssignor": "roundrobin",
    "sticky": "sticky",
    "StickyAssignor": "sticky",
    "cooperative-sticky": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""The names of the assignors in Kafka's configuration → their names in the protocol."""

CONSUMER_CONFIG: Final = ConfigDef(
    [
        *name_keys("consumer"),
        ConfigKey(
            "group.id",
            ConfigType.STRING,
            "",
            None,
            "The consumer's group. Empty: no group, so only assign() works, and no commit.",
        ),
        ConfigKey(
            "group.instance.id",
            ConfigType.STRING,
            "",
            None,
            "Makes the consumer a static member: it keeps its partitions when it restarts within"
            " session.timeout.ms. Empty: a dynamic member.",
        ),
        ConfigKey(
            "partition.assignment.strategy",
            ConfigType.LIST,
            ("range",),
            NonEmpty(),
            "How the group's leader divides the partitions: range, roundrobin, sticky or"
            " cooperative-sticky, the favourite first. All members must share one.",
        ),
        ConfigKey(
            "session.timeout.ms",
            _INT,
            10_000,
            Range(1, MAX_INT),
            "The coordinator removes a member after this time without a heartbeat, in ms.",
        ),
        ConfigKey(
            "heartbeat.interval.ms",
            _INT,
            3_000,
            Range(1, MAX_INT),
            "The time between two heartbeats, in ms. Below session.timeout.ms.",
        ),
        ConfigKey(
            "max.poll.interval.ms",
            _INT,
            300_000,
            Range(1, MAX_INT),
            "The most time between two polls, in ms. Then the consumer leaves the group. A"
            " rebalance waits as long for a member.",
        ),
        ConfigKey(
            "max.poll.records",
            _INT,
            500,
            Range(1, MAX_INT),
            "The most records that one poll() returns.",
        ),
        ConfigKey(
            "enable.auto.commit",
            ConfigType.BOOLEAN,
            True,
            None,
            "Commit the positions within poll(), in a rebalance and in close(). It needs group.id.",
        ),
        ConfigKey(
            "auto.commit.interval.ms",
            _INT,
            5_000,
            Range(0, MAX_INT),
            "The time between two such commits, in ms.",
        ),
        ConfigKey(
            "auto.offset.reset",
            ConfigType.STRING,
            "latest",
            OneOf(tuple(OffsetResetStrategy)),
            "Where to begin without a committed offset, and when the offset is out of range."
            " none: poll() raises an error.",
        ),
        ConfigKey(
            "isolation.level",
            ConfigType.STRING,
            _ISOLATION[0],
            OneOf(_ISOLATION),
            "read_committed: skip aborted transactions, and wait for open ones.",
        ),
        ConfigKey(
            "allow.auto.create.topics",
            ConfigType.BOOLEAN,
            True,
            None,
            "A broker may create a missing topic that the consumer names, if its"
            " auto.create.topics.enable is true.",
        ),
        ConfigKey(
            "exclude.internal.topics",
            ConfigType.BOOLEAN,
            True,
            None,
            "A subscription by pattern leaves out internal topics, such as __consumer_offsets.",
        ),
        ConfigKey(
            "client.rack",
            ConfigType.STRING,
            "",
            None,
            "Where the consumer is. A leader with replica.selector.class may name a follower there."
            " Then the consumer reads from that one.",
        ),
        ConfigKey(
            "fetch.min.bytes",
            _INT,
            1,
            Range(0, MAX_INT),
            "A broker waits until it has this many bytes, or until fetch.max.wait.ms.",
        ),
        ConfigKey(
            "fetch.max.wait.ms",
            _INT,
            500,
            Range(0, MAX_INT),
            "The most time that a broker waits for fetch.min.bytes, in ms.",
        ),
        ConfigKey(
            "fetch.max.bytes",
            _INT,
            52_428_800,
            Range(0, MAX_INT),
            "The most bytes of one response. A first batch that is larger comes all the same.",
        ),
        ConfigKey(
            "max.partition.fetch.bytes",
            _INT,
            1_048_576,
            Range(0, MAX_INT),
            "The most bytes of one partition in a response, with the same exception.",
        ),
        ConfigKey(
            "check.crcs",
            ConfigType.BOOLEAN,
            True,
            None,
            "Check the CRC of each batch.",
        ),
        ConfigKey(
            "default.api.timeout.ms",
            _INT,
            60_000,
            Range(0, MAX_INT),
            "How long commit(), position() and other calls without a time limit wait, in ms.",
        ),
        *connection_keys(540_000),
    ]
)

#: Keys whose value is an object of the program → a description of this object.
OBJECT_KEYS: Final[Mapping[str, str]] = {
    "key.deserializer": "A function from bytes or None to the key. Without it: the bytes.",
    "value.deserializer": "The same for the value.",
    "interceptor.classes": "A list of objects with on_consume and on_commit.",
}

#: Keys of Kafka's consumer that ours refuses → the reason. A name that ends with `.` is a prefix.
REFUSED: Final[Mapping[str, str]] = {
    **REFUSED_BY_ALL,
    "internal.leave.group.on.close": "a dynamic member always leaves, a static one never",
    "internal.throw.on.fetch.stable.offset.unsupported": "no broker is too old for it",
}

Deserializer = Callable[[bytes | None], object]


class ConsumerInterceptor(Protocol):
    """Is called with records and commits that pass the consumer (Kafka: ConsumerInterceptor.java;
    KIP-42).
    """

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """Return the records that `poll()` must return. If this method raises an error, `poll()`
        returns the records unchanged.
        """
        ...

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Called when these offsets are stored."""
        ...


class ConsumerConfig(NamedTuple):
    """The parsed settings, with the names of their keys. Times are in ms."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    group_id: str
    group_instance_id: str | None
    assignors: tuple[str, ...]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    auto_commit: bool
    auto_commit_interval_ms: int
    offset_reset: OffsetResetStrategy
    read_committed: bool
    allow_auto_create_topics: bool
    exclude_internal_topics: bool
    client_rack: str
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    check_crcs: bool
    request_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    metadata_max_age_ms: int
    connections_max_idle_ms: int
    connection_setup_timeout_ms: int
    key_deserializer: Deserializer | None
    value_deserializer: Deserializer | None
    interceptors: tuple[ConsumerInterceptor, ...]


def _assignors(names: Sequence[str]) -> tuple[str, ...]:
    found = []
    for name in names:
        assignor = ASSIGNOR_NAMES.get(name.rpartition(".")[2])
        if assignor is None:
            raise ConfigException(
                "partition.assignment.strategy",
                f"There is no assignor {name}. Use range, roundrobin, sticky or"
                " cooperative-sticky.",
            )
        found.append(assignor)
    return tuple(dict.fromkeys(found))


def parse_consumer_config(given: Mapping[str, object], number: int) -> ConsumerConfig:
    """Return the settings of a consumer. If there is no client.id, `number` is part of the client's
    name.

    Raises ConfigException with one line: the key, what is wrong, and what to do.
    """
    known = [*CONSUMER_CONFIG.keys, *OBJECT_KEYS]
    check_names("consumer", "docs/consumer.md", given, known, REFUSED)
    values = CONSUMER_CONFIG.parse(
        {name: config_text(value) for name, value in given.items() if name in CONSUMER_CONFIG}
    )
    group_id = values.get_string("group.id")
    auto_commit = values.get_bool("enable.auto.commit")
    if not group_id:
        for key in ("enable.auto.commit", "group.instance.id"):
            if given.get(key) and values.get(key) not in (False, ""):
                raise ConfigException(key, f"{key} needs group.id. Set group.id too.")
        auto_commit = False
    session_ms = values.get_int("session.timeout.ms")
    heartbeat_ms = values.get_int("heartbeat.interval.ms")
    if heartbeat_ms >= session_ms:
        raise ConfigException(
            "heartbeat.interval.ms",
            f"heartbeat.interval.ms is {heartbeat_ms}, but it must be below session.timeout.ms,"
            f" which is {session_ms}. Use about a third of it.",
        )
    request_ms = values.get_int("request.timeout.ms")
    if values.get_int("fetch.max.wait.ms") >= request_ms:
        raise ConfigException(
            "fetch.max.wait.ms",
            f"fetch.max.wait.ms must be below request.timeout.ms, which is {request_ms}. Otherwise"
            " a fetch without records would close its connection.",
        )
    return ConsumerConfig(
        tuple(map(address, values.get_list("bootstrap.servers"))),
        values.get_string("client.id") or f"consumer-{number}",
        group_id,
        values.get_string("group.instance.id") or None,
        _assignors(values.get_list("partition.assignment.strategy")),
        session_ms,
        heartbeat_ms,
        values.get_int("max.poll.interval.ms"),
        values.get_int("max.poll.records"),
        auto_commit,
        values.get_int("auto.commit.interval.ms"),
        OffsetResetStrategy(values.get_string("auto.offset.reset")),
        values.get_string("isolation.level") == "read_committed",
        values.get_bool("allow.auto.create.topics"),
        values.get_bool("exclude.internal.topics"),
        values.get_string("client.rack"),
        values.get_int("fetch.min.bytes"),
        values.get_int("fetch.max.wait.ms"),
        values.get_int("fetch.max.bytes"),
        values.get_int("max.partition.fetch.bytes"),
        values.get_bool("check.crcs"),
        request_ms,
        values.get_int("default.api.timeout.ms"),
        values.get_int("retry.backoff.ms"),
        values.get_int("reconnect.backoff.ms"),
        values.get_int("reconnect.backoff.max.ms"),
        values.get_int("metadata.max.age.ms"),
        values.get_int("connections.max.idle.ms"),
        values.get_int("socket.connection.setup.timeout.ms"),
        a_function(given, "key.deserializer", "of bytes"),
        a_function(given, "value.deserializer", "of bytes"),
        interceptors(given, "on_consume", "on_commit"),
    )


def setting_rows() -> Sequence[SettingRow]:
    """Return (key, default, explanation) of each setting that works, for docs/consumer.md."""
    return [*rows_of(CONSUMER_CONFIG), *((name, "", doc) for name, doc in OBJECT_KEYS.items())]
