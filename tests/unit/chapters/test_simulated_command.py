"""`chapter NN --sim`: the presentation of a chapter on a simulated cluster, and its continuation
after the learner has left.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from chapters import command
from chapters.chapter import find_chapters
from chapters.left_cluster import left_file
from tui.presenter.run import Outcome, screen_names

LEFT_US = 5_000_000


class Presented:
    """Stands in for the presenter: it shows nothing, and the learner leaves after 5 s."""

    def __init__(self) -> None:
        self.finished = False
        self.scenes: list[tuple[str, bool, int | None]] = []
        """(text of the scenario, whether it hurries, the time that it goes on at)."""

    screen_names = staticmethod(screen_names)

    @contextmanager
    def simulated_scene(
        self, name: str, file: Path, *, hurry: bool, reach_us: int | None
    ) -> Iterator[SimpleNamespace]:
        assert name == "chapter-10"
        self.scenes.append((file.read_text(encoding="utf-8"), hurry, reach_us))
        yield SimpleNamespace(feed=None, folder=None)

    def run_presentation(self, *_: Any, **__: Any) -> Outcome:
        return Outcome(self.finished, {}, (), 0 if self.finished else LEFT_US)


@pytest.fixture
def presented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Presented:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    stage = Presented()
    monkeypatch.setattr(command, "presenter", lambda: stage)
    return stage


def start(*, fast: bool = False, from_start: bool = False) -> None:
    command._run_simulated(find_chapters()["10"], True, fast, from_start, None)


def test_the_next_start_goes_on_where_the_learner_left(presented: Presented) -> None:
    start()
    start()
    first, second = presented.scenes
    assert first[0].startswith("# The cluster of chapter 10, in virtual time.\n> cluster brokers=")
    assert first[1:] == (False, None)
    assert second == (first[0], False, LEFT_US)
    presented.finished = True
    start()
    assert not left_file("10").path.exists(), "the learner has seen the end"
    start(from_start=True)
    assert [reach for _, _, reach in presented.scenes] == [None, LEFT_US, LEFT_US, None]


def test_from_start_begins_again_and_fast_keeps_no_place(
    presented: Presented, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[object] = []
    monkeypatch.setattr(command, "show_values", lambda *values: shown.append(values))
    start()
    start(from_start=True)
    assert presented.scenes[-1][2] is None
    left_file("10").forget()
    start(fast=True)
    assert len(shown) == 1, "only a fast run compares the values of the page"
    assert presented.scenes[-1][1:] == (True, None)
    assert not left_file("10").path.exists()


def test_after_a_change_the_chapter_begins_again_and_says_so(
    presented: Presented, capsys: pytest.CaptureFixture[str]
) -> None:
    start()
    assert "begins again" not in capsys.readouterr().out
    text = left_file("10").path.read_text(encoding="utf-8")
    left_file("10").path.write_text(text.replace('"code": "', '"code": "older'), encoding="utf-8")
    start()
    assert presented.scenes[-1][2] is None
    said = capsys.readouterr().out
    assert "the script or the code has changed since you left, so the chapter begins again" in said


def test_steps_that_are_left_out_are_named(
    presented: Presented, capsys: pytest.CaptureFixture[str]
) -> None:
    start()
    assert "left out: step 13, As many required copies as replicas: it needs the act" in (
        capsys.readouterr().out
    )


def test_a_chapter_that_cannot_be_simulated_says_why(presented: Presented) -> None:
    chosen = find_chapters()["05"].parts()["ensemble"]
    with pytest.raises(click.ClickException, match="cannot run on a simulated cluster: it needs 3"):
        command._run_simulated(chosen, True, False, False, None)
    assert presented.scenes == []
