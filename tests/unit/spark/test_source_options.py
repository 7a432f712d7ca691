"""The options of the data source are checked at once, and each complaint says what to give."""

from typing import Any

import pytest

from kafka_edu.spark.source_errors import SourceOptionError, user_error
from kafka_edu.spark.source_options import (
    CONSUMER_OPTIONS,
    OPTIONS,
    AtTime,
    Bound,
    SourceOptions,
    Topics,
    parse_options,
)

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "web, logs"}


def parsed(streaming: bool | None = None, **more: str) -> SourceOptions:
    """Parse the basic options and these. Two underscores in a name stand for a dot."""
    return parse_options(
        {**BASE, **{name.replace("__", "."): text for name, text in more.items()}},
        streaming=streaming,
    )


def test_without_options_the_defaults_are_the_connectors() -> None:
    options = parsed()
    assert options.topics == Topics(names=("logs", "web"))
    assert options.starting is None
    assert options.ending is Bound.LATEST
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.max_offsets_per_trigger is None
    assert options.max_trigger_delay_ms == 15 * 60_000
    assert options.poll_timeout_ms == 120_000
    assert options.consumer.bootstrap_servers == (("127.0.0.1", 9092),)
    assert options.consumer.check_crcs
    assert not options.consumer.read_committed
    assert options.consumer.max_partition_fetch_bytes == 1 << 20


def test_options_are_typed_and_strings_stay_strings() -> None:
    options = parsed(
        includeHeaders="TRUE",
        failOnDataLoss="false",
        maxOffsetsPerTrigger="100",
        maxTriggerDelay="30s",
        kafka__client__id="007",
        kafka__isolation__level="read_committed",
        kafka__check__crcs="false",
    )
    assert options.include_headers
    assert not options.fail_on_data_loss
    assert options.max_offsets_per_trigger == 100
    assert options.max_trigger_delay_ms == 30_000
    assert options.consumer.client_id == "007"
    assert options.consumer.read_committed
    assert not options.consumer.check_crcs


def test_names_of_options_do_not_mind_case() -> None:
    options = parse_options({"KAFKA.Bootstrap.Servers": "h:1", "ASSIGN": '{"t": [2, 0]}'})
    assert options.topics == Topics(assigned={"t": (0, 2)})


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ({"startingOffsets": "earliest"}, Bound.EARLIEST),
        ({"startingOffsets": '{"t": {"0": 23, "1": -2}}'}, {"t": {0: 23, 1: -2}}),
        (
            {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"t": {"0": 5}}'},
            AtTime(None, {"t": {0: 5}}),
        ),
        (
            {"startingTimestamp": "7", "startingOffsetsByTimestamp": '{"t": {"0": 5}}'},
            AtTime(7, None),
        ),
    ],
)
def test_a_timestamp_for_all_wins_over_one_for_each_and_that_over_offsets(
    given: dict[str, str], position: Any
) -> None:
    assert parse_options({**BASE, **given}).starting == position
    ending = {name.replace("starting", "ending"): text for name, text in given.items()}
    assert parse_options({**BASE, **ending}).ending == position


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kafka.bootstrap.servers": ""}, r"kafka.bootstrap.servers is missing: \.option\("),
        ({"kafka.bootstrap.servers": "host"}, "must be host:port"),
        ({"kafka.bootstrap.servers": "host:99999"}, "must be host:port"),
        ({"subscribe": " , "}, "at least one topic"),
        ({"assign": '{"t": [0]}'}, "subscribe and assign are given: give one of"),
        ({"startingOffsets": "soon"}, "'soon': it must be earliest, latest, or JSON like"),
        ({"startingOffsets": '{"t": {"0": true}}'}, "it must be JSON like"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "it must be JSON like .* t-0 is -3"),
        ({"startingOffsets": '{"t": 4}'}, "it must be JSON like"),
        ({"includeHeaders": "maybe"}, "includeHeaders is 'maybe': it must be true or false"),
        ({"maxOffsetsPerTrigger": "0"}, "a whole number, 1 or more"),
        ({"maxOffsetsPerTrigger": "1e3"}, "a whole number, 1 or more"),
        ({"minPartitions": "99999999999"}, "a whole number, 1 to 2147483647"),
        ({"minPartitions": "-1"}, "a whole number, 1 to 2147483647"),
        ({"kafka.receive.buffer.bytes": "-2"}, "a whole number, -1 to 2147483647"),
        ({"maxTriggerDelay": "soon"}, "a time such as 500ms"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "must not be above"),
        ({"kafka.isolation.level": "1"}, "read_uncommitted or read_committed"),
    ],
)
def test_a_wrong_option_is_named(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(SourceOptionError, match=complaint) as refused:
        parse_options({**BASE, **change})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("startingOfsets", "startingOffsets"),
        ("max_offsets_per_trigger", "maxOffsetsPerTrigger"),
        ("failOnDataLos", "failOnDataLoss"),
        ("topics.subscribe.pattern", "subscribePattern"),
        ("path", "docs/spark-options.md"),
        ("kafka.isolationlevel", "kafka.isolation.level"),
        ("kafka.max.partition.fetch.byte", "kafka.max.partition.fetch.bytes"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("kafka.linger", "docs/spark-options.md"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_name(name: str, near: str) -> None:
    with pytest.raises(SourceOptionError, match="is not known") as refused:
        parse_options({**BASE, name: "1"})
    assert near in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("kafka.auto.offset.reset", "latest", "give startingOffsets"),
        ("kafka.key.deserializer", "x", "cast the column key"),
        ("kafka.sasl.mechanism", "PLAIN", "without authentication"),
        ("kafka.ssl.truststore.location", "x", "without TLS"),
        ("kafka.security.protocol", "SSL", "must be PLAINTEXT"),
    ],
)
def test_what_this_source_cannot_do_is_refused(name: str, text: str, complaint: str) -> None:
    with pytest.raises(SourceOptionError, match=complaint):
        parse_options({**BASE, name: text})


def test_settings_that_mean_nothing_here_are_accepted() -> None:
    parsed(kafka__max__poll__records="20000", kafka__group__id="g", groupIdPrefix="mine")
    parsed(kafka__security__protocol="plaintext")


def test_a_batch_cannot_begin_at_latest_and_a_stream_has_no_end() -> None:
    with pytest.raises(SourceOptionError, match="startingOffsets cannot be latest in a batch"):
        parsed(False, startingOffsets="latest")
    with pytest.raises(SourceOptionError, match="startingOffsets cannot be latest for t-1"):
        parsed(False, startingOffsets='{"t": {"0": 1, "1": -1}}')
    with pytest.raises(SourceOptionError, match="endingOffsets cannot be earliest"):
        parsed(False, endingOffsets="earliest")
    with pytest.raises(SourceOptionError, match="endingTimestamp has no meaning in a streaming"):
        parsed(True, endingTimestamp="5")
    assert parsed(True, startingOffsets="latest").starting is Bound.LATEST
    assert parsed(False, maxOffsetsPerTrigger="5").max_offsets_per_trigger == 5


def test_every_default_of_the_tables_is_a_text_that_its_option_takes() -> None:
    for option in (*OPTIONS, *CONSUMER_OPTIONS):
        if option.default and option.name != "startingOffsets":
            option.read(option.name, option.default)


def test_the_line_for_the_user_is_found_in_sparks_text() -> None:
    text = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed: Traceback (most recent call last):\n  File x\n"
        "kafka_edu.spark.source_errors.ClusterError: no broker of h:1 answers\n SQLSTATE: 38000"
    )
    assert user_error(RuntimeError(text)) == "no broker of h:1 answers"
    assert user_error(SourceOptionError("give one")) == "give one"
    assert user_error(RuntimeError("out of memory")) is None
