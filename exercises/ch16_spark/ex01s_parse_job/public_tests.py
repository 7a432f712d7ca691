"""Public tests of exercise 16-1s. Run them with `kafka-edu lab check 16-1s`. The learner's job runs
in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, Rows, SparkLearner
from ..jobs import RECORDS, check_columns, check_no_python, closest, records_of, shown
from ..log_lines import Line, Parts, cut, random_line, spoilt

LINES: Final = 300
COLUMNS: Final = {
    "partition": "int",
    "offset": "bigint",
    "kind": "string",
    "line": "binary",
    "time": "timestamp",
    "client": "string",
    "method": "string",
    "path": "string",
    "status": "int",
    "size": "bigint",
    "agent": "string",
    "duration_us": "bigint",
}
GOOD: Final = Parts().line()


class Checked:
    """Runs the learner's job over lines whose right answers are known."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def run(self, values: Sequence[bytes | None]) -> Rows:
        """Run the job over records with these values, and check the columns."""
        rows = self._learner.batch(RECORDS, records_of(values))
        check_columns(f"build(spark, {len(values)} records)", rows, COLUMNS)
        return rows

    def agrees(self, *lines: Line) -> None:
        """Raise Mismatch unless the job returns the right row for each line."""
        values = [line.text.encode("latin-1") for line in lines]
        why = dict(zip([row[3:5] for row in records_of(values)], lines, strict=True))
        came = self.run(values).rows
        right = [
            right_row(record, line) for record, line in zip(records_of(values), lines, strict=True)
        ]
        asked = f"build(spark, {len(values)} records)"
        check_places(asked, came, right)
        for row, expected in zip(came, sorted(right, key=repr), strict=True):
            if row != expected:
                raise Mismatch(
                    asked,
                    shown(list(COLUMNS), expected),
                    shown(list(COLUMNS), row),
                    why_of(why[expected[0:2]], row, expected),
                    drawing=why[expected[0:2]].drawn(),
                    read="build",
                )


def check_places(asked: str, came: Sequence[Row], right: Sequence[Row]) -> None:
    """Raise Mismatch unless each record has exactly one row in the result."""
    places, wanted = [row[0:2] for row in came], [row[0:2] for row in right]
    lost = [place for place in wanted if place not in places]
    if lost or len(places) != len(wanted):
        why = (
            f"the record at partition {lost[0][0]}, offset {lost[0][1]} has no row: a bad line goes"
            " into quarantine, it is not dropped"
            if lost
            else "a record has more than one row"
        )
        raise Mismatch(asked, f"{len(wanted)} rows", f"{len(places)} rows", why, read="build")


def right_row(record: Row, line: Line) -> Row:
    """Return the right row of the result for a record."""
    _, value, _, partition, offset, *_ = record
    if line.answer[0] == "bad":
        return (partition, offset, "bad", value, *([None] * 8))
    _, client, time_s, method, path, status, size, agent, duration = line.answer
    assert isinstance(time_s, int)
    moment = datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat(" ")
    return (
        partition,
        offset,
        "good",
        None,
        moment,
        client,
        method,
        path,
        status,
        size,
        agent,
        duration,
    )


def why_of(line: Line, came: Row, expected: Row) -> str:
    """Return a text that explains why the expected row is right."""
    at = next(i for i, pair in enumerate(zip(came, expected, strict=True)) if pair[0] != pair[1])
    name = list(COLUMNS)[at]
    if name == "kind":
        return f"the line is {expected[2]}" + (f": {line.why}" if line.why else "")
    said = f"{name} should be {expected[at]!r}, and is {came[at]!r}"
    return f"{said}: {line.why}" if line.why else said


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's job, with a check of its rows."""
    return Checked(learner)


def test_columns(job: Checked) -> None:
    """the result has the right columns, of the right types"""
    job.run([GOOD.text.encode()])


def test_good(job: Checked) -> None:
    """good lines: time zones, a size of -, and an agent with backslashes"""
    job.agrees(
        GOOD,
        Parts(user="ann", method="POST", status=303, referrer="http://a/").line(),
        Parts(zone_minutes=120).line("the log's clock is 2 hours ahead of UTC"),
        Parts(zone_minutes=-210).line("the log's clock is 3 h 30 min behind UTC"),
        Parts(size=None, status=304).line("a size of - means 0 bytes"),
        Parts(agent='Kiosk "7"').line(r"\" stands for a quote inside a quoted field"),
        Parts(agent="[01/Aug/2018] 999 -").line("what is between quotes belongs to the field"),
        Parts(agent="").line("the agent may be empty"),
    )


def test_every_record(job: Checked) -> None:
    """a null value, an empty value and noise each have a row"""
    values: list[bytes | None] = [None, b"", b"\x16\x03\x01\x02", GOOD.text.encode(), b"-"]
    came = job.run(values).rows
    records = records_of(values)
    right: list[Row] = [
        (record[3], record[4], "bad", record[1], *([None] * 8))
        for record in records
        if record[1] != GOOD.text.encode()
    ]
    right.append(right_row(records[3], GOOD))
    asked = "build(spark, 5 records: null, empty, a handshake of TLS, a good line, a dash)"
    check_places(asked, came, right)
    missing = [row for row in right if row not in came]
    if missing:
        expected, row = closest(missing, [row for row in came if row not in right])
        raise Mismatch(
            asked,
            shown(list(COLUMNS), expected),
            shown(list(COLUMNS), row),
            "the value of a record may be null or empty, and is a bad line then",
            read="build",
        )


def test_no_such_time(job: Checked) -> None:
    """days, months and hours that do not exist make a line bad, and do not end the job"""
    job.agrees(
        *(
            spoilt(GOOD, "time", f"[{text}]", why)
            for text, why in (
                ("31/Feb/2018:20:15:07 +0000", "February has no day 31"),
                ("29/Feb/2019:20:15:07 +0000", "2019 has no 29th of February"),
                ("01/Aug/2018:24:00:00 +0000", "an hour is 0 to 23"),
                ("01/Mrz/2018:20:15:07 +0000", "there is no such month"),
                ("01/Aug/2018:20:15:07", "it has no time zone"),
            )
        ),
        Parts(time_s=1_582_934_400).line("2020 has a 29th of February"),
    )


def test_bad_field(job: Checked) -> None:
    """one field is wrong"""
    job.agrees(
        *(
            spoilt(GOOD, name, text, why)
            for name, text, why in (
                ("request", '"GET /my cart HTTP/1.1"', "a path has no space"),
                ("request", '"get / HTTP/1.1"', "a method is capital letters"),
                ("status", "99", "a status is 100 to 599"),
                ("status", "600", "a status is 100 to 599"),
                ("size", "-7", "a size is digits, or -"),
                ("size", "1e3", "a size is digits, or -"),
                ("referrer", "-", "it is not in quotes"),
                ("agent", '"a"b"', "a quote inside it has no backslash"),
                ("duration", "0.25", "a duration is digits alone"),
                ("duration", "-", "a duration is digits alone"),
            )
        )
    )


def test_cut(job: Checked) -> None:
    """the line ends too early, or has more than ten fields"""
    job.agrees(
        *(cut(GOOD, fields) for fields in range(1, len(GOOD.fields))),
        *(
            Line((*GOOD.fields, more), ("bad", "end"), "something follows the last field")
            for more in ("7", "", '"x"')
        ),
        Line((*GOOD.fields[:9], "99\n"), ("bad", "end"), "a newline follows the last field"),
    )


def test_not_text(job: Checked) -> None:
    """a character that is not printable ASCII"""
    why = "a character that is not printable ASCII"
    job.agrees(
        *(
            Line((*GOOD.fields[:8], text, GOOD.fields[9]), ("bad", "line"), why)
            for text in ('"B\xfccher"', '"a\tb"', '"a\x7f"')
        )
    )


def test_many(job: Checked, seed: int) -> None:
    """hundreds of random lines, good and bad ones"""
    random = Random(seed)
    job.agrees(*(random_line(random) for _ in range(LINES)))


def test_no_python(job: Checked) -> None:
    """Spark's plan runs no Python for the lines"""
    check_no_python("the plan of build(spark, records)", job.run([GOOD.text.encode()] * 4))
