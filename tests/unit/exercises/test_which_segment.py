"""The situations of exercise 09-3: each learner gets sensible ones, and a real log gives the
answers.
"""

import pytest

from exercises.ch09_log_storage.ex03_predict.material import LOOK_MIN, make, situations

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_ten_questions_with_an_answer(seed: int) -> None:
    found = situations(seed)
    assert len({one.name for one in found}) == 10
    answers = {one.name: one.answer for one in found}
    for name in ("time_count", "size_count", "not_committed", "by_start", "young_first"):
        assert 1 <= answers[name] <= 5, name
    assert answers["time_when"] % LOOK_MIN == 0
    assert all(one.words in make(seed)["questions.md"] for one in found)


def test_learners_have_different_numbers() -> None:
    assert len({make(seed)["questions.md"] for seed in SEEDS}) == len(SEEDS)


def test_the_same_seed_has_the_same_numbers() -> None:
    before = situations(3)
    situations.cache_clear()
    assert situations(3) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_is_not_less_than_the_limit(seed: int) -> None:
    left = next(one for one in situations(seed) if one.name == "size_left")
    limit = int(left.words.partition("retention.bytes is ")[2].partition(",")[0])
    assert left.answer >= limit
