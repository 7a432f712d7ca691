"""Exercise 05-4: the runs agree with the rules of the page."""

import pytest

from exercises.ch05_zookeeper_election.ex04_predict.material import (
    NAMES,
    make,
    plans,
    right_answers,
    run,
)


@pytest.mark.parametrize("seed", range(6))
def test_the_runs_agree_with_the_rules(seed: int) -> None:
    answers = right_answers(seed)
    for name in NAMES:
        plan, came = plans(seed)[name], run(seed, name)
        given = min(max(plan.asked_ms, 2 * plan.tick_ms), 20 * plan.tick_ms)
        assert answers[f"given_{name}"] == given
        if plan.way == "SIGTERM":
            assert 0 < came.gone_ms - came.act_ms < 20
            assert answers["first"] == name
        else:
            bucket = ((came.heard_ms + given) // plan.tick_ms + 1) * plan.tick_ms
            assert answers[f"gone_{name}"] == pytest.approx(bucket, abs=5)
        assert (answers["believes"] == name) == (plan.way == "SIGSTOP")


@pytest.mark.parametrize("seed", range(12))
def test_the_questions_fit_a_terminal(seed: int) -> None:
    assert max(len(line) for line in make(seed)["questions.md"].splitlines()) <= 80
