"""Read the pipeline's results back from Parquet, and compare them with the generator's correct
counts.

This module does not know how the results were made: in a batch or a stream, with which connector,
with or without a crash. All results are compared with the same correct counts, number by number.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_edu.clients.web_log.truth import WindowTruth

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_edu.clients.web_log.truth import LogTruth

Window = WindowTruth


class Answers(NamedTuple):
    """All numbers in the pipeline's results. Times are in seconds since 1970."""

    by_kind: dict[str, int]
    """Kind of line → number of lines."""
    rows: int
    """The number of lines in Parquet."""
    records: int
    """The number of different records in Parquet. A line that was written twice counts once."""
    by_reason: dict[str, int]
    by_status: dict[int, int]
    by_path: dict[str, int]
    bytes_sent: int
    too_late_by_window: dict[int, int]
    windows: dict[int, Window]
    """The windows that the query for windows has written, sorted by their start."""
    windows_of_all: dict[int, Window]
    """The windows of all good lines in Parquet, including the lines that are too late."""
    windows_written: int
    """The number of rows of windows. If it is larger than the number of `windows`, a window was
    written twice.
    """
    sessions: dict[int, int]
    """Length of a session in lines → number of sessions with this length."""
    sessions_written: int
    """The number of rows of sessions."""
    session_begins: int
    """The number of different pairs of client and begin. If it is smaller than `sessions_written`,
    a session was written twice.
    """
    apart_s: int
    """The largest lead of one partition over another at the end of a batch, in seconds of the log's
    time.
    """


def read_answers(spark: "SparkSession", out: str, window_s: int) -> Answers:
    """Read the results in a folder. The lines are read several times, each time with different
    columns.
    """
    from pyspark.sql.functions import col, count, count_distinct, unix_seconds
    from pyspark.sql.functions import max as max_of
    from pyspark.sql.functions import sum as sum_of

    from kafka_edu.spark.pipeline import LINES, SESSIONS, WINDOWS
    from kafka_edu.spark.pipeline import windows as count_windows
    from kafka_edu.spark.pipeline_lines import BAD, CLOCK, GOOD, TOO_LATE

    lines = spark.read.parquet(f"{out}/{LINES}").where(col("kind") != CLOCK)
    counts = (
        lines.groupBy("kind", "reason", "status")
        .agg(count("*").alias("lines"), sum_of("size").alias("bytes"))
        .collect()
    )
    by_kind: dict[str, int] = {}
    by_reason: dict[str, int] = {}
    by_status: dict[int, int] = {}
    for row in counts:
        by_kind[row["kind"]] = by_kind.get(row["kind"], 0) + row["lines"]
        if row["kind"] == BAD:
            by_reason[row["reason"]] = row["lines"]
        else:
            by_status[row["status"]] = by_status.get(row["status"], 0) + row["lines"]
    read = lines.where(col("kind").isin(GOOD, TOO_LATE))
    late = read.where(col("kind") == TOO_LATE)
    begin = unix_seconds("time") - unix_seconds("time") % window_s
    in_seconds = (unix_seconds("begin").alias("begin"), "lines", "errors", "p99_us")
    latest = (
        read.groupBy("batch", "partition").agg(unix_seconds(max_of("time")).alias("last")).collect()
    )
    written = spark.read.parquet(f"{out}/{WINDOWS}").select(*in_seconds).collect()
    visits = spark.read.parquet(f"{out}/{SESSIONS}")
    lengths = visits.groupBy("lines").count().collect()
    return Answers(
        by_kind,
        sum(by_kind.values()),
        lines.select(count_distinct("partition", "offset")).collect()[0][0],
        by_reason,
        by_status,
        {row["path"]: row["count"] for row in read.groupBy("path").count().collect()},
        sum(row["bytes"] or 0 for row in counts),
        {row[0]: row[1] for row in late.groupBy(begin).count().collect()},
        _windows(written),
        _windows(count_windows(read, window_s).select(*in_seconds).collect()),
        len(written),
        {row["lines"]: row["count"] for row in lengths},
        sum(row["count"] for row in lengths),
        visits.select("client", "begin").distinct().count(),
        most_apart([(row["batch"], row["partition"], row["last"]) for row in latest]),
    )


def rows_of(spark: "SparkSession", folder: str) -> tuple[int, int]:
    """Return the number of lines in a folder of lines, and the number of different records."""
    from pyspark.sql.functions import col, count, count_distinct

    from kafka_edu.spark.pipeline_lines import CLOCK

    lines: DataFrame = spark.read.parquet(folder).where(col("kind") != CLOCK)
    [(rows, records)] = lines.agg(count("*"), count_distinct("partition", "offset")).collect()
    return rows, records


def _windows(rows: Sequence[Any]) -> dict[int, Window]:
    """Return the windows, sorted by their start. The rows have the columns of `pipeline.windows`,
    with the begin in seconds.
    """
    return {row["begin"]: Window(row["lines"], row["errors"], row["p99_us"]) for row in rows}


def most_apart(latest: Sequence[tuple[int, int, int]]) -> int:
    """Return the largest lead of one partition over another, in seconds of the log's time.

    Each entry of `latest` is (batch, partition, latest time that the batch has read from the
    partition). Only batches count that come after every partition has been read at least once.
    """
    partitions = {partition for _, partition, _ in latest}
    last: dict[int, int] = {}
    apart_s = 0
    for batch in sorted({batch for batch, _, _ in latest}):
        for at, partition, time_s in latest:
            if at == batch:
                last[partition] = max(time_s, last.get(partition, 0))
        if last.keys() == partitions:
            apart_s = max(apart_s, max(last.values()) - min(last.values()))
    return apart_s


class Comparison(NamedTuple):
    """One row of a comparison: a number in the results, and the correct number."""

    name: str
    truth: int
    """The correct number."""
    found: int
    differences: int
    """How many of the compared numbers differ."""


def compare(answers: Answers, truth: "LogTruth") -> list[Comparison]:
    """Return a row for every number, with the result and the correct number. The results are right
    if no row has a difference.
    """
    counted = sum(one.lines for one in answers.windows.values())
    windows = truth.windows
    return [
        compare_numbers("lines", truth.lines, answers.rows),
        compare_numbers("lines lost", 0, truth.lines - answers.records),
        compare_numbers("lines doubled", 0, answers.rows - answers.records),
        compare_tables("bad lines, by reason", truth.by_reason, answers.by_reason),
        compare_tables("good lines, by status", truth.by_status, answers.by_status),
        compare_tables("good lines, by path", truth.by_path, answers.by_path),
        compare_numbers("bytes sent", truth.bytes_sent, answers.bytes_sent),
        compare_tables(
            "too late lines, by window", truth.too_late_by_window, answers.too_late_by_window
        ),
        compare_numbers(
            "lines in windows + bad + too late",
            truth.lines,
            counted + sum(answers.by_reason.values()) + sum(answers.too_late_by_window.values()),
        ),
        compare_windows("windows: lines", windows, answers.windows, 0),
        compare_windows("windows: errors (5xx)", windows, answers.windows, 1),
        compare_windows("windows: exact p99", windows, answers.windows, 2),
        compare_numbers("windows written twice", 0, answers.windows_written - len(answers.windows)),
        compare_tables("windows with too late lines", truth.windows_of_all, answers.windows_of_all),
        compare_tables("sessions, by length", truth.lines_by_session_on_time, answers.sessions),
        compare_numbers(
            "sessions written twice", 0, answers.sessions_written - answers.session_begins
        ),
    ]


def compare_numbers(name: str, truth: int, found: int) -> Comparison:
    """Return a row that compares one number."""
    return Comparison(name, truth, found, int(truth != found))


def compare_tables(
    name: str, truth: Mapping[Any, object], found: Mapping[Any, object]
) -> Comparison:
    """Return a row that compares two tables, entry by entry. It shows the sums of both tables, or
    their numbers of entries if the entries are not numbers.
    """
    wrong = sum(truth.get(key) != found.get(key) for key in truth.keys() | found.keys())
    return Comparison(name, _total(truth), _total(found), wrong)


def _total(table: Mapping[Any, object]) -> int:
    numbers = [value for value in table.values() if isinstance(value, int)]
    return sum(numbers) if len(numbers) == len(table) else len(table)


def compare_windows(
    name: str, truth: Mapping[int, Window], found: Mapping[int, Window], field: int
) -> Comparison:
    """Return a row that compares one field of each window. It shows how many windows both sides
    have.
    """
    row = compare_tables(
        name,
        {begin: one[field] for begin, one in truth.items()},
        {begin: one[field] for begin, one in found.items()},
    )
    return row._replace(truth=len(truth), found=len(found))
