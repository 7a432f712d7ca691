"""The console producer turns options into settings of our producer, and reports what failed."""

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from kafka_edu.clients.blocking import producer as blocking
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.metadata import PartitionInfo, TopicInfo
from kafka_edu.clients.producer.partitioners import HashOrTurnPartitioner
from kafka_edu.clients.producer.producer_batch import Callback
from kafka_edu.clients.producer.producer_config import ProducerConfig, parse_producer_config
from kafka_edu.common.errors import Errors
from kafka_edu.common.murmur2 import partition_of_key
from kafka_edu.tools.console_producer import (
    CLOSE_AFTER_CTRL_C_S,
    ProducerOptions,
    _settings,
    main,
)
from kafka_edu.tools.tool import ToolError
from kafka_edu.trace.tracer import Tracer

GIVEN = ("--broker-list", "a:1", "--topic", "t")


def settings(*words: str) -> ProducerConfig:
    options = ProducerOptions()
    given = options.parser.parse([*GIVEN, *words])
    return parse_producer_config(_settings(options, given, "a:1"), 1)


def test_a_record_lives_as_long_as_its_tries() -> None:
    """request.timeout.ms is 1500, linger 1000, and there are three retries with 100 ms between
    them.

    With the default of delivery.timeout.ms, the tool would say nothing for two minutes.
    """
    assert settings().delivery_timeout_ms == 1000 + 4 * 1500 + 3 * 100
    words = ["--timeout", "0", "--message-send-max-retries", "0", "--request-timeout-ms", "700"]
    assert settings(*words).delivery_timeout_ms == 700
    assert settings("--producer-property", "retries=2147483647").delivery_timeout_ms == 2**31 - 1
    assert settings("--producer-property", "delivery.timeout.ms=9999").delivery_timeout_ms == 9999


@pytest.mark.parametrize(
    ("words", "acks"),
    [
        ([], 1),
        (["--request-required-acks", "all"], -1),
        (["--producer-property", "acks=all"], -1),
        (["--producer-property", "acks=all", "--request-required-acks", "0"], 0),
    ],
)
def test_an_option_comes_before_a_property_and_this_before_a_default(
    words: list[str], acks: int
) -> None:
    assert settings(*words).acks == acks


def test_each_option_has_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("compression.type=lz4\nclient.id=mine\nbuffer.memory=9999\n")
    found = settings(
        *("--producer.config", str(file), "--producer-property", "buffer.memory=77777"),
        *("--max-partition-memory-bytes", "500", "--timeout", "7", "--retry-backoff-ms", "8"),
        *("--metadata-expiry-ms", "9", "--max-block-ms", "10"),
    )
    assert (found.compression.name, found.client_id, found.buffer_memory) == ("LZ4", "mine", 77777)
    assert (found.batch_size, found.linger_ms, found.retry_backoff_ms) == (500, 7, 8)
    assert (found.metadata_max_age_ms, found.max_block_ms) == (9, 10)
    assert settings().client_id == "console-producer"
    assert settings("--max-memory-bytes", "88888").buffer_memory == 88888
    assert settings("--compression-codec").compression.name == "GZIP"


@pytest.mark.parametrize(
    ("property", "java_class", "message"),
    [
        ("acks=5", "org.apache.kafka.common.config.ConfigException", "must be one of: all, -1"),
        ("linger.ms=soon", "org.apache.kafka.common.config.ConfigException", "type LONG"),
        ("sasl.mechanism=PLAIN", "org.apache.kafka.common.config.ConfigException", "no SASL"),
        ("partitioner.class=x", "org.apache.kafka.common.config.ConfigException", "partitioner x"),
    ],
)
def test_a_setting_that_the_producer_does_not_take_ends_the_tool(
    property: str, java_class: str, message: str
) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        settings("--producer-property", property)
    assert caught.value.java_class == java_class


def test_an_unknown_property_is_one_line_with_the_nearest_right_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = settings("--producer-property", "lingr.ms=5", "--producer-property", "xyz=1")
    assert given.linger_ms == 1_000  # the tool's own default
    close, far = capsys.readouterr().err.splitlines()
    says = "WARN The configuration '{}' was supplied but isn't a known config.{} (org.apache.kafka"
    assert says.format("lingr.ms", " Did you mean linger.ms?") in close
    assert says.format("xyz", "") in far


def test_it_has_no_transactions() -> None:
    with pytest.raises(ToolError, match="This tool has no transactions") as caught:
        settings("--producer-property", "transactional.id=x", "--request-required-acks", "all")
    assert caught.value.java_class == "java.lang.IllegalStateException"


def test_records_without_a_key_take_turns_from_a_partition_of_chance() -> None:
    topic = TopicInfo("t", [PartitionInfo(number, 0, 0) for number in range(3)])
    firsts = set()
    for seed in range(20):
        partitioner = HashOrTurnPartitioner(random.Random(seed))
        turn = [partitioner.partition(topic, None, b"v") for _ in range(6)]
        assert turn == [(turn[0] + i) % 3 for i in range(6)]
        assert partitioner.partition(topic, b"key", b"v") == partition_of_key(b"key", 3)
        firsts.add(turn[0])
    assert firsts == {0, 1, 2}


class Future:
    """The future of a record that has its answer."""

    def __init__(self, error: ClientException | None) -> None:
        self._error = error

    def result(self) -> None:
        if self._error is not None:
            raise self._error


class Producer:
    """Stands in for our producer, and refuses each record whose value is `bad`."""

    sent: ClassVar[list[tuple[bytes | None, bytes]]] = []
    flushed = closed = False
    closed_within_s: float | None = None
    interrupted_flush = False
    """Whether the user presses Ctrl-C while the tool waits in flush."""

    def __init__(self, config: Mapping[str, object], *, trace: Tracer) -> None:
        Producer.sent, Producer.flushed, Producer.closed = [], False, False
        Producer.closed_within_s = None

    def __enter__(self) -> "Producer":
        return self

    def __exit__(self, *error: object) -> None:
        Producer.closed = True

    def send(
        self, topic: str, value: bytes, key: bytes | None, *, on_delivery: Callback | None = None
    ) -> Future:
        Producer.sent.append((key, value))
        if value == b"ctrl-c":
            raise KeyboardInterrupt
        refused = BrokerException(Errors.MESSAGE_TOO_LARGE, "It is too large")
        error = refused if value == b"bad" else None
        if on_delivery is not None:
            on_delivery(None, error)
        return Future(error)

    def flush(self) -> None:
        if Producer.interrupted_flush:
            raise KeyboardInterrupt
        Producer.flushed = True

    def close(self, timeout_s: float) -> None:
        Producer.closed_within_s = timeout_s


def run(monkeypatch: pytest.MonkeyPatch, text: str, *words: str) -> int:
    monkeypatch.setattr(blocking, "Producer", Producer)
    with tempfile.TemporaryFile("w+") as typed:
        typed.write(text)
        typed.seek(0)
        monkeypatch.setattr("sys.stdin", typed)
        return main([*GIVEN, *words])


TOO_LARGE = "org.apache.kafka.common.errors.RecordTooLargeException: It is too large"


def test_a_record_that_fails_is_logged_and_the_next_one_is_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "bad\ngood\n") == 0
    assert Producer.sent == [(None, b"bad"), (None, b"good")]
    err = capsys.readouterr().err
    assert "sending message to topic t with key: null, value: 3 bytes with error:" in err
    assert err.endswith(f"{TOO_LARGE}\n")


def test_with_sync_a_record_that_fails_ends_the_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "good\nbad\ngood\n", "--sync") == 1
    assert Producer.sent == [(None, b"good"), (None, b"bad")]
    assert capsys.readouterr().err == f"java.util.concurrent.ExecutionException: {TOO_LARGE}\n"
    assert Producer.flushed
    assert Producer.closed


def test_what_was_read_before_a_wrong_line_is_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--property", "parse.key=true", "--property", "key.separator=:"]
    assert run(monkeypatch, "a:b\nc\nd:e\n", *words) == 1
    assert Producer.sent == [(b"a", b"b")]
    assert Producer.flushed
    assert capsys.readouterr().err.endswith("No key found on line 2: c\n")


def test_a_closed_input_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main([*GIVEN]) == 1
    said = "java.io.IOException: standard input is closed: no line can be read\n"
    assert capsys.readouterr().err == said


def test_after_ctrl_c_it_waits_only_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, "one\nctrl-c\n")
    assert (Producer.closed_within_s, Producer.flushed) == (CLOSE_AFTER_CTRL_C_S, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [("one\n", []), ("bad\n", ["--sync"])],
    ids=["after the end of input", "after a failure"],
)
def test_ctrl_c_in_the_last_wait_ends_it_within_the_same_time(
    monkeypatch: pytest.MonkeyPatch, text: str, words: list[str]
) -> None:
    monkeypatch.setattr(Producer, "interrupted_flush", True)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, text, *words)
    assert Producer.closed_within_s == CLOSE_AFTER_CTRL_C_S
