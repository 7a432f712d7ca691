"""Exercises whose numbers are one learner's own."""

import re
from pathlib import Path

import pytest

from exercises.ch02_timing_wheel.ex04_off_by_one.material import make, run
from exercises.runner.check import check_public
from exercises.runner.manifest import find_exercise
from exercises.runner.workplace import Workplace

DEBUG = find_exercise("02-4")


def test_each_learner_gets_a_run_of_its_own(tmp_path: Path) -> None:
    works = [Workplace(DEBUG, tmp_path / name) for name in ("one", "other")]
    for work in works:
        assert work.start()
        assert work.record.seed
        shown = (work.folder / "events.txt").read_text(encoding="utf-8")
        assert shown == make(work.record.seed)["events.txt"]
    before = works[0].record.seed
    works[0].reset()
    assert (works[0].folder / "events.txt").read_text(encoding="utf-8") == make(
        works[0].record.seed
    )["events.txt"]
    assert {before, works[0].record.seed, works[1].record.seed} != {before}


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
