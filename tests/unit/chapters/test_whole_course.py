"""The whole course by fast runs goes on where it was left."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from chapters import whole_course
from chapters.learn import learn, way
from chapters.whole_course import Proof, capstone_words, prove, read_proofs, words_of


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps that were run; 01-2 fails."""
    names: list[str] = []

    def run(name: str, words: list[str], console: Console) -> Proof:
        names.append(name)
        return Proof(name, 1.0, name != "01-2")

    monkeypatch.setattr(whole_course, "_run", run)
    return names


def test_each_step_has_a_command_that_proves_it() -> None:
    words = {step.id: words_of(step) for step in way()}
    assert words["chapter-05"] == ["chapter", "05", "--fast"]
    assert words["08-1"] == ["lab", "check", "08-1", "--solutions", "--live"]
    assert capstone_words(Path("x"))[:2] == ["lab", "capstone"]


def test_what_holds_is_not_run_again(tmp_path: Path, ran: list[str]) -> None:
    file, steps = tmp_path / "course.json", way(tmp_path)
    assert not prove(steps, file, Console()).holds
    assert len(ran) == len(steps) + 1
    assert ran[0] == "chapter-00"
    assert ran[-1] == "capstone"
    ran.clear()
    prove(steps, file, Console())
    assert ran == ["01-2"]
    assert {proof.name for proof in read_proofs(file) if not proof.holds} == {"01-2"}


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"name": "else"}), encoding="utf-8")
    result = CliRunner().invoke(learn, ["--dir", str(tmp_path), "--prove", str(file)])
    assert result.exit_code == 1
    assert "is not the record of a run of the course" in result.output
