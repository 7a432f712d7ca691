"""Spark jobs in the long tier: every wrong answer, 20 s each."""

import pytest

from exercises.prove import prove_wrong
from exercises.runner.manifest import Exercise, load_manifest
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
