"""Spark jobs in the long tier: every wrong answer, 20 s each, and the kills of 16-4s."""

import pytest

from exercises.prove import prove_wrong
from exercises.runner.check import live_part
from exercises.runner.manifest import Exercise, find_exercise, load_manifest
from exercises.runner.spark_learner import SPARK
from exercises.wrong_answers import wrong_answers

pytestmark = pytest.mark.long

SEED = 7
EXERCISES = [one for one in load_manifest().values() if one.engine == SPARK]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.id)
def test_each_wrong_answer_fails_for_its_own_reason(exercise: Exercise) -> None:
    proofs = list(prove_wrong(wrong_answers(exercise), SEED))
    assert [proof.seen for proof in proofs if not proof.as_expected] == []
    assert len(proofs) >= 4


def test_the_sink_of_the_reference_survives_three_kills() -> None:
    exercise = find_exercise("16-4s")
    steps = list(live_part(exercise).check_live(exercise, None, lambda _: None, 60.0))
    assert [(step.says, step.seen) for step in steps if not step.passed] == []
    assert len(steps) == 3
