"""`kafka-edu quiz`: it plays a chapter's recording, and refuses wrong arguments."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from chapters.quiz_command import quiz


def run(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(quiz, words)
    return result.exit_code, result.output


def test_without_a_chapter_it_lists_them() -> None:
    code, output = run()
    assert code == 0
    assert "The timing wheel" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("99",), "there is no chapter '99'"),
        (("05", "--listen", "everywhere"), "is not ADDRESS[:PORT]"),
        (("05", "--listen", "127.0.0.1:99999"), "is not a port"),
        (("05", "--teams", ","), "--teams names no team"),
        (("05", "--teams", "red,Red"), "a team has the name Red already"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, ...], said: str) -> None:
    code, output = run(*words)
    assert code == 2
    assert said in output


def test_a_file_that_cannot_be_written_is_known_before_the_quiz(tmp_path: Path) -> None:
    code, output = run("05", "--replay", "--teams", "red", "--csv", str(tmp_path / "no" / "f"))
    assert code == 1
    assert "cannot write" in output
