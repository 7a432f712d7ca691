"""A recording is turned into an asciicast: the dashboard's frames, with a marker for each step and
fact.
"""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from chapters.chapter import find_chapters
from chapters.command import chapter
from tests.tui.pictures import MOVING, MOVING_MS, PICTURES
from tui.presenter.cast import COLUMNS, ROWS
from tui.presenter.run import screen_names

pytestmark = pytest.mark.tui


@pytest.mark.rotated
def test_the_first_lesson_as_an_asciicast(tmp_path: Path) -> None:
    file = tmp_path / "00.cast"
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(
        chapter, ["00", "--cast", str(file)]
    )
    assert result.exit_code == 0, result.output
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    header = json.loads(head)
    assert (header["version"], header["width"], header["height"]) == (2, COLUMNS, ROWS)
    events = [json.loads(line) for line in lines]
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    script = find_chapters()["00"].script(screen_names())
    markers = [text for _, kind, text in events if kind == "m"]
    steps = [text for text in markers if re.match(r"\d+ ", text)]
    assert steps == [f"{number} {step.title}" for number, step in enumerate(script.steps, 1)]
    assert "✓ the process has ended; nobody got a message" in markers
    bound = {name for step in script.steps for wait in step.expectations for name in wait.bind}
    assert bound <= header["moments"].keys()
    assert all(0 < at <= times[-1] for at in header["moments"].values())
    frames = [text for _, kind, text in events if kind == "o"]
    assert len(frames) > 2 * len(steps)
    rows = [len(re.findall(r"\x1b\[\d+;1H", frame)) for frame in frames]
    assert max(rows) <= ROWS
    assert min(rows) < ROWS / 2, "a frame has only the rows that have changed"
    shown = "".join(frames)
    assert "killed (SIGKILL)" in shown
    assert "You killed broker" in shown, "the last page"


@pytest.mark.rotated
def test_a_cast_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    words = ["00", "--cast", str(tmp_path / "no" / "00.cast")]
    result = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)}).invoke(chapter, words)
    assert result.exit_code == 1
    assert "cannot write" in result.output
    assert "No such file" in result.output


def test_the_first_picture_of_the_readme_moves_and_asks_no_host() -> None:
    text = (PICTURES / f"{MOVING}.svg").read_text(encoding="utf-8")
    assert text.count('<g class="frame"') == len(MOVING_MS)
    assert "prefers-reduced-motion" in text
    assert not re.search(r"""(?:href|src)=["']http|url\(["']?http""", text)
