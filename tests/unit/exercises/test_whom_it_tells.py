"""Exercise 04-4: the answers come from the events, and the rules of the page give the same
answers.
"""

import pytest

from exercises.ch04_controller.ex04_predict.material import BROKERS, make, plan, right_answers

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_events_agree_with_the_rules(seed: int) -> None:
    made, answers = plan(seed), right_answers(seed)
    holders = {broker for ids in made.replicas for broker in ids}
    assert answers["created_leader_and_isr"] == sorted(holders)
    assert answers["created_metadata"] == list(BROKERS)
    assert answers["leaders"] == [ids[0] for ids in made.replicas]
    left = [[broker for broker in ids if broker != made.victim] for ids in made.replicas]
    assert answers["new_leaders"] == [ids[0] for ids in left]
    assert answers["elections"] == sum(ids[0] == made.victim for ids in made.replicas)
    touched = {
        b for ids, own in zip(left, made.replicas, strict=True) if ids != list(own) for b in ids
    }
    assert answers["failed_leader_and_isr"] == sorted(touched)
    assert answers["failed_metadata"] == [b for b in BROKERS if b != made.victim]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_questions_fit_a_terminal(seed: int) -> None:
    assert max(len(line) for line in make(seed)["questions.md"].splitlines()) <= 80
