"""The words of a presentation's page, drawn with their emphasis."""

import os
import subprocess
from pathlib import Path

import pytest

from kafka_edu.instruments.presenter.break_tools import Idea
from kafka_edu.instruments.presenter.page import Line, Role
from tui.palette import DARK
from tui.presenter.break_screen import shell_command
from tui.presenter.panel import draw

pytestmark = pytest.mark.tui


@pytest.mark.parametrize(
    ("words", "shown", "new"),
    [
        ("It has a *watermark* (水位线).", "It has a watermark (水位线).", ["watermark"]),
        ("*at least once*. *Why?", "at least once. *Why?", ["at least once"]),
        ("local[*], local[2] and 2 * 3 * 4", "local[*], local[2] and 2 * 3 * 4", []),
        ("ls *.py a*b*c **", "ls *.py a*b*c **", []),
    ],
)
def test_a_new_word_is_in_italics(words: str, shown: str, new: list[str]) -> None:
    text = draw([Line(Role.SAY, words)], DARK)
    assert text.plain == shown
    assert [text.plain[a.start : a.end] for a in text.spans if "italic" in str(a.style)] == new


def test_the_second_terminal_shows_the_commands_and_has_them_in_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "the history"
    history.write_text("./kafka-edu why --cluster 'c'\n")
    shell = tmp_path / "a shell"
    shell.write_text('#!/bin/sh\necho "$HISTFILE: $(cat "$HISTFILE")"\npwd\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.chdir(tmp_path)
    words = shell_command([Idea("It's 5 %.", ("./kafka-edu why --cluster 'c'",))], history)
    done = subprocess.run(["/bin/sh", "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "1 It's 5 %.",
        "    ./kafka-edu why --cluster 'c'",
        "",
        "exit closes this terminal.",
        f"{history}: ./kafka-edu why --cluster 'c'",
        os.path.realpath(tmp_path),
    ]
    assert not history.exists()
