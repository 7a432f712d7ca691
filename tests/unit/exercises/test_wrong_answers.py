"""Wrong answers are edits of the reference solution. An edit that does not fit it is reported."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.command import lab
from exercises.mutation_run import mutants_of
from exercises.prove import prove_wrong
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from exercises.wrong_answers import WrongAnswerError, wrong_answer, wrong_answers

EXERCISE = find_exercise("02-1")
ROW = """\
[[wrong]]
name = "rounded"
why = "the tick is rounded up."
test = "test_350_ms"
reason = "10 ms after the task"
"""
EDIT = "[[wrong.edit]]\nold = '{old}'\nnew = '{new}'\n"


def made(folder: Path, rows: str) -> Exercise:
    """Return an exercise with a reference solution of four lines and these wrong answers."""
    solution, wrong = folder / "solution.py", folder / "wrong.toml"
    solution.write_text('"""Exercise 02-1: right."""\n\na = 1\nb = 1\n', encoding="utf-8")
    wrong.write_text(rows, encoding="utf-8")
    return EXERCISE._replace(solution=solution, wrong=wrong)


@pytest.mark.parametrize("exercise", load_manifest().values(), ids=lambda one: one.id)
def test_every_wrong_answer_applies(exercise: Exercise) -> None:
    answers = wrong_answers(exercise)
    assert [one.number for one in answers] == list(range(1, len(answers) + 1))
    assert len({one.name for one in answers}) == len({one.source() for one in answers}) >= 4
    for one in answers:
        module = ast.parse(one.source())
        assert ast.get_docstring(module) == f"Exercise {exercise.id}, wrong: {one.why}"


def test_there_is_no_wrong_answer_beside_those_of_the_manifest() -> None:
    files = [path for path in (ROOT / "wrong").rglob("*") if path.is_file()]
    assert sorted(files) == sorted(one.wrong for one in load_manifest().values())


def test_several_edits_apply_in_any_order(tmp_path: Path) -> None:
    rows = ROW + EDIT.format(old="b = 1", new="b = 3") + EDIT.format(old="a = 1", new="a = 2")
    answer = wrong_answer(made(tmp_path, rows), "rounded")
    assert answer == wrong_answer(answer.exercise, "1")
    assert answer.edited() == '"""Exercise 02-1: right."""\n\na = 2\nb = 3\n'
    assert (
        answer.source() == '"""Exercise 02-1, wrong: the tick is rounded up."""\n\na = 2\nb = 3\n'
    )


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([("c = 1", "c = 2")], "`old` of edit 1 is in solution.py 0 times, but must be there"),
        ([("a = 1", "a = 2"), (" = 1", " = 2")], "`old` of edit 2 is in solution.py 2 times"),
        ([("", "c = 1")], "`old` of edit 1 is in solution.py 0 times"),
        ([("a = 1", "a = 2"), ("a =", "c =")], "`old` of edit 2 overlaps with that of another"),
    ],
)
def test_an_edit_that_does_not_apply_names_its_row(
    tmp_path: Path, edits: list[tuple[str, str]], says: str
) -> None:
    rows = ROW + "".join(EDIT.format(old=old, new=new) for old, new in edits)
    exercise = made(tmp_path, rows)
    (answer,) = wrong_answers(exercise)
    with pytest.raises(WrongAnswerError, match=f"^02-1/1 rounded: {says}"):
        answer.source()
    with pytest.raises(WrongAnswerError, match="02-1/1 rounded"):
        list(prove_wrong([answer], 1))
    with pytest.raises(WrongAnswerError, match="02-1/1 rounded"):
        mutants_of(exercise)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (ROW, "02-1/1 rounded: there is no `edit`"),
        (ROW.replace("test", "tests") + EDIT.format(old="a", new="c"), "there is no `test`"),
        (
            ROW + "tests = 1\n" + EDIT.format(old="a", new="c"),
            "02-1/1 rounded: `tests` means nothing",
        ),
    ],
)
def test_a_row_that_is_not_whole_is_named(tmp_path: Path, rows: str, says: str) -> None:
    with pytest.raises(WrongAnswerError, match=says):
        wrong_answers(made(tmp_path, rows))


def test_wrong_answers_are_tried_as_mutants_unless_they_take_more_than_public_tests() -> None:
    changes = [mutant.change for mutant in mutants_of(EXERCISE)]
    public = [one for one in wrong_answers(EXERCISE) if not one.hidden]  # others pass these tests
    assert changes[-len(public) :] == [f"wrong answer {one.name}" for one in public]
    operate = find_exercise("03-5")
    by_hand = [one for one in mutants_of(operate) if one.change.startswith("wrong answer")]
    assert len(by_hand) == sum(not one.live for one in wrong_answers(operate)) == 4


def test_a_wrong_answer_is_shown_as_a_difference(tmp_path: Path) -> None:
    def run(*arguments: str, terminal: bool = False) -> str:
        colours = {"FORCE_COLOR": "1" if terminal else None, "TERM": "xterm", "NO_COLOR": None}
        done = CliRunner(env={"COLUMNS": "60", **colours}).invoke(lab, ["show-wrong", *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    shown = run("02-1/3")
    assert shown.splitlines()[:2] == [
        "02-1/3 rounded_up: the tick is rounded up, so the bucket is due after the task.",
        "It fails test_350_ms, which says: … Your bucket is due 10 ms after the task …",
    ]
    assert "\n--- ex01_timing_wheel_add.py\n+++ 02-1/3 rounded_up\n@@ " in shown
    assert [line.strip() for line in shown.splitlines() if line[:2] in ("- ", "+ ")] == [
        "-            tick, left_over_ms = divmod(expiration_ms, self.tick_ms)",
        "-            return self.level, tick % self.slots[0], left_over_ms",
        "+            tick = -(-expiration_ms // self.tick_ms)",
        "+            return self.level, tick % self.slots[0], expiration_ms - tick * self.tick_ms",
    ]
    assert "\x1b[32m+            tick = -(-expiration_ms" in run("02-1/rounded_up", terminal=True)
    assert len(run("02-1").splitlines()) == len(wrong_answers(EXERCISE))
    file = tmp_path / "wrong.py"
    run("02-1/3", "--to", str(file))
    assert file.read_text(encoding="utf-8") == wrong_answer(EXERCISE, "3").source()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["02-1/9"], 1, "02-1 has no wrong answer '9'; there are: 1 no_overflow, 2 "),
        (["99-1/1"], 2, "there is no exercise '99-1'"),
        (["02-1", "--to", "x"], 2, "as in 02-1/1"),
        (["02-1/1", "--to", "/dev/null/x"], 1, "/dev/null/x cannot be written"),
    ],
)
def test_bad_input_of_show_wrong(arguments: list[str], code: int, says: str) -> None:
    done = CliRunner().invoke(lab, ["show-wrong", *arguments])
    assert done.exit_code == code
    assert says in done.output
