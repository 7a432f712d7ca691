"""The options for reading with `format("kafka-edu")`. They have the same names, defaults and order
of precedence as those of the official connector (spec W2).

`OPTIONS` and `CONSUMER_OPTIONS` are the tables of options. docs/spark-options.md is made from them.
`parse_options` checks all options of a user. For a wrong option it raises SourceOptionError with a
message of one line.

Three options say where to begin. If several of them are set, a timestamp for all partitions has
priority over timestamps for each partition, and these have priority over offsets. The same is true
for the three options that say where to end.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.option_readers import (
    MAX_INT,
    Mode,
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

EARLIEST: Final = -2
LATEST: Final = -1
_PREFIX: Final = "kafka."


class Bound(StrEnum):
    """The first or last end of the log, as the options name it: `earliest` or `latest`."""

    EARLIEST = "earliest"
    LATEST = "latest"


Offsets = dict[str, dict[int, int]]
"""topic → partition → offset. It is also used for topic → partition → timestamp in ms."""


class AtTime(NamedTuple):
    """A position that is given by a time. It means the first record with this time or a later one.

    Exactly one of the two fields is set. Times are in ms since 1970.
    """

    everywhere: int | None
    by_partition: Offsets | None


Position = Bound | Offsets | AtTime


class Topics(NamedTuple):
    """The topics or partitions to read. Exactly one of the three fields is set."""

    names: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: dict[str, tuple[int, ...]] | None = None

    def include(self, tp: TopicPartition) -> bool:
        """Return whether the user's choice includes this partition. The partition need not
        exist.
        """
        if self.pattern is not None:
            return re.fullmatch(self.pattern, tp.topic) is not None
        if self.assigned is not None:
            return tp.partition in self.assigned.get(tp.topic, ())
        return tp.topic in (self.names or ())


class ConsumerOptions(NamedTuple):
    """The settings of the source's Kafka client (`kafka.*`). Sizes are in bytes, times in ms."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    read_committed: bool
    check_crcs: bool
    max_partition_fetch_bytes: int
    fetch_max_bytes: int
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    request_timeout_ms: int
    api_timeout_ms: int
    retry_backoff_ms: int
    receive_buffer_bytes: int


class SourceOptions(NamedTuple):
    """All options of the source, checked and converted to their types."""

    topics: Topics
    starting: Position | None
    """Where to begin. None means `earliest` for a batch, and `latest` for a new stream."""
    ending: Position
    time_without_record: Bound | None
    """Where a partition begins if none of its records is as late as the given time. LATEST means
    its end, and None means an error.
    """
    include_headers: bool
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    poll_timeout_ms: int
    offset_retries: int
    offset_retry_ms: int
    consumer: ConsumerOptions


_UNIT_MS: Final = {
    "us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000,
}  # fmt: skip


def _duration(name: str, text: str) -> int:
    found = re.fullmatch(r"\s*(\d{1,15})\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if found is None or (found[2] or "ms") not in _UNIT_MS:
        raise wrong(name, text, "a time such as 500ms, 30s, 15m, 2h or 1d")
    return int(int(found[1]) * _UNIT_MS[found[2] or "ms"])


def _topic_list(name: str, text: str) -> tuple[str, ...]:
    topics = tuple(sorted({part.strip() for part in text.split(",") if part.strip()}))
    if not topics:
        raise wrong(name, text, "at least one topic, such as topic1,topic2")
    return topics


def _pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise wrong(name, text, f"a regular expression of Python ({error})") from None
    if not text.strip():
        raise wrong(name, text, "a regular expression that whole topic names match")
    return text


def _json_object(name: str, text: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise wrong(name, text, f"JSON like {example}")
    return found


def _number_in_json(value: object) -> int:
    """Return a JSON value as an int. JSON's true is refused, although it is an int in Python."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(value)
    return value


def _assignment(name: str, text: str) -> dict[str, tuple[int, ...]]:
    example = '{"topic": [0, 1]}'
    try:
        found = {
            topic: tuple(sorted({_number_in_json(p) for p in partitions}))
            for topic, partitions in _json_object(name, text, example).items()
        }
    except (ValueError, TypeError):
        raise wrong(name, text, f"JSON like {example}") from None
    if not all(partitions and partitions[0] >= 0 for partitions in found.values()):
        raise wrong(name, text, f"JSON like {example}")
    return found


def _by_partition(name: str, text: str, example: str, least: int) -> Offsets:
    try:
        found = {
            topic: {int(p): _number_in_json(number) for p, number in partitions.items()}
            for topic, partitions in _json_object(name, text, example).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise wrong(name, text, f"JSON like {example}") from None
    for topic, partitions in found.items():
        for partition, number in partitions.items():
            if number < least or partition < 0:
                raise wrong(name, text, f"JSON like {example}; {topic}-{partition} is {number}")
    return found


def parse_offsets(name: str, text: str) -> Bound | Offsets:
    """Parse `earliest`, `latest`, or JSON of the form topic → partition → offset."""
    if text.strip().lower() in (Bound.EARLIEST, Bound.LATEST):
        return Bound(text.strip().lower())
    if not text.lstrip().startswith("{"):
        raise wrong(name, text, 'earliest, latest, or JSON like {"topic": {"0": 23}}')
    return _by_partition(name, text, '{"topic": {"0": 23, "1": -2}}', EARLIEST)


def _times(name: str, text: str) -> Offsets:
    return _by_partition(name, text, '{"topic": {"0": 1700000000000}}', 0)


#: All options without the prefix `kafka.`, in the order of the page.
OPTIONS: Final = (
    Option("subscribe", _topic_list, "", "Topics, separated by commas."),
    Option(
        "subscribePattern", _pattern, "", "A regular expression. It must match a whole topic name."
    ),
    Option("assign", _assignment, "", 'Partitions as JSON: `{"topic": [0, 1]}`.'),
    Option(
        "startingTimestamp",
        whole_number(0),
        "",
        "Begin each partition at its first record that is not older, in ms since 1970.",
    ),
    Option(
        "startingOffsetsByTimestamp",
        _times,
        "",
        'The same for each partition: `{"topic": {"0": 1700000000000}}`.',
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        one_of("error", "latest"),
        "error",
        "What to do for a partition without a record so late: stop, or begin at its end.",
    ),
    Option(
        "startingOffsets",
        parse_offsets,
        "earliest in a batch, latest in a stream",
        'Where to begin: `earliest`, `latest`, or `{"topic": {"0": 23, "1": -2}}`. −2 is earliest,'
        " −1 is latest. A batch cannot begin at latest.",
    ),
    Option(
        "endingTimestamp",
        whole_number(0),
        "",
        "End each partition before its first record that is not older, else at its end.",
        Mode.BATCH,
    ),
    Option("endingOffsetsByTimestamp", _times, "", "The same for each partition.", Mode.BATCH),
    Option(
        "endingOffsets",
        parse_offsets,
        "latest",
        "Where to end: `latest`, or the first offset that is not read, by partition. A batch cannot"
        " end at earliest.",
        Mode.BATCH,
    ),
    Option(
        "failOnDataLoss",
        flag,
        "true",
        "Stop when records that the query needs do not exist any more. With false, read the"
        " remaining records and write a warning.",
    ),
    Option("includeHeaders", flag, "false", "Add the column `headers`."),
    Option(
        "minPartitions",
        whole_number(1, MAX_INT),
        "",
        "Split large partitions until there are about this many Spark tasks.",
    ),
    Option(
        "maxRecordsPerPartition",
        whole_number(1),
        "",
        "Split each partition into Spark tasks of at most this many offsets.",
    ),
    Option(
        "maxOffsetsPerTrigger",
        whole_number(1),
        "",
        "Read at most this many offsets in a micro-batch, shared among partitions by their waiting"
        " offsets.",
        Mode.STREAMING,
    ),
    Option(
        "minOffsetsPerTrigger",
        whole_number(1),
        "",
        "Wait until this many offsets are there, or until maxTriggerDelay is over.",
        Mode.STREAMING,
    ),
    Option(
        "maxTriggerDelay",
        _duration,
        "15m",
        "The longest wait for minOffsetsPerTrigger.",
        Mode.STREAMING,
    ),
    Option(
        "kafkaConsumer.pollTimeoutMs",
        whole_number(1, MAX_INT),
        "120000",
        "A task fails when it gets no record for this time.",
    ),
    Option(
        "fetchOffset.numRetries",
        whole_number(0, MAX_INT),
        "3",
        "How often the driver asks again when no broker answers, or a topic is not there yet.",
    ),
    Option(
        "fetchOffset.retryIntervalMs",
        whole_number(0, MAX_INT),
        "1000",
        "The pause before it asks again.",
    ),
    Option(
        "groupIdPrefix",
        string,
        "spark-kafka-source",
        "Accepted without effect: this source assigns its partitions and has no group.",
    ),
)

_SERVERS: Final = "kafka.bootstrap.servers"
_READ_UNCOMMITTED: Final = "read_uncommitted"
#: The settings of Kafka's consumer that this client supports. The defaults are Kafka's, except for
#: the size of the receive buffer. With Kafka's 64 KiB, fetching took twice the CPU time
#: (docs/performance.md).
CONSUMER_OPTIONS: Final = (
    Option(_SERVERS, servers, "", "Required: host:port, host:port …"),
    Option("kafka.client.id", string, "kafka-edu-spark", "The name that brokers log."),
    Option(
        "kafka.isolation.level",
        one_of(_READ_UNCOMMITTED, "read_committed"),
        _READ_UNCOMMITTED,
        "`read_committed` leaves out aborted and open transactions.",
    ),
    Option("kafka.check.crcs", flag, "true", "Check each batch against its checksum."),
    Option(
        "kafka.max.partition.fetch.bytes",
        whole_number(1, MAX_INT),
        "1048576",
        "How much to ask for in one fetch.",
    ),
    Option(
        "kafka.fetch.max.bytes",
        whole_number(1, MAX_INT),
        "52428800",
        "How much a broker may send in one answer.",
    ),
    Option(
        "kafka.fetch.min.bytes",
        whole_number(0, MAX_INT),
        "1",
        "The broker waits until it has this many bytes.",
    ),
    Option("kafka.fetch.max.wait.ms", whole_number(0, MAX_INT), "500", "The longest such wait."),
    Option(
        "kafka.request.timeout.ms",
        whole_number(1, MAX_INT),
        "30000",
        "After this time without an answer, the request is sent again.",
    ),
    Option(
        "kafka.default.api.timeout.ms",
        whole_number(1, MAX_INT),
        "60000",
        "The longest time for one question with all its retries.",
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
        "-1",
        "The receive buffer of each socket. -1: the system's, which grows.",
    ),
)

#: Settings of Kafka's consumer that have no effect in this client. They are accepted and ignored.
WITHOUT_EFFECT: Final = tuple(
    _PREFIX + name
    for name in (
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    )
)

#: Settings that are refused, with the reason and advice for the user. The official connector
#: refuses the first five as well.
REFUSED: Final[Mapping[str, str]] = {
    "kafka.auto.offset.reset": "give startingOffsets: Spark keeps the offsets itself",
    "kafka.key.deserializer": "keys are bytes: cast the column key",
    "kafka.value.deserializer": "values are bytes: cast the column value",
    "kafka.enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "kafka.interceptor.classes": "there is no Java consumer here",
    "kafka.sasl.": 'this source connects without authentication: use format("kafka") for it',
    "kafka.ssl.": 'this source connects without TLS: use format("kafka") for it',
}
_TABLE: Final[Mapping[str, Option]] = {
    option.name.lower(): option for option in (*OPTIONS, *CONSUMER_OPTIONS)
}


class _Given:
    """The options that the user has set, by their names in lower case."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): text for name, text in given.items()}
        check_names(self._given, _TABLE, WITHOUT_EFFECT, REFUSED, "docs/spark-options.md")

    def has(self, name: str) -> bool:
        return name.lower() in self._given

    def get(self, name: str) -> Any:
        """Return an option's value or its default. Return None if it has neither."""
        option = _TABLE[name.lower()]
        text = self._given.get(name.lower())
        if text is not None:
            return option.read(option.name, text)
        return option.read(option.name, option.default) if option.default else None

    def if_given(self, name: str) -> Any:
        """Return an option's value if the user has set it, or else None."""
        return self.get(name) if self.has(name) else None

    def position(self, side: str) -> Position | None:
        """Return where to begin (`side` is `starting`) or where to end (`ending`). Return None if
        no such option is set.

        All options that are set are checked, including those that another option overrides.
        """
        everywhere = self.if_given(f"{side}Timestamp")
        times = self.if_given(f"{side}OffsetsByTimestamp")
        offsets: Bound | Offsets | None = self.if_given(f"{side}Offsets")
        if everywhere is not None:
            return AtTime(everywhere, None)
        return offsets if times is None else AtTime(None, times)


def _topics(given: _Given) -> Topics:
    chosen = [name for name in ("subscribe", "subscribePattern", "assign") if given.has(name)]
    if len(chosen) != 1:
        what = f"{' and '.join(chosen)} are given" if chosen else "no topic is named"
        raise SourceOptionError(
            f'{what}: give one of subscribe ("topic1,topic2"), subscribePattern ("web-.*") and'
            " assign ('{\"topic1\": [0, 1]}')"
        )
    return Topics(
        given.if_given("subscribe"), given.if_given("subscribePattern"), given.if_given("assign")
    )


def _refuse_offset(position: Position | None, bound: Bound, name: str) -> None:
    """Refuse a batch that begins at `latest` or ends at `earliest`, for all partitions or for one
    of them.
    """
    number = {Bound.EARLIEST: EARLIEST, Bound.LATEST: LATEST}[bound]
    where = "" if position is bound else None
    if isinstance(position, dict):
        where = next(
            (
                f" for {topic}-{partition}"
                for topic, partitions in position.items()
                for partition, offset in partitions.items()
                if offset == number
            ),
            None,
        )
    if where is not None:
        raise SourceOptionError(f"option {name} cannot be {bound}{where} in a batch query")


def parse_options(given: Mapping[str, str], *, streaming: bool | None = None) -> SourceOptions:
    """Check all options, and return them converted to their types. O(options).

    `streaming` is None while Spark requests only the schema, because the kind of the query is not
    yet known then. Raises SourceOptionError for the first option that is unknown, missing, wrong,
    or that contradicts another.
    """
    options = _Given(given)
    consumer = ConsumerOptions(
        bootstrap_servers=options.get(_SERVERS) or servers(_SERVERS, ""),
        client_id=options.get("kafka.client.id"),
        read_committed=options.get("kafka.isolation.level") != _READ_UNCOMMITTED,
        check_crcs=options.get("kafka.check.crcs"),
        max_partition_fetch_bytes=options.get("kafka.max.partition.fetch.bytes"),
        fetch_max_bytes=options.get("kafka.fetch.max.bytes"),
        fetch_min_bytes=options.get("kafka.fetch.min.bytes"),
        fetch_max_wait_ms=options.get("kafka.fetch.max.wait.ms"),
        request_timeout_ms=options.get("kafka.request.timeout.ms"),
        api_timeout_ms=options.get("kafka.default.api.timeout.ms"),
        retry_backoff_ms=options.get("kafka.retry.backoff.ms"),
        receive_buffer_bytes=options.get("kafka.receive.buffer.bytes"),
    )
    topics = _topics(options)
    starting = options.position("starting")
    ending = options.position("ending")
    if streaming:
        for option in OPTIONS:
            if option.mode is Mode.BATCH and options.has(option.name):
                raise SourceOptionError(
                    f"option {option.name} has no meaning in a streaming query: remove it, or use"
                    " spark.read"
                )
    elif streaming is False:
        _refuse_offset(starting, Bound.LATEST, "startingOffsets")
        _refuse_offset(ending, Bound.EARLIEST, "endingOffsets")
    most = options.get("maxOffsetsPerTrigger")
    least = options.get("minOffsetsPerTrigger")
    if most is not None and least is not None and least > most:
        raise SourceOptionError(
            f"option minOffsetsPerTrigger is {least}: it must not be above maxOffsetsPerTrigger,"
            f" which is {most}"
        )
    strategy = options.get("startingOffsetsByTimestampStrategy")
    return SourceOptions(
        topics=topics,
        starting=starting,
        ending=Bound.LATEST if ending is None else ending,
        time_without_record=Bound.LATEST if strategy == "latest" else None,
        include_headers=options.get("includeHeaders"),
        fail_on_data_loss=options.get("failOnDataLoss"),
        min_partitions=options.get("minPartitions"),
        max_records_per_partition=options.get("maxRecordsPerPartition"),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_ms=options.get("maxTriggerDelay"),
        poll_timeout_ms=options.get("kafkaConsumer.pollTimeoutMs"),
        offset_retries=options.get("fetchOffset.numRetries"),
        offset_retry_ms=options.get("fetchOffset.retryIntervalMs"),
        consumer=consumer,
    )
