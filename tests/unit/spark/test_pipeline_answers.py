"""The pipeline's answers are compared with the truth: each wrong number is found, and named
once.
"""

from pathlib import Path

import pytest

from kafka_edu.clients.web_log.access_log import AccessLine, parse


@pytest.fixture(autouse=True)
def _spark() -> None:
    """Skip all tests where PySpark is not installed. So each test itself imports the code that
    needs PySpark.
    """
    pytest.importorskip("pyarrow", reason="PySpark is not installed: ./kafka-edu setup spark")


def test_a_wrong_number_is_one_difference() -> None:
    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
    from kafka_edu.spark.pipeline_answers import Answers, compare

    made = LogGenerator(LogSettings(3, lines_a_second=4.0))
    made.next_block(9_000)
    truth = made.truth
    right = Answers(
        by_kind={},
        rows=9_000,
        records=9_000,
        by_reason=truth.by_reason,
        by_status=truth.by_status,
        by_path=truth.by_path,
        bytes_sent=truth.bytes_sent,
        too_late_by_window=truth.too_late_by_window,
        windows=truth.windows,
        windows_of_all=truth.windows_of_all,
        windows_written=len(truth.windows),
        sessions=truth.lines_by_session_on_time,
        sessions_written=10,
        session_begins=10,
        apart_s=0,
    )
    assert [row.name for row in compare(right, truth) if row.differences] == []
    begin, window = next(iter(truth.windows.items()))
    wrong_p99 = {**truth.windows, begin: window._replace(p99_us=window.p99_us + 1)}
    without_one = {at: one for at, one in truth.windows.items() if at != begin}
    for changed, names in (
        ({"rows": 9_001}, ["lines", "lines doubled"]),
        ({"rows": 8_999, "records": 8_999}, ["lines", "lines lost"]),
        ({"windows": wrong_p99}, ["windows: exact p99"]),
        (
            {"windows": without_one, "windows_written": len(without_one)},
            [
                "lines in windows + bad + too late",
                "windows: lines",
                "windows: errors (5xx)",
                "windows: exact p99",
            ],
        ),
        ({"windows_written": len(truth.windows) + 1}, ["windows written twice"]),
        ({"session_begins": 9}, ["sessions written twice"]),
        ({"by_status": {**truth.by_status, 599: 1}}, ["good lines, by status"]),
    ):
        found = compare(right._replace(**changed), truth)
        assert [row.name for row in found if row.differences] == names
        assert all(row.differences == 1 for row in found if row.differences)


def test_partitions_are_apart_by_what_each_has_reached() -> None:
    from kafka_edu.spark.pipeline_answers import most_apart

    assert most_apart([]) == 0
    # Partition 1 is not read before batch 1. A late line does not bring a partition back.
    latest = [(0, 0, 100), (1, 0, 90), (1, 1, 40), (2, 1, 95)]
    assert most_apart(latest) == 60


def test_the_clock_line_closes_every_window_and_session() -> None:
    from kafka_edu.spark.pipeline_lines import CLOCK_AGENT
    from kafka_edu.spark.pipeline_log import clock_record
    from kafka_edu.spark.pipeline_settings import PipelineSettings

    settings = PipelineSettings("", "", "", "")
    latest_s = 1_533_081_600
    record = clock_record(latest_s, settings)
    line = parse(record.value)
    assert isinstance(line, AccessLine)
    assert line.agent == CLOCK_AGENT
    assert record.timestamp_ms == line.time_s * 1000
    watermark_s = line.time_s - settings.delay_s
    assert watermark_s > latest_s + settings.window_s
    assert watermark_s > latest_s + settings.gap_s


def test_settings_travel_to_another_process() -> None:
    from kafka_edu.spark.connectors import Connector
    from kafka_edu.spark.pipeline_settings import PipelineSettings

    settings = PipelineSettings("h:1", "t", "/o", "/c", Connector.OFFICIAL, batch_lines=7)
    assert PipelineSettings.from_json(settings.to_json()) == settings


def test_an_unfinished_batch_is_planned_and_not_done(tmp_path: Path) -> None:
    from kafka_edu.spark.pipeline import finished_batches, unfinished_batches

    assert unfinished_batches(str(tmp_path)) == {}
    assert finished_batches(str(tmp_path)) == {}
    for query, log, numbers in (
        ("lines", "offsets", (0, 1, 10)),
        ("lines", "commits", (0, 1)),
        ("windows", "offsets", (0, 1)),
        ("windows", "commits", (0, 1)),
        ("sessions", "offsets", (0,)),
    ):
        (tmp_path / query / log).mkdir(parents=True)
        for number in numbers:
            (tmp_path / query / log / str(number)).touch()
            (tmp_path / query / log / f".{number}.crc").touch()
    assert unfinished_batches(str(tmp_path)) == {"lines": 10, "sessions": 0}
    assert finished_batches(str(tmp_path)) == {"lines": 1, "windows": 1, "sessions": -1}


def test_the_topics_answers_next_to_the_truth() -> None:
    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
    from kafka_edu.spark.topic_answers import (
        TopicLines,
        TopicWindows,
        compare_line_topic,
        compare_window_topic,
    )

    made = LogGenerator(LogSettings(3, lines_a_second=4.0))
    made.next_block(9_000)
    truth = made.truth
    good = truth.lines - truth.bad
    count = len(truth.windows)
    lines = TopicLines(truth.by_status, good, good)
    assert not any(row.differences for row in compare_line_topic(lines, truth))
    right = compare_window_topic(TopicWindows(truth.windows, count), truth)
    assert not any(row.differences for row in right)
    doubled = compare_line_topic(lines._replace(records=good + 1), truth)
    assert [row.name for row in doubled if row.differences] == [
        "topic of lines: records",
        "topic of lines: lines doubled",
    ]
    lost = compare_line_topic(TopicLines(truth.by_status, good - 1, good - 1), truth)
    assert "topic of lines: lines lost" in [row.name for row in lost if row.differences]
    twice = compare_window_topic(TopicWindows(truth.windows, count + 1), truth)
    assert [row.name for row in twice if row.differences] == ["result topic: windows doubled"]


def test_the_windows_that_the_last_record_closes_come_a_batch_later() -> None:
    from kafka_edu.spark.pipeline import watermark_is_at_its_end

    def batch(**times: str) -> dict[str, object]:
        return {"eventTime": {name: f"2018-08-01T{at}:00.000Z" for name, at in times.items()}}

    assert watermark_is_at_its_end(batch(), 720)
    assert not watermark_is_at_its_end(batch(max="02:00", watermark="00:10"), 720)
    assert watermark_is_at_its_end(batch(max="02:00", watermark="01:48"), 720)
    assert watermark_is_at_its_end(batch(watermark="01:48"), 720)  # a batch without records
