"""Exercise 18-2: the reference finds all faults, in random notes and in runs with a planted bug."""

import runpy
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from exercises.ch18_two_clocks.history_rules import FAULTS, random_notes, right_faults
from exercises.ch18_two_clocks.live_rule import check_live
from exercises.runner.manifest import find_exercise

EXERCISE = find_exercise("18-2")
broken: Callable[..., Any] = runpy.run_path(str(EXERCISE.solution))["broken"]


def test_the_reference_finds_what_the_slow_rules_find() -> None:
    found: dict[str, int] = dict.fromkeys(FAULTS, 0)
    for seed in range(200):
        notes = random_notes(Random(seed), 30)
        right = right_faults(notes)
        assert set(broken(*notes.arguments())) == right
        for fault, _ in right:
            found[fault] += 1
    assert min(found.values()) > 50, "and the random runs have every kind of fault"


@pytest.mark.labs
def test_in_runs_the_reference_finds_the_bugs_and_nothing_else() -> None:
    steps = list(check_live(EXERCISE, EXERCISE.solution, lambda _: None, 30.0))
    assert [step for step in steps if not step.passed] == []
    assert "is lost" in steps[1].seen
    assert "is twice" in steps[2].seen


@pytest.mark.labs
@pytest.mark.parametrize(
    ("edit", "step", "seen"),
    [
        (("if offset not in found", "if offset + 1 not in found"), 0, "is lost"),
        (('faults.append(("lost", record))', "pass"), 1, "it misses: p-"),
        (("return list(", "return 7 or list("), 0, "broken answered 7"),
        (
            ("return list(dict.fromkeys(faults))", "return [('lost', str(hash('x')))]"),
            3,
            "not deterministic",
        ),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, edit: tuple[str, str], step: int, seen: str) -> None:
    right = EXERCISE.solution.read_text(encoding="utf-8")
    assert right.count(edit[0]) == 1
    file = tmp_path / EXERCISE.file
    file.write_text(right.replace(*edit), encoding="utf-8")
    came = list(check_live(EXERCISE, file, lambda _: None, 30.0))[step]
    assert not came.passed
    assert seen in came.seen
