"""Exercises in the page: the same tests and the same messages as `lab check`.

The page's pytest runs in its own process, so these tests start one too.
"""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import page.exercise
from exercises.runner.check import check_public
from exercises.runner.manifest import PYTHON, find_exercise, load_manifest
from exercises.show import show_public
from exercises.wrong_answers import wrong_answers

ROOT = Path(__file__).resolve().parents[3]
SEED = 7
CHECKS = """\
import json, sys
from pathlib import Path
import page.exercise

class Page:
    def __init__(self):
        self.begun = []
    def begins(self, test):
        self.begun.append(test)

for number, (exercise, text) in enumerate(json.load(sys.stdin)):
    shown = Page()
    folder = Path(sys.argv[1], str(number))
    said = json.loads(page.exercise.check(exercise, text, shown, folder, int(sys.argv[2])))
    print(json.dumps(said | {"begun": shown.begun}))
"""


def checked(tmp_path: Path, *checks: tuple[str, str]) -> list[dict[str, object]]:
    """Check these texts as the page does, one after the other in one process."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, str(tmp_path), str(SEED)],
        cwd=ROOT,
        input=json.dumps(checks),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_check_says_what_lab_check_says(tmp_path: Path) -> None:
    exercise = find_exercise("07-3")
    wrong = wrong_answers(exercise)[0].source()
    solution = exercise.solution.read_text(encoding="utf-8")
    starter = exercise.starter.read_text(encoding="utf-8")
    failed, passed, untouched, unloaded = checked(
        tmp_path, ("07-3", wrong), ("07-3", solution), ("07-3", starter), ("07-3", "def f(:\n")
    )
    file = tmp_path / exercise.file
    file.write_text(wrong, encoding="utf-8")
    shown = io.StringIO()
    console = Console(file=shown, width=page.exercise.COLUMNS, color_system=None)
    show_public(console, check_public(exercise, file, SEED))
    assert str(failed["text"]).splitlines() == [
        line.rstrip() for line in shown.getvalue().splitlines()
    ]
    assert [passed["passed"], failed["passed"], unloaded["passed"]] == [True, False, False]
    assert failed["line"]
    begun = passed["begun"]
    assert isinstance(begun, list)
    assert begun[0] == "loading truncation.py"
    assert "test_example" in begun
    assert "truncation.py is still the starter" in str(untouched["text"])
    assert "truncation.py, line 1: SyntaxError" in str(unloaded["text"])


def test_the_exercises_of_the_page_need_no_process() -> None:
    ours = [one for one in load_manifest().values() if one.page]
    assert {one.chapter[:2] for one in ours} == {f"0{number}" for number in range(1, 8)}
    assert {(one.kind, one.engine, one.material) for one in ours} == {("build", PYTHON, "")}
    left_out = [
        one.id
        for one in load_manifest().values()
        if one.kind == "build" and one.chapter[:2] <= "07" and not one.page
    ]
    assert left_out == []
    listed = json.loads(page.exercise.exercises())
    assert [row["id"] for row in listed] == [one.id for one in ours]


def test_an_exercise_is_shown_with_its_task_and_hints() -> None:
    shown = json.loads(page.exercise.opened("02-1"))
    exercise = find_exercise("02-1")
    assert shown["starter"] == exercise.starter.read_text(encoding="utf-8")
    assert "<h2>What is given</h2>" in shown["task"]
    assert len(shown["hints"]) == len(exercise.hints())
    with pytest.raises(KeyError, match="the page has no exercise '16-1'"):
        page.exercise.opened("16-1")
