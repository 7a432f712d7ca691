"""The pipeline's Spark expressions read every line, good or bad, as the Python function `parse`
does, field by field.
"""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kafka_edu.clients.web_log.access_log import AccessLine, Quarantined, parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.spark

LINES = 800
START = datetime(2018, 8, 1, 12, 0, tzinfo=UTC)
GOOD_LINE = (
    b'10.4.7.9 - ann [01/Aug/2018:12:00:00 +0000] "GET /cart HTTP/1.1" 200 512 "-" "curl/7" 1834'
)


def records(spark: "SparkSession", values: list[bytes | None], written: datetime) -> "DataFrame":
    """Return rows with the columns of a topic's records that `parse` reads."""
    return spark.createDataFrame(
        [(0, offset, value, written) for offset, value in enumerate(values)],
        "partition int, offset long, value binary, timestamp timestamp",
    ).coalesce(1)


def generated(lines: int) -> list[bytes]:
    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings

    made = LogGenerator(LogSettings(5, lines_a_second=25.0))
    return made.text.lines(made.next_block(lines)).split(b"\n")[:-1]


def spoilt(lines: list[bytes], random: Random) -> list[bytes]:
    """Return lines, most of which have a random fault more."""
    spoilt = []
    for line in lines:
        at = random.randrange(len(line) + 1)
        byte = random.choice([*b'"[]\\ -9aZ:/\x01\xfc\n', *line])
        spoilt.append(
            random.choice(
                (
                    line[:at],
                    line[:at] + bytes([byte]) + line[at:],
                    line[:at] + bytes([byte]) + line[at + 1 :],
                    line[:at] + line[at + random.randrange(20) :],
                )
            )
        )
    return spoilt


def expected(line: bytes) -> tuple[Any, ...]:
    match parse(line):
        case Quarantined(kept, reason):
            return ("bad", reason.value, kept, None, *[None] * 10)
        case AccessLine() as found:
            time = datetime.fromtimestamp(found.time_s, UTC)
            fields = found._asdict()
            del fields["time_s"]
            return ("good", None, None, time, *fields.values())


def found(row: "Row") -> tuple[Any, ...]:
    fields = row.asDict()
    line, time = fields["line"], fields["time"]
    fields["line"] = None if line is None else bytes(line)
    fields["time"] = None if time is None else time.astimezone(UTC)
    del fields["partition"], fields["offset"]
    return tuple(fields.values())


def test_every_line_is_read_as_the_plain_function_reads_it(spark: "SparkSession") -> None:
    from kafka_edu.spark.pipeline_lines import parse as parse_in_spark

    right = generated(LINES)
    lines = [*right, *spoilt(right, Random(3))]
    rows = parse_in_spark(records(spark, [*lines], START), 10**11).collect()
    assert [row["offset"] for row in rows] == list(range(len(lines)))
    wrong = [
        (line, expected(line), found(row))
        for line, row in zip(lines, rows, strict=True)
        if expected(line) != found(row)
    ]
    assert not wrong[:3]
    # The lines have all faults there are, and good ones.
    assert len({row["reason"] for row in rows}) == 11


def test_a_line_is_too_late_by_its_own_record(spark: "SparkSession") -> None:
    from kafka_edu.spark.pipeline_lines import CLOCK_AGENT
    from kafka_edu.spark.pipeline_lines import parse as parse_in_spark

    clock = GOOD_LINE.replace(b"curl/7", CLOCK_AGENT.encode())
    values = [GOOD_LINE, clock, b"", None]
    for written_s, kinds in (
        (120, ["good", "clock", "bad", "bad"]),
        (121, ["too_late", "clock", "bad", "bad"]),
    ):
        written = START + timedelta(seconds=written_s)
        rows = parse_in_spark(records(spark, values, written), 120).collect()
        assert [row["kind"] for row in rows] == kinds
        assert [row["reason"] for row in rows][2:] == ["empty", "empty"]


def test_a_field_of_any_length_is_read(spark: "SparkSession") -> None:
    """If Java's regular expressions recursed for each character, a long field would overflow the
    stack.
    """
    from kafka_edu.spark.pipeline_lines import parse as parse_in_spark

    long = rb"a\"" * 50_000
    agent = GOOD_LINE.replace(b"curl/7", long)
    target = GOOD_LINE.replace(b"/cart", b"/" + long)
    rows = parse_in_spark(records(spark, [agent, target, agent[:-9]], START), 120).collect()
    assert [row["kind"] for row in rows] == ["good", "good", "bad"]
    assert rows[0]["agent"].encode() == long
    assert rows[1]["path"].encode() == b"/" + long
    assert rows[2]["reason"] == "cut off"
