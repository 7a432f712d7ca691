"""The readers that `bench spark-source` compares, and the lines that they read. The tests need no
Spark.
"""

import re
from pathlib import Path
from typing import cast
from unittest import mock

import pytest

from benchmarks.spark_source import (
    JOBS,
    LINE_BYTES,
    PAIRS,
    STATUS,
    JobFailed,
    Measured,
    add_busy,
    add_to_report,
    contenders,
    in_turns,
    lines,
    measure,
)
from kafka_edu.cli.report import Report


def test_every_pair_is_of_two_contenders_that_differ_in_nothing_but_what_their_names_say() -> None:
    by_name = {one.name: one for one in contenders("127.0.0.1:1", Path("lines"))}
    for ours, theirs, least in PAIRS:
        assert by_name[ours].format == "kafka-edu"
        if least is None:
            continue
        assert by_name[theirs].format == "kafka"
        checks = {by_name[name].options.get("kafka.check.crcs") for name in (ours, theirs)}
        assert len(checks) == 1, "one side checks checksums, the other does not"


def test_lines_have_the_same_length_and_the_same_text_each_time() -> None:
    found = list(lines(500))
    assert len(found) == 500
    assert {len(line) for line in found} == {LINE_BYTES}
    assert found == list(lines(500))
    assert all(re.match(STATUS.encode(), line) for line in found)


def test_ratios_are_of_the_runs_of_one_turn_and_the_fixed_time_is_taken_off() -> None:
    names = [one.name for one in contenders("127.0.0.1:1", Path("lines"))]
    few = Measured({name: [1.0, 1.0, 1.0] for name in names})
    # the machine is three times as slow in the second turn, for both
    seconds = {name: [2.0, 6.0, 2.0] for name in names} | {"official": [4.0, 9.0, 5.0]}
    report = Report("spark-source")
    said = add_to_report(report, "here", 1000, all_lines=Measured(seconds), few=few)
    assert report.figures["here: ours, rows/s"] == 500
    assert report.figures["here: ours, fixed s"] == 1.0
    assert report.figures["here: ours / official, turn by turn"] == "1.50 to 2.50"
    assert report.figures["here: ours / official, without fixed s"] == 4.0
    default, tuned = report.targets
    assert (default.name, default.value, default.target) == ("here: ours / official", 2.0, 1.3)
    assert default.holds
    assert (tuned.value, tuned.target) == (1.0, 1.0)
    assert "/ official 2.00 (1.50 to 2.50)" in said


def test_turns_alternate_and_the_first_is_the_warm_up() -> None:
    rivals = contenders("127.0.0.1:1", Path("lines"))[:2]
    assert [(turn, rival.name) for turn, rival in in_turns(rivals, 2)] == [
        *((0, "official"), (0, "ours")),
        *((1, "ours"), (1, "official")),
        *((2, "official"), (2, "ours")),
    ]


def test_beside_hogs_the_target_is_not_to_be_slower() -> None:
    report = Report("spark-source")
    few = Measured({"ours": [2.0, 5.0, 4.0], "official": [3.0, 4.0, 4.0]})
    said = add_busy(report, "noop", 4, few)
    (target,) = report.targets
    assert target.name == "4 hogs a core, noop of 4 lines: ours / official"
    assert (target.value, target.target, target.holds) == (1.0, 1.0, True)
    assert report.figures["4 hogs a core, noop of 4 lines: ours, s"] == 4.0
    assert said.endswith("ours 4.00 s, official 4.00 s, ratio 1.00 (0.80 to 1.50)")


def test_a_job_that_fails_or_finds_other_rows_gives_no_figure_but_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    from pyspark.errors import StreamingQueryException

    said = "[STREAM_FAILED] Python worker failed to connect back.\n=== Streaming Query ==="

    def fail(*_: object) -> int:
        raise StreamingQueryException(said)

    spark, rivals = mock.Mock(), contenders("127.0.0.1:1", Path("lines"))[:1]
    monkeypatch.setitem(cast("dict[str, object]", JOBS), "noop", fail)
    with pytest.raises(JobFailed) as failed:
        measure(spark, rivals, "noop", rows=7, repeats=1)
    assert str(failed.value) == (
        "ours failed in noop: [STREAM_FAILED] Python worker failed to connect back. Run this again"
        " when the machine is less busy."
    )
    monkeypatch.setitem(cast("dict[str, object]", JOBS), "noop", lambda *_: 6)
    with pytest.raises(JobFailed, match=r"ours found 6 of 7 rows in noop\."):
        measure(spark, rivals, "noop", rows=7, repeats=1)
