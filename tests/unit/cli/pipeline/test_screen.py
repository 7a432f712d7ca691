"""The view of a pipeline on small and wide terminals, without colours, and as plain lines."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from kafka_edu.cli.pipeline.screen import (
    LiveScreen,
    PlainScreen,
    bar,
    draw,
    picture,
    plain_line,
    span_of,
    sparkline,
)
from kafka_edu.spark.pipeline_view import PipelineView, WindowRow, seconds_of

TITLE = "Spark pipeline · topic web · stream · connector python · local[*]"
BEGIN_S = seconds_of("2018-08-01T00:00:00.000Z")
QUERIES = ("lines", "windows", "sessions", "results")


def view(partitions: int = 4) -> PipelineView:
    """Return a view in the middle of a run."""
    shown = PipelineView("web", 100_000, 20_000, QUERIES)
    shown.fed(0, {}, 0.0)
    shown.fed(60_000, dict.fromkeys(range(partitions), 60000 // partitions), 12.0)
    for number in range(3):
        for name in QUERIES:
            shown.batch(
                name,
                {
                    "batchId": number,
                    "numInputRows": 16_000,
                    "durationMs": {"triggerExecution": 2000 + 1000 * number},
                    "eventTime": {
                        "max": "2018-08-01T00:33:06.000Z",
                        "watermark": "2018-08-01T00:21:06.000Z",
                    },
                    "stateOperators": [{"numRowsTotal": 14, "numRowsDroppedByWatermark": 0}],
                    "sources": [
                        {
                            "endOffset": {
                                "web": dict.fromkeys(range(partitions), 48_000 // partitions)
                            }
                        }
                    ],
                },
            )
    shown.kinds({"good": 47_000, "bad": 700, "too_late": 300})
    shown.windows(WindowRow(BEGIN_S + 60 * n, 1500, n % 4 * 20, 900_000 + n) for n in range(30))
    return shown


def text_of(shown: PipelineView, width: int, height: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=False, no_color=True)
    console.print(draw(shown, TITLE, width, height))
    return out.getvalue()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (110, 30), (60, 20)])
@pytest.mark.parametrize("partitions", [1, 4, 24])
def test_it_fits_and_the_answer_is_first(width: int, height: int, partitions: int) -> None:
    lines = text_of(view(partitions), width, height).splitlines()
    assert len(lines) <= height or (height == 20 and len(lines) <= 24)
    assert all(len(line) <= width for line in lines)
    assert lines[1].startswith(" Keeps up ")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_what_it_shows(width: int, height: int) -> None:
    text = text_of(view(), width, height)
    for wanted in (
        "5,000 lines/s come in",
        "12,000 lines behind",
        "60,000 of 100,000 lines sent",
        "5,333",  # rows/s
        "▄▆█",  # the batch times
        "lag by partition, of lines",
        "3,000",
        "watermark 00:21:06, 12 min 0 s behind line 00:33:06",
        "47,000 good · 700 bad · 300 too late · 0 dropped",
        "00:29:00",  # the newest window
        "4.0 %",
        "900 ms",
    ):
        assert wanted in text, wanted
    assert "\x1b" not in text


def test_before_the_first_batch() -> None:
    shown = PipelineView("web", 100, 20, QUERIES)
    for size in ((80, 24), (120, 40)):
        text = text_of(shown, *size)
        assert "Begins" in text
        assert "no batch has set it yet" in text
        assert "none is complete yet" in text


def test_a_live_screen_leaves_the_terminal_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")  # nothing can be drawn on a dumb one
    out = io.StringIO()
    console = Console(file=out, width=80, height=24, force_terminal=True, color_system="standard")
    with LiveScreen(console, TITLE) as screen:
        screen.show(view())
    assert out.getvalue().index("\x1b[?1049h") < out.getvalue().index("Keeps up")
    assert out.getvalue().endswith("\x1b[?25h\x1b[?1049l")


def test_plain_lines_have_no_control_codes_and_are_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    monkeypatch.setattr("kafka_edu.cli.pipeline.screen.time.monotonic", clock)
    out = io.StringIO()
    shown = view()
    with PlainScreen(Console(file=out, force_terminal=False)) as screen:
        screen.show(shown)
        first = plain_line(shown) + "\n"
        assert out.getvalue() == first
        shown.fed(61_000, {}, 13.0)
        now[0] += 0.1
        screen.show(shown)  # too soon
        assert out.getvalue() == first
        now[0] += 2
        screen.show(shown)
        now[0] += 10
        screen.show(shown)  # nothing new
    assert out.getvalue().count("\n") == 2
    assert "\x1b" not in out.getvalue()
    assert "61,000 of 100,000 lines sent" in out.getvalue()


def test_a_picture_needs_no_network() -> None:
    svg = picture(view(), TITLE)
    assert svg.startswith("<svg")
    assert "@font-face" not in svg
    assert "Keeps" in svg


def test_a_sparkline_shows_the_newest_values_as_shares_of_the_highest() -> None:
    assert sparkline([9, 1, 2, 4, 8], 4) == "▁▂▄█"
    assert sparkline([0, 0], 4) == "▁▁"
    assert sparkline([], 4) == ""


def test_a_bar_has_eighths() -> None:
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert bar(7, 3) == "███"
    assert bar(-1, 3) == "   "


def test_spans() -> None:
    assert [span_of(one) for one in (None, 9, 751)] == ["–", "9 s", "12 min 31 s"]


def test_the_start_is_shown_in_the_view_and_as_a_plain_line() -> None:
    shown = PipelineView("web", 100, 20, QUERIES)
    shown.starting = "starting query 2 of 4: windows"
    for size in ((80, 24), (120, 40)):
        lines = text_of(shown, *size).splitlines()
        assert lines[1].strip() == "Starts  starting query 2 of 4: windows"
    assert plain_line(shown) == "Starts: starting query 2 of 4: windows"
