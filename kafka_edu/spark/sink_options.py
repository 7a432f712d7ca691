"""The options of the sink `format("kafka-edu")`. They have the same names as the options of the
official connector and of Kafka's producer.

`OPTIONS` and `PRODUCER_OPTIONS` are the tables of options. docs/spark-sink.md shows them.
`parse_sink_options` checks all options of a user. For a wrong option it raises SourceOptionError
with a message of one line.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kafka_edu.record.compression_type import CompressionType
from kafka_edu.spark.option_readers import (
    MAX_INT,
    Option,
    check_names,
    flag,
    one_of,
    servers,
    string,
    whole_number,
    wrong,
)
from kafka_edu.spark.source_errors import SourceOptionError


class Delivery(StrEnum):
    """How often the sink of a streaming query writes a row: at least once, or exactly once."""

    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class ProducerOptions(NamedTuple):
    """The settings of the sink's Kafka client (`kafka.*`). Sizes are in bytes, times in ms."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    codec: CompressionType
    batch_size: int
    max_request_size: int
    transactional_id: str
    """The first part of each slot's transactional id."""
    transaction_timeout_ms: int
    delivery_timeout_ms: int
    request_timeout_ms: int
    api_timeout_ms: int
    retry_backoff_ms: int
    receive_buffer_bytes: int


class SinkOptions(NamedTuple):
    """All options of the sink, checked and converted to their types."""

    topic: str | None
    """The topic for all rows. If it is None, the column `topic` has the topic of each row."""
    delivery: Delivery
    producer: ProducerOptions


CODECS: Final = {one.name.lower(): one for one in CompressionType}


def _codec(name: str, text: str) -> CompressionType:
    return CODECS[one_of(*CODECS)(name, text)]


def _acks(name: str, text: str) -> str:
    if text.lower() not in ("all", "-1"):
        raise wrong(name, text, "all: the sink waits for all replicas in sync")
    return text


def _topic(name: str, text: str) -> str:
    found = text.strip()
    if not found or "," in found:
        raise wrong(name, text, "one topic: for several, give each row a column topic")
    return found


_SERVERS: Final = "kafka.bootstrap.servers"
#: All options without the prefix `kafka.`, in the order of the page.
OPTIONS: Final = (
    Option(
        "topic",
        _topic,
        "",
        "The topic of all rows. Without it, the column `topic` names it.",
    ),
    Option(
        "includeHeaders",
        flag,
        "false",
        "Accepted without effect: a column `headers` is written when there is one.",
    ),
    Option(
        "delivery",
        one_of(*Delivery),
        Delivery.AT_LEAST_ONCE,
        "`exactly-once` writes each slot in a transaction. It needs a stream with a column `slot`.",
    ),
    Option("checkpointLocation", string, "", "Spark's own: where the query keeps its progress."),
    Option("queryName", string, "", "Spark's own: the name of the query."),
)

#: The settings of Kafka's producer that this client supports.
PRODUCER_OPTIONS: Final = (
    Option(_SERVERS, servers, "", "Required: host:port, host:port …"),
    Option("kafka.client.id", string, "kafka-edu-spark-sink", "The name that brokers log."),
    Option(
        "kafka.compression.type",
        _codec,
        "none",
        "The codec of each batch: none, gzip, snappy, lz4 or zstd.",
    ),
    Option("kafka.acks", _acks, "all", "Only `all` is allowed."),
    Option(
        "kafka.batch.size",
        whole_number(1, MAX_INT),
        "262144",
        "The largest batch of records, before compression. Kafka's own default is 16384.",
    ),
    Option(
        "kafka.max.request.size",
        whole_number(1, MAX_INT),
        "1048576",
        "The largest record.",
    ),
    Option(
        "kafka.transactional.id",
        string,
        "kafka-edu-sink",
        "The beginning of the transactional id of each slot. The query's id and the slot follow.",
    ),
    Option(
        "kafka.transaction.timeout.ms",
        whole_number(1, MAX_INT),
        "60000",
        "The coordinator aborts a transaction that is open for longer than this.",
    ),
    Option(
        "kafka.delivery.timeout.ms",
        whole_number(1, MAX_INT),
        "120000",
        "A task fails when a batch of records is not written in this time.",
    ),
    Option(
        "kafka.request.timeout.ms",
        whole_number(1, MAX_INT),
        "30000",
        "After this time without an answer, the request is sent again.",
    ),
    Option(
        "kafka.max.block.ms",
        whole_number(1, MAX_INT),
        "60000",
        "The longest time for one question with all its retries: metadata and coordinators.",
    ),
    Option(
        "kafka.retry.backoff.ms",
        whole_number(1, MAX_INT),
        "100",
        "The pause before a retry.",
    ),
    Option(
        "kafka.receive.buffer.bytes",
        whole_number(-1, MAX_INT),
        "32768",
        "The receive buffer of each socket. -1: the system's, which grows.",
    ),
)

#: Settings of Kafka's producer that have no effect in this client. They are accepted and ignored.
WITHOUT_EFFECT: Final = tuple(
    "kafka." + name
    for name in (
        "buffer.memory",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    )
)

#: Settings that are refused, with the reason and advice for the user. The official connector
#: refuses the first two as well.
REFUSED: Final[Mapping[str, str]] = {
    "kafka.key.serializer": "keys are bytes: cast the column key",
    "kafka.value.serializer": "values are bytes: cast the column value",
    "kafka.interceptor.classes": "there is no Java producer here",
    "kafka.partitioner.": "give each row a column partition instead",
    "kafka.enable.idempotence": "this client always repeats a request without doubling its records",
    "kafka.sasl.": 'this sink connects without authentication: use format("kafka") for it',
    "kafka.ssl.": 'this sink connects without TLS: use format("kafka") for it',
}

_TABLE: Final[Mapping[str, Option]] = {
    option.name.lower(): option for option in (*OPTIONS, *PRODUCER_OPTIONS)
}


def parse_sink_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """Check all options, and return them converted to their types. O(options).

    Raises SourceOptionError for the first option that is unknown, missing or wrong.
    """
    texts = {name.lower(): text for name, text in given.items()}
    check_names(texts, _TABLE, WITHOUT_EFFECT, REFUSED, "docs/spark-sink.md")

    def get(name: str) -> Any:
        option = _TABLE[name.lower()]
        text = texts.get(name.lower(), option.default)
        return option.read(option.name, text) if text or name.lower() in texts else None

    for name in texts:
        if name in _TABLE:
            get(name)
    delivery = Delivery(get("delivery"))
    if delivery is Delivery.EXACTLY_ONCE and not streaming:
        raise SourceOptionError(
            "option delivery is exactly-once: only a streaming query numbers its batches, so use"
            " writeStream, or remove the option"
        )
    return SinkOptions(
        topic=get("topic"),
        delivery=delivery,
        producer=ProducerOptions(
            bootstrap_servers=get(_SERVERS) or servers(_SERVERS, ""),
            client_id=get("kafka.client.id"),
            codec=get("kafka.compression.type"),
            batch_size=get("kafka.batch.size"),
            max_request_size=get("kafka.max.request.size"),
            transactional_id=get("kafka.transactional.id"),
            transaction_timeout_ms=get("kafka.transaction.timeout.ms"),
            delivery_timeout_ms=get("kafka.delivery.timeout.ms"),
            request_timeout_ms=get("kafka.request.timeout.ms"),
            api_timeout_ms=get("kafka.max.block.ms"),
            retry_backoff_ms=get("kafka.retry.backoff.ms"),
            receive_buffer_bytes=get("kafka.receive.buffer.bytes"),
        ),
    )
