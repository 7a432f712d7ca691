"""Options of the sink: what is refused, and with which line."""

from pathlib import Path

import pytest

from kafka_edu.spark.sink_options import (
    OPTIONS,
    PRODUCER_OPTIONS,
    REFUSED,
    WITHOUT_EFFECT,
    Delivery,
    parse_sink_options,
)
from kafka_edu.spark.source_errors import SourceOptionError

SERVERS = {"kafka.bootstrap.servers": "h:1,i:2"}


def test_defaults_are_those_of_the_page() -> None:
    found = parse_sink_options(SERVERS, streaming=True)
    assert found.topic is None
    assert found.delivery is Delivery.AT_LEAST_ONCE
    assert found.producer.bootstrap_servers == (("h", 1), ("i", 2))
    assert found.producer.codec == 0
    assert found.producer.delivery_timeout_ms == 120_000


def test_names_have_no_case_and_strings_stay_strings() -> None:
    given = {**SERVERS, "TOPIC": "t", "kafka.Compression.Type": "LZ4", "kafka.client.id": "007"}
    found = parse_sink_options(given, streaming=False)
    assert found.topic == "t"
    assert found.producer.codec == 3
    assert found.producer.client_id == "007"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "option kafka.bootstrap.servers is missing"),
        ({**SERVERS, "topics": "t"}, r"option topics is not known: did you mean topic\?"),
        ({**SERVERS, "kafka.lingerms": "5"}, "did you mean kafka.linger.ms"),
        ({**SERVERS, "subscribe": "t"}, "docs/spark-sink.md lists them all"),
        ({**SERVERS, "topic": "a,b"}, "it must be one topic"),
        ({**SERVERS, "delivery": "twice"}, "at-least-once or exactly-once"),
        ({**SERVERS, "kafka.acks": "1"}, "it must be all"),
        ({**SERVERS, "kafka.compression.type": "zip"}, "none or gzip or snappy or lz4 or zstd"),
        ({**SERVERS, "kafka.key.serializer": "x"}, "cast the column key"),
        ({**SERVERS, "kafka.sasl.mechanism": "PLAIN"}, "without authentication"),
        ({**SERVERS, "kafka.security.protocol": "SSL"}, "it must be PLAINTEXT"),
        ({**SERVERS, "delivery": "exactly-once"}, "only a streaming query numbers its batches"),
    ],
)
def test_what_is_wrong_is_one_line(given: dict[str, str], line: str) -> None:
    with pytest.raises(SourceOptionError, match=line) as refused:
        parse_sink_options(given, streaming=False)
    assert "\n" not in str(refused.value)


def test_the_page_shows_every_option_with_its_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "spark-sink.md").read_text(encoding="utf-8")
    for option in (*OPTIONS, *PRODUCER_OPTIONS):
        default = f"`{option.default}`" if option.default else ""
        assert f"| `{option.name}` | {default} | {option.meaning} |" in page
    for name in (*WITHOUT_EFFECT, *REFUSED):
        assert f"`{name}" in page
