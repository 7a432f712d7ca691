"""Exercises whose numbers are one learner's own."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.ch02_timing_wheel.ex04_off_by_one.material import make, run
from exercises.ch02_timing_wheel.ex05_predict.material import plan, right_answers
from exercises.ch02_timing_wheel.places import Wheels
from exercises.command import lab
from exercises.runner.check import check_public
from exercises.runner.manifest import find_exercise
from exercises.runner.workplace import Workplace

DEBUG = find_exercise("02-4")
PREDICT = find_exercise("02-5")


def test_each_learner_gets_a_run_of_its_own(tmp_path: Path) -> None:
    works = [Workplace(DEBUG, tmp_path / name) for name in ("one", "other")]
    for work in works:
        assert work.start()
        assert work.record.seed
        shown = (work.folder / "events.txt").read_text(encoding="utf-8")
        assert shown == make(work.record.seed)["events.txt"]
    assert [work.record.seed for work in works] == [1, 2], "no test draws a seed at random"
    works[0].reset()
    assert (works[0].folder / "events.txt").read_text(encoding="utf-8") == make(
        works[0].record.seed
    )["events.txt"]
    assert works[0].record.seed == 3


@pytest.mark.parametrize("seed", range(20))
def test_every_run_has_one_task_that_is_exactly_one_round_late(seed: int) -> None:
    lines, found = run(seed)
    wrong = lines[found.number - 1]
    assert found.late_ms == 20
    assert wrong.text == "runs"
    assert wrong.time_ms == wrong.deadline_ms + 20
    ran_before = [line for line in lines[: found.number - 1] if line.text == "runs"]
    assert all(line.time_ms == line.deadline_ms for line in ran_before)


def test_the_diagnosis_of_another_learner_fails() -> None:
    """The reference's numbers are those of seed 0."""
    (seed, number) = next(
        (seed, run(seed)[1].number) for seed in range(1, 50) if run(seed)[1] != run(0)[1]
    )
    failed = {o.test: o for o in check_public(DEBUG, DEBUG.solution, 1, material=seed).public}
    assert [test for test, outcome in failed.items() if not outcome.passed] == ["test_event"]
    shown = failed["test_event"].message
    assert not re.search(rf"\b{number}\b", shown.partition("your code answered")[0]), (
        "the check does not give the answer away"
    )


def answer(work: Workplace, **others: object) -> None:
    """Write the right answers into a workplace, but for some."""
    answers = right_answers(work.record.seed) | others
    work.file.write_text(f"def answers():\n    return {answers!r}\n", encoding="utf-8")


def test_a_wrong_prediction_is_answered_by_the_events_and_by_new_numbers(tmp_path: Path) -> None:
    run = CliRunner(env={"COLUMNS": "200"})
    work = Workplace(PREDICT, tmp_path)
    work.start()
    check = ["check", "02-5", "--dir", str(tmp_path)]

    unanswered = work.record.seed
    answer(work, b_first=None)
    shown = run.invoke(lab, check).output
    assert 'the answer "b_first" is not written yet' in shown
    assert work.record.seed == unanswered, "nothing was given away"

    answer(work, a_due_ms=1)
    result = run.invoke(lab, check)
    assert result.exit_code == 1
    assert "TimerTaskDemoted    A" in result.output
    assert "These numbers cannot be used again" in result.output
    assert work.record.seed != unanswered
    questions = (work.folder / "questions.md").read_text(encoding="utf-8")
    assert f"{plan(work.record.seed).a_ms:,} ms" in questions

    answer(work)
    result = run.invoke(lab, check)
    assert result.exit_code == 0
    assert "02-5 passed" in result.output
    assert work.record.state == "passed"


def test_a_prediction_is_not_watched(tmp_path: Path) -> None:
    Workplace(PREDICT, tmp_path).start()
    result = CliRunner().invoke(lab, ["watch", "02-5", "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "can be checked once" in result.output


@pytest.mark.parametrize("seed", range(30))
def test_the_events_of_a_run_agree_with_the_rules(seed: int) -> None:
    """The answers come from the events. The rules of the wheels give the same answers."""
    numbers, answers = plan(seed), right_answers(seed)
    at_0 = Wheels(1, (20,), 0).place(numbers.a_ms)
    at_b = Wheels(1, (20,), numbers.d_ms).place(numbers.b_ms)
    assert at_0 is not None
    assert at_b is not None
    assert answers["a_first"] == (at_0.level, at_0.slot)
    assert answers["a_due_ms"] == numbers.a_ms - at_0.left_over_ms
    assert answers["b_first"] == (at_b.level, at_b.slot)
