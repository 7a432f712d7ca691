"""The view of a pipeline, from progress as Spark wrote it for both connectors."""

from typing import Any

import pytest

from kafka_edu.spark.pipeline_view import (
    SPEED_BATCHES,
    Lag,
    PipelineView,
    WindowRow,
    offsets_of,
    seconds_of,
)

QUERIES = ("lines", "windows")
TIME_S = seconds_of("2018-08-01T00:13:06.000Z")


def progress(
    batch: int = 0,
    *,
    rows: int = 0,
    ms: int = 1000,
    end: str | dict[str, Any] = "{}",
    latest: str | dict[str, Any] | None = None,
    times: dict[str, str] | None = None,
    state: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the part of Spark's progress that the view reads."""
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": {"addBatch": ms - 10, "triggerExecution": ms},
        "eventTime": times or {},
        "stateOperators": state or [],
        "sources": [{"startOffset": None, "endOffset": end, "latestOffset": latest}],
    }


def view() -> PipelineView:
    return PipelineView("web", 100_000, 20_000, QUERIES)


@pytest.mark.parametrize(
    "written",
    [
        '{"web": {"0": 5069, "1": 5127}, "topic ids": {"web": "305f994c-777e-48b6-9de3"}}',  # ours
        '{"web":{"1":5127,"0":5069}}',  # the official connector's
        {"web": {"0": 5069, "1": 5127}},
    ],
)
def test_offsets_as_both_connectors_write_them(written: object) -> None:
    assert offsets_of(written, "web") == {0: 5069, 1: 5127}


@pytest.mark.parametrize("nothing", [None, "null", '{"other": {"0": 1}}', '{"web": null}'])
def test_no_offsets(nothing: object) -> None:
    assert offsets_of(nothing, "web") == {}


def test_the_lag_is_that_of_the_query_that_has_read_least() -> None:
    shown = view()
    shown.fed(30, {0: 20, 1: 10}, 0.0)
    shown.batch("lines", progress(end='{"web": {"0": 15, "1": 10}}', rows=25))
    shown.batch("windows", progress(end='{"web": {"0": 4, "1": 5}}', rows=9))
    assert shown.slowest.name == "windows"
    assert shown.lags == [Lag(0, 20, 16), Lag(1, 10, 5)]
    assert shown.behind == 21
    assert not shown.has_read({0: 15, 1: 5})
    shown.batch("windows", progress(1, end='{"web": {"0": 20, "1": 10}}', rows=21))
    assert shown.slowest.name == "lines"
    assert shown.lags == [Lag(0, 20, 5), Lag(1, 10, 0)]
    assert shown.has_read({0: 15, 1: 10})


def test_the_end_of_a_partition_comes_from_the_progress_too() -> None:
    shown = view()
    shown.batch("lines", progress(end='{"web": {"0": 4}}', latest='{"web": {"0": 9, "1": 2}}'))
    assert shown.lags == [Lag(0, 9, 9), Lag(1, 2, 2)]  # of windows, which has read nothing


def test_speed_is_that_of_the_last_batches_by_their_rows() -> None:
    shown = view()
    shown.batch("lines", progress(0, rows=1, ms=60_000))
    for number in range(1, SPEED_BATCHES):
        shown.batch("lines", progress(number, rows=1000, ms=1000))
    shown.batch("lines", progress(SPEED_BATCHES, rows=10, ms=1000))
    shown.batch("lines", progress(SPEED_BATCHES + 1, rows=0, ms=1000))  # it only closes windows
    query = shown.queries["lines"]
    assert query.rows_a_second == pytest.approx(3010 / 4)
    assert query.batches == SPEED_BATCHES + 2
    assert list(query.seconds) == [60, 1, 1, 1, 1, 1]
    assert shown.all_batches[0] == ("lines", 0, 1, 60.0, 1 / 60)


def test_watermark_and_how_far_it_is_behind() -> None:
    shown = view()
    assert (shown.watermark_s, shown.behind_s) == (None, None)
    first = {"max": "2018-08-01T00:06:57.000Z", "watermark": "1970-01-01T00:00:00.000Z"}
    shown.batch("windows", progress(times=first))
    assert (shown.watermark_s, shown.behind_s) == (None, None)
    second = {"max": "2018-08-01T00:13:06.000Z", "watermark": "2018-08-01T00:01:06.000Z"}
    shown.batch("windows", progress(1, times=second))
    assert (shown.newest_line_s, shown.behind_s) == (TIME_S, 720)


def test_the_clock_line_is_not_the_newest_line() -> None:
    shown = view()
    shown.clock(TIME_S + 1081)
    first = {"max": "2018-08-01T00:13:06.000Z", "watermark": "2018-08-01T00:01:06.000Z"}
    shown.batch("windows", progress(0, times=first))
    shown.batch("windows", progress(1, times={**first, "max": "2018-08-01T00:31:07.000Z"}))
    assert shown.newest_line_s == TIME_S


def test_it_is_closed_when_every_state_has_seen_the_clock_line() -> None:
    shown = PipelineView("web", 100, 20, ("lines", "windows", "sessions"))
    state = [{"numRowsTotal": 14, "numRowsDroppedByWatermark": 0}]
    early = {"watermark": "2018-08-01T00:01:06.000Z"}
    late = {"watermark": "2018-08-01T00:19:07.000Z"}
    shown.batch("lines", progress())
    for name in ("windows", "sessions"):
        shown.batch(name, progress(times=early, state=state))
    assert not shown.is_closed(720)
    shown.clock(seconds_of("2018-08-01T00:31:07.000Z"))
    assert not shown.is_closed(720)
    shown.batch("windows", progress(1, times=late, state=state))
    assert not shown.is_closed(720)
    shown.batch("sessions", progress(1, times=late, state=state))
    assert shown.is_closed(720)
    assert shown.queries["sessions"].state_rows == 14


def test_dropped_lines_are_the_first_thing_it_says() -> None:
    shown = view()
    shown.batch("windows", progress(state=[{"numRowsTotal": 1, "numRowsDroppedByWatermark": 3}]))
    assert shown.dropped == 3
    assert not shown.headline.is_well
    assert "3 were behind" in shown.headline.text


def test_the_headline_says_whether_the_pipeline_keeps_up() -> None:
    shown = view()
    shown.fed(0, {}, 0.0)
    assert shown.headline.word == "Begins"
    shown.fed(10_000, {0: 10_000}, 2.0)
    for name in QUERIES:
        shown.batch(name, progress(rows=8000, end='{"web": {"0": 8000}}'))
    assert shown.headline == (
        "Keeps up",
        "5,000 lines/s come in, 8,000 processed; 2,000 lines behind",
        True,
    )
    shown.fed(60_000, {0: 60_000}, 12.0)
    assert (shown.headline.word, shown.headline.is_well) == ("Falls behind", False)
    shown.fed(100_000, {0: 100_000}, 20.0)
    shown.fed(100_000, {0: 100_001}, 20.1)
    shown.clock(TIME_S)
    assert shown.headline.word == "Catches up"
    assert shown.headline.text == "every line is sent; 92,000 lines behind"
    for name in QUERIES:
        shown.batch(name, progress(1, rows=92_000, end='{"web": {"0": 100001}}'))
    assert shown.headline.word == "Closes"


def test_a_slow_query_is_behind_with_less() -> None:
    shown = view()
    shown.fed(0, {}, 0.0)
    shown.fed(30_000, {0: 30_000}, 3.0)
    for name in QUERIES:
        shown.batch(name, progress(rows=5000, end='{"web": {"0": 5000}}'))
    assert shown.headline.word == "Falls behind"  # 25,000 are less than two batches


def test_windows_come_in_order_and_lines_are_added_up() -> None:
    shown = view()
    shown.windows([WindowRow(120, 10, 1, 7), WindowRow(60, 10, 0, 7)])
    shown.windows([WindowRow(0, 10, 0, 7)])
    assert [one.begin_s for one in shown.newest] == [0, 60, 120]
    assert shown.windows_seen == 3
    assert shown.newest[-1].error_rate == 0.1
    shown.kinds({"good": 5, "bad": 1})
    shown.kinds({"good": 2, "too_late": 3})
    assert shown.by_kind == {"good": 7, "bad": 1, "too_late": 3}


def test_the_start_is_the_answer_until_every_query_runs() -> None:
    shown = view()
    shown.starting = "starting query 2 of 4: windows"
    assert shown.headline == ("Starts", "starting query 2 of 4: windows", True)
    shown.starting = ""
    assert shown.headline.word == "Begins"
