"""The meaning of --to-datetime, --by-duration and --from-file."""

from datetime import UTC, datetime

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.offset_reset import before, export_text, parse_datetime, parse_plan
from kafka_edu.tools.options import NumberError
from kafka_edu.tools.tool import ToolError


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2018-01-31T12:00:00.000", "2018-01-31T12:00:00+00:00"),
        ("2018-01-31T12:00:00.123Z", "2018-01-31T12:00:00.123+00:00"),
        ("2018-01-31T12:00:00.000+02", "2018-01-31T10:00:00+00:00"),
        ("2018-01-31T12:00:00.000-05:30", "2018-01-31T17:30:00+00:00"),
        ("2018-13-32T25:00:00.000", "2019-02-02T01:00:00+00:00"),  # Java's calendar is lenient
    ],
)
def test_a_date_is_in_utc_unless_it_says_otherwise(text: str, moment: str) -> None:
    assert parse_datetime(text) == ms(moment)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("yesterday", "yesterdayZ"), ("2018-01-31T12:00", "2018-01-31T12:00Z"), ("2018T-", "2018T-")],
)
def test_what_is_no_date(text: str, shown: str) -> None:
    with pytest.raises(ToolError, match=f'^Unparseable date: "{shown}"$'):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("duration", "moment"),
    [
        ("PT0S", "2024-03-31T12:00:00+00:00"),
        ("P1D", "2024-03-30T12:00:00+00:00"),
        ("P1M", "2024-02-29T12:00:00+00:00"),
        ("P1Y2M3DT4H5M6.5S", "2023-01-28T07:54:53.500+00:00"),
        ("-P1D", "2024-04-01T12:00:00+00:00"),
    ],
)
def test_a_duration_counts_back_by_the_calendar(duration: str, moment: str) -> None:
    assert before(datetime(2024, 3, 31, 12, tzinfo=UTC).timestamp(), duration) == ms(moment)


@pytest.mark.parametrize("duration", ["P", "1D", "PT", "P1DT", "P1H", ""])
def test_what_is_no_duration(duration: str) -> None:
    with pytest.raises(ToolError):
        before(0, duration)


def test_what_is_exported_can_be_read_again() -> None:
    plan = {TopicPartition("a", 0): 5, TopicPartition("b", 10): 0}
    assert export_text(plan) == "a,0,5\nb,10,0\n"
    assert parse_plan(export_text(plan)) == plan
    with pytest.raises(ToolError, match="topic,partition,offset is wanted, not a,0"):
        parse_plan("a,0\n")
    with pytest.raises(NumberError, match=r'^For input string: "x"$'):
        parse_plan("a,0,x")
