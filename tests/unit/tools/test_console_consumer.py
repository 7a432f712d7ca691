"""How the console consumer ends: with exit code 0 at its own limits, and with a message and exit
code 1 after an error of its client.
"""

from collections.abc import Mapping

import pytest

from kafka_edu.clients.blocking import consumer as blocking
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.fetched_records import RecordUnreadableException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.record import InvalidRecordError
from kafka_edu.record.record_batch import TimestampType
from kafka_edu.tools.console_consumer import ConsumerOptions, check, consume
from kafka_edu.tools.tool import ToolError
from kafka_edu.trace.tracer import Tracer

T0 = TopicPartition("t", 0)


class Consumer:
    """Stands in for our consumer: gives four records, two at a time, then does what `ends` says."""

    ends: ClientException | None = None
    sought: int | None = None

    def __init__(self, config: Mapping[str, object], *, trace: Tracer) -> None:
        Consumer.sought = None
        self._records = [
            ConsumerRecord("t", 0, i, 0, TimestampType.CREATE_TIME, None, b"v%d" % i, (), 0)
            for i in range(4)
        ]

    def subscribe(self, topics: list[str]) -> None:
        pass

    def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        if not self._records and self.ends is not None:
            raise self.ends
        polled, self._records = self._records[:2], self._records[2:]
        return polled

    def assignment(self) -> list[TopicPartition]:
        return [T0]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition == T0
        Consumer.sought = offset

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            RecordUnreadableException(T0, 4, InvalidRecordError("a varint is too long")),
            b"org.apache.kafka.common.InvalidRecordException: Received exception when fetching the"
            b" next record from t-0 at offset 4: a varint is too long\n",
        ),
        (
            BrokerException(Errors.INVALID_TOPIC_EXCEPTION, "Topic t is bad"),
            b"org.apache.kafka.common.errors.InvalidTopicException: Topic t is bad\n",
        ),
    ],
    ids=["damaged", "refused"],
)
def test_an_error_of_the_client_is_told_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    error: ClientException,
    line: bytes,
) -> None:
    monkeypatch.setattr(Consumer, "ends", error)
    assert run(monkeypatch) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"v0\nv1\nv2\nv3\n"
    assert b"Error processing message, terminating consumer process" in err
    assert line in err
    assert err.endswith(b"Processed a total of 4 messages\n")


def test_a_record_that_was_not_shown_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--max-messages", "3") == 0
    assert Consumer.sought == 3
    assert run(monkeypatch, "--max-messages", "2") == 0
    assert Consumer.sought is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fetch.min.bytes=soon"], "Not a number of type INT"),
        (["sasl.mechanism=PLAIN"], "there is no SASL"),
        (["security.protocol=SSL"], "connections are never encrypted"),
    ],
)
def test_a_setting_that_the_client_does_not_take_ends_the_tool(
    monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        run(monkeypatch, "--consumer-property", *words)
    assert caught.value.java_class == "org.apache.kafka.common.config.ConfigException"


def test_an_unknown_setting_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--consumer-property", "no.such=1", "--consumer-property", "send.buffer.bytes=1"]
    assert run(monkeypatch, *words, "--max-messages", "1") == 0
    warnings = [line for line in capfd.readouterr().err.splitlines() if "WARN" in line]
    assert len(warnings) == 1
    assert "The configuration 'no.such' was supplied but isn't a known config." in warnings[0]


def test_its_own_limits_end_with_0(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(monkeypatch, "--timeout-ms", "10") == 0
    assert b"TimeoutException" in capfdbinary.readouterr().err
    assert run(monkeypatch, "--max-messages", "1") == 0


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(blocking, "Consumer", Consumer)
    options = ConsumerOptions()
    reading = check(
        options, options.parser.parse(["--bootstrap-server", "a:1", "--topic", "t", *words])
    )
    return consume(reading)
