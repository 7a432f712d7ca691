"""Chapter 02 gives the book's figures, and draws the wheel from the wheel's own events."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from chapters.ch02_timing_wheel import figures as drawing
from chapters.ch02_timing_wheel.story import Story, tell
from chapters.command import chapter, find_chapters
from kafka_edu.trace.events.timer import WheelState


def told(folder: Path | None = None) -> tuple[dict[str, object], str]:
    console = Console(record=True, width=160, file=io.StringIO())
    numbers = tell(console, folder)
    return numbers, console.export_text()


def test_tells_the_numbers_of_the_book() -> None:
    numbers, text = told()
    assert numbers["figure-6-7-a"] == [["2 ms", 1, 2]]
    assert numbers["figure-6-7-b"] == [["8 ms", 1, 10], ["19 ms", 1, 1]]
    assert numbers["figure-6-8-a"] == [["350 ms", 2, 17]]
    assert numbers["figure-6-8-b"] == [[f"{ms} ms", 3, 1] for ms in (450, 446, 455, 473)]
    assert ["450 ms", 2, 2] in numbers["at-400"]  # type: ignore[operator]
    assert ["450 ms", 1, 10] in numbers["at-440"]  # type: ignore[operator]
    assert numbers["clock"] == [[3, 3], [2, 25], [1, 40]]
    assert "450 ms 450 ms is due, and runs" in " ".join(text.split())
    assert "Errata" in text
    assert numbers["cost"] == {
        "tasks": 300,
        "wake_ups": 301,
        "ticks": 30_900,
        "moves_a_task": pytest.approx(1.5, abs=0.1),
    }


def test_each_event_is_told_at_its_time() -> None:
    story = Story()
    story.add(350)
    assert [at_ms for at_ms, _ in story.until(400)] == [340, 350]


def test_draws_the_wheels_that_were_told_as_dot(tmp_path: Path) -> None:
    told(tmp_path)
    source = (tmp_path / "figure-6-8-b.dot").read_text(encoding="utf-8")
    assert source.count("<td port=") == 60
    assert 'w3:s1 -> w2 [label="4 at 400 ms"]' in source
    assert 'w2:s17 -> w1 [label="1 at 340 ms"]' in source
    assert source.startswith("digraph")
    assert source.endswith("}\n")


def test_the_svg_comes_only_with_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert drawing.write_figure(tmp_path, "x", "digraph { a }") == [tmp_path / "x.dot"]


def test_due_times_and_hands_are_read_from_the_event() -> None:
    wheel = WheelState(
        timer="t",
        level=2,
        tick_ms=20,
        wheel_size=20,
        current_time_ms=460,
        tasks_by_slot=(0,) * 20,
        made_ms=0,
        made_for_delay_ms=0,
    )
    assert drawing.hand(wheel) == 3
    assert [drawing.due_ms(wheel, slot) for slot in (3, 4, 2)] == [460, 480, 840]


def test_spans_are_short() -> None:
    assert [drawing.span(ms) for ms in (1, 20, 400, 8_000, 160_000, 3_200_000, 64_000_000)] == [
        "1 ms",
        "20 ms",
        "400 ms",
        "8 s",
        "2.67 min",
        "53.3 min",
        "17.8 h",
    ]


def test_the_command_lists_reads_and_runs(tmp_path: Path) -> None:
    run = CliRunner(env={"COLUMNS": "160"})
    assert "The timing wheel" in run.invoke(chapter, []).output
    assert "Errata" in run.invoke(chapter, ["2", "--read"]).output
    report = tmp_path / "chapter.json"
    result = run.invoke(chapter, ["02", "--no-live", "--json", str(report)])
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["figures"]["told"]["figure-6-7-a"] == [["2 ms", 1, 2]]
    unknown = run.invoke(chapter, ["77"])
    assert unknown.exit_code == 2
    assert "there is no chapter '77'" in unknown.output


def test_each_chapter_has_its_five_parts() -> None:
    for one in find_chapters().values():
        text = one.readme.read_text(encoding="utf-8")
        for part in ("## Read", "## Run", "## Watch", "## Break", "## Do", "## Errata", "## Words"):
            assert part in text, f"{one.name} lacks {part}"
        assert one.title.startswith(one.number)
