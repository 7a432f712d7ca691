"""The figures, the targets and the table of `bench spark-scale`, without Spark."""

import pytest
from rich.console import Console

from benchmarks.spark_scale import (
    FORMATS,
    Case,
    Cost,
    Row,
    median_of,
    report_of,
    rivals_on,
    row_of,
    table_of,
)

FOUND = {
    Case("count", 1, 1): {"ours": Row(2.0, 4.0, 3.0), "official": Row(3.0, 5.0, 6.0)},
    Case("count", 1, 4): {"ours": Row(2.0, 4.0, 3.0), "official": Row(3.0, 5.0, 6.0)},
    Case("count", 2, 4): {"ours": Row(1.25, 2.0, None), "official": Row(1.0, 2.5, None)},
}


def test_the_fixed_time_is_taken_off_before_the_time_is_divided_by_the_rows() -> None:
    row = row_of(Cost(3.0, 2.0), Cost(1.0, 0.5), 1_000_000)
    assert row == pytest.approx(Row(3.0, 2.0, 1.5))
    assert row_of(Cost(3.0, None), Cost(1.0, None), 1_000_000).processor_us is None


def test_too_few_rows_have_no_time_of_their_own() -> None:
    row = row_of(Cost(1.0, 0.5), Cost(1.1, 0.5), 1_000)
    assert row == Row(1.0, None, None)
    report = report_of({Case("count", 1, 1): {"ours": row, "official": row}}, 1_000)
    assert not [name for name in report.figures if "µs a row" in name]


def test_an_unknown_processor_time_gives_no_median() -> None:
    assert median_of([3.0, 1.0, 2.0]) == 2.0
    assert median_of([3.0, None, 2.0]) is None


def test_both_connectors_get_the_same_options() -> None:
    ours, official = rivals_on("127.0.0.1:9092", "lines")
    assert (ours.format, official.format) == tuple(FORMATS.values()) == ("kafka-edu", "kafka")
    assert ours.options == official.options


def test_targets_are_for_the_topic_with_most_partitions() -> None:
    report = report_of(FOUND, 500_000)
    assert report.figures["lines"] == 500_000
    assert [(one.name, one.value, one.holds) for one in report.targets] == [
        ("count, 1 worker, 4 partitions: official s / ours s", 1.5, True),
        ("count, 2 workers, 4 partitions: official s / ours s", 0.8, False),
        ("count, 2 workers, 4 partitions: as fast as one worker, ours", 1.6, True),
    ]
    assert report.figures["count, 1 worker, 1 partition: official, µs a row"] == 5.0
    assert report.figures["count, 1 worker, 4 partitions: ours, processor µs a row"] == 3.0
    assert "count, 2 workers, 4 partitions: ours, processor µs a row" not in report.figures


def test_the_table_has_a_line_for_each_case() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table_of(FOUND, 500_000))
    lines = captured.get().splitlines()
    assert lines[0].startswith("500,000 rows, ours / Spark's own connector")
    last = [line for line in lines if "count" in line][-1]
    cells = [cell.strip() for cell in last.strip("│").split("│")]
    assert cells == ["count", "2", "4", "1.25 / 1", "2 / 2.5", "- / -"]
