"""The settings of our producer: Kafka's keys, and the defaults of Kafka 2.8 (ProducerConfig.java).

A key that only Kafka's producer supports is refused. So each accepted setting has an effect. The
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
from kafka_edu.clients.producer.partitioners import (
    PARTITIONERS,
    FunctionPartitioner,
    Partitioner,
    PartitionFunction,
)
from kafka_edu.clients.producer.producer_batch import Headers, RecordMetadata
from kafka_edu.common.config_def import (
    MAX_INT,
    MAX_LONG,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    OneOf,
    Range,
)
from kafka_edu.common.errors import KafkaException
from kafka_edu.record.compression_type import CompressionType

_INT: Final = ConfigType.INT
_LONG: Final = ConfigType.LONG
_CODECS: Final = tuple(codec.name.lower() for codec in CompressionType)
MAX_IN_FLIGHT_IDEMPOTENT: Final = 5
"""A broker remembers this many batches of an idempotent producer."""

PRODUCER_CONFIG: Final = ConfigDef(
    [
        *name_keys("producer"),
        ConfigKey(
            "acks",
            ConfigType.STRING,
            "1",
            OneOf(("all", "-1", "0", "1")),
            "Which replicas must have the records before they count as sent. 0: none, 1: the"
            " leader, all: the whole ISR.",
        ),
        ConfigKey(
            "batch.size",
            _INT,
            16_384,
            Range(0, MAX_INT),
            "The most bytes of one batch, before compression. A larger record is a batch of its"
            " own.",
        ),
        ConfigKey(
            "linger.ms",
            _LONG,
            0,
            Range(0, MAX_LONG),
            "How long a batch that is not full waits for more records, in ms.",
        ),
        ConfigKey(
            "buffer.memory",
            _LONG,
            33_554_432,
            Range(0, MAX_LONG),
            "The most bytes of all batches that are not acknowledged. Each one counts at least"
            " batch.size.",
        ),
        ConfigKey(
            "max.block.ms",
            _LONG,
            60_000,
            Range(0, MAX_LONG),
            "How long send() waits for metadata and for memory, in ms.",
        ),
        ConfigKey(
            "max.request.size",
            _INT,
            1_048_576,
            Range(0, MAX_INT),
            "The most bytes of one request, and of one record.",
        ),
        ConfigKey(
            "delivery.timeout.ms",
            _INT,
            120_000,
            Range(0, MAX_INT),
            "The most time from send() to the acknowledgement, in ms. At least linger.ms +"
            " request.timeout.ms.",
        ),
        ConfigKey(
            "retries",
            _INT,
            MAX_INT,
            Range(0, MAX_INT),
            "How often a batch is sent again after an error that may go away.",
        ),
        ConfigKey(
            "max.in.flight.requests.per.connection",
            _INT,
            5,
            Range(1, MAX_INT),
            "Requests without a response on one connection. With 1, retries keep the order.",
        ),
        ConfigKey(
            "compression.type",
            ConfigType.STRING,
            "none",
            OneOf(_CODECS),
            "The codec of the batches.",
        ),
        ConfigKey(
            "enable.idempotence",
            ConfigType.BOOLEAN,
            False,
            None,
            "Store each record once and in order, in spite of retries. Needs acks=all.",
        ),
        ConfigKey(
            "transactional.id",
            ConfigType.STRING,
            "",
            None,
            "Makes the producer transactional and idempotent. The newest producer with an id fences"
            " the older ones. Empty: no transactions.",
        ),
        ConfigKey(
            "transaction.timeout.ms",
            _INT,
            60_000,
            Range(1, MAX_INT),
            "After this time, in ms, the coordinator aborts an open transaction. Needs"
            " transactional.id.",
        ),
        ConfigKey(
            "internal.auto.downgrade.txn.commit",
            ConfigType.BOOLEAN,
            False,
            None,
            "Commit offsets in a transaction without the consumer's membership if the broker is"
            " older than Kafka 2.5. Needs transactional.id.",
        ),
        ConfigKey(
            "metadata.max.idle.ms",
            _LONG,
            300_000,
            Range(5_000, MAX_LONG),
            "After this time without use, in ms, the metadata of a topic is dropped.",
        ),
        *connection_keys(540_000),
    ]
)

#: Keys whose value is an object of the program → a description of this object.
OBJECT_KEYS: Final[Mapping[str, str]] = {
    "partitioner.class": (
        "How a record without a partition gets one: DefaultPartitioner, RoundRobinPartitioner,"
        " UniformStickyPartitioner, RandomPartitioner, a Partitioner object, or a function of"
        " (topic, key, value, number of partitions)."
    ),
    "interceptor.classes": "A list of objects with on_send and on_acknowledgement.",
    "key.serializer": "A function from the key to bytes. Without it: bytes, str (UTF-8) or None.",
    "value.serializer": "The same for the value.",
}

#: Keys of Kafka's producer that ours refuses → the reason. A name that ends with `.` is a prefix.
REFUSED: Final[Mapping[str, str]] = REFUSED_BY_ALL

_NEED_A_TRANSACTIONAL_ID: Final = ("transaction.timeout.ms", "internal.auto.downgrade.txn.commit")


class ProducerRecord(NamedTuple):
    """A record before it is serialized. Interceptors get it, and may return another record."""

    topic: str
    value: object
    key: object
    partition: int | None
    timestamp: int | None
    headers: Headers


class ProducerInterceptor(Protocol):
    """Is called for each record when the record is sent, and when it is acknowledged or has failed
    (Kafka: ProducerInterceptor.java; KIP-42).
    """

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send. If this raises an error, the original record is sent."""
        ...

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: KafkaException | None
    ) -> None:
        """Called at the end of a record, either with its metadata or with its error."""
        ...


Serializer = Callable[[object], bytes | None]


class ProducerConfig(NamedTuple):
    """The parsed settings, with the names of their keys. Times are in ms."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    acks: int
    batch_size: int
    linger_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    max_in_flight: int
    compression: CompressionType
    idempotent: bool
    transactional_id: str | None
    transaction_timeout_ms: int
    auto_downgrade_txn_commit: bool
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    connections_max_idle_ms: int
    connection_setup_timeout_ms: int
    partitioner: str | Partitioner | PartitionFunction
    interceptors: tuple[ProducerInterceptor, ...]
    key_serializer: Serializer | None
    value_serializer: Serializer | None


def _partitioner(value: object) -> str | Partitioner | PartitionFunction:
    if isinstance(value, str):
        name = value.rpartition(".")[2]
        if name in PARTITIONERS:
            return name
        raise ConfigException(
            "partitioner.class",
            f"There is no partitioner {value}. Use one of {', '.join(PARTITIONERS)}, or a function"
            " of (topic, key, value, number of partitions).",
        )
    shape = all(hasattr(value, name) for name in ("partition", "on_new_batch", "sticky"))
    if isinstance(value, type) or not (shape or callable(value)):
        raise ConfigException(
            "partitioner.class",
            f"partitioner.class is {value!r}, but it must be a name, an object or a function.",
        )
    return value  # type: ignore[return-value]  # its shape was checked


def make_partitioner(
    choice: str | Partitioner | PartitionFunction, default: Callable[[str], Partitioner]
) -> Partitioner:
    """Return the partitioner of a setting. `default` makes a partitioner from its name."""
    if isinstance(choice, str):
        return default(choice)
    return FunctionPartitioner(choice) if callable(choice) else choice


def parse_producer_config(given: Mapping[str, object], number: int) -> ProducerConfig:
    """Return the settings of a producer. If there is no client.id, `number` is part of the
    producer's name.

    Raises ConfigException with one line: the key, what is wrong, and what to do.
    """
    known = [*PRODUCER_CONFIG.keys, *OBJECT_KEYS]
    check_names("producer", "docs/clients.md", given, known, REFUSED)
    values = PRODUCER_CONFIG.parse(
        {name: config_text(value) for name, value in given.items() if name in PRODUCER_CONFIG}
    )
    transactional_id = values.get_string("transactional.id") or None
    idempotent = _is_idempotent(given, values.get_bool("enable.idempotence"), transactional_id)
    acks_text = values.get_string("acks")
    if idempotent and "acks" not in given:
        acks_text = "all"
    acks = -1 if acks_text == "all" else int(acks_text)
    max_in_flight = values.get_int("max.in.flight.requests.per.connection")
    retries = values.get_int("retries")
    if idempotent:
        _check_idempotence(acks, max_in_flight, retries)
    linger_ms = values.get_int("linger.ms")
    request_timeout_ms = values.get_int("request.timeout.ms")
    delivery_timeout_ms = values.get_int("delivery.timeout.ms")
    least = linger_ms + request_timeout_ms
    if delivery_timeout_ms < least:
        if "delivery.timeout.ms" in given:
            raise ConfigException(
                "delivery.timeout.ms",
                "delivery.timeout.ms should be equal to or larger than linger.ms +"
                f" request.timeout.ms, which is {least}.",
            )
        delivery_timeout_ms = least
    return ProducerConfig(
        tuple(map(address, values.get_list("bootstrap.servers"))),
        values.get_string("client.id") or f"producer-{number}",
        acks,
        values.get_int("batch.size"),
        linger_ms,
        values.get_int("buffer.memory"),
        values.get_int("max.block.ms"),
        values.get_int("max.request.size"),
        request_timeout_ms,
        delivery_timeout_ms,
        retries,
        values.get_int("retry.backoff.ms"),
        values.get_int("reconnect.backoff.ms"),
        values.get_int("reconnect.backoff.max.ms"),
        max_in_flight,
        CompressionType[values.get_string("compression.type").upper()],
        idempotent,
        transactional_id,
        values.get_int("transaction.timeout.ms"),
        values.get_bool("internal.auto.downgrade.txn.commit"),
        values.get_int("metadata.max.age.ms"),
        values.get_int("metadata.max.idle.ms"),
        values.get_int("connections.max.idle.ms"),
        values.get_int("socket.connection.setup.timeout.ms"),
        _partitioner(given.get("partitioner.class", "DefaultPartitioner")),
        interceptors(given, "on_send", "on_acknowledgement"),
        a_function(given, "key.serializer", "to bytes"),
        a_function(given, "value.serializer", "to bytes"),
    )


def _is_idempotent(
    given: Mapping[str, object], idempotent: bool, transactional_id: str | None
) -> bool:
    if transactional_id is None:
        for key in _NEED_A_TRANSACTIONAL_ID:
            if key in given:
                raise ConfigException(
                    key, f"{key} needs transactional.id. Set transactional.id too."
                )
        return idempotent
    if "enable.idempotence" in given and not idempotent:
        raise ConfigException(
            "enable.idempotence",
            "Cannot set a transactional.id without also enabling idempotence. Remove"
            " enable.idempotence from the settings.",
        )
    return True


def _check_idempotence(acks: int, max_in_flight: int, retries: int) -> None:
    if acks != -1:
        raise ConfigException(
            "acks", "Must set acks to all in order to use the idempotent producer."
        )
    if max_in_flight > MAX_IN_FLIGHT_IDEMPOTENT:
        raise ConfigException(
            "max.in.flight.requests.per.connection",
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent"
            " producer.",
        )
    if retries == 0:
        raise ConfigException(
            "retries", "Must set retries to non-zero when using the idempotent producer."
        )


def setting_rows() -> Sequence[SettingRow]:
    """Return (key, default, explanation) of each setting that works. docs/clients.md shows them."""
    defaults = {"partitioner.class": "DefaultPartitioner"}
    return [
        *rows_of(PRODUCER_CONFIG),
        *((name, defaults.get(name, ""), doc) for name, doc in OBJECT_KEYS.items()),
    ]
