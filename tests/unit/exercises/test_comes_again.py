"""The situations of exercise 14-5: the runs have the results that follow from the page's rules."""

import re
from collections.abc import Callable
from math import ceil

import pytest

from exercises.ch14_offsets.ex05_predict.material import NAMES, make, situations
from exercises.runner.manifest import find_exercise

SEEDS = (0, 1, 2)
Numbers = Callable[[str], int]


def kill(of: Numbers) -> int:
    done, between = of(r"work on (\d+) records"), ceil(1_000 / of(r"works (\d+) ms"))
    return done % between + 1


def before(of: Numbers) -> int:
    done, most = of(r"work on (\d+) records"), of(r"max.poll.records is (\d+)")
    return ceil(done / most) * most - done


PAPER: dict[str, Callable[[Numbers], int]] = {
    "kill": kill,
    "close": lambda of: 0,
    "each": lambda of: 0,
    "batch": lambda of: of(r"max.poll.records is (\d+)"),
    "before": before,
    "low": lambda of: of(r"all (\d+) records") - of(r"the offset (\d+)"),
    "high": lambda of: of(r"the offset (\d+)") - of(r"all (\d+) records"),
    "gone": lambda of: of(r"before offset (\d+)") - of(r"all (\d+) records"),
    "latest": lambda of: of(r"Then (\d+) records"),
    "rebalance": lambda of: 0,
}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_runs_give_what_the_rules_give(seed: int) -> None:
    found = situations(seed)
    assert tuple(one.name for one in found) == NAMES
    text = make(seed)["questions.md"]
    for one in found:
        assert one.words in text

        def of(pattern: str, words: str = one.words) -> int:
            match = re.search(pattern, words)
            assert match is not None, (pattern, words)
            return int(match[1])

        assert one.answer == PAPER[one.name](of), one


def test_learners_have_different_situations() -> None:
    assert len({make(seed)["questions.md"] for seed in SEEDS}) == len(SEEDS)


def test_the_solution_is_right_for_the_first_learner() -> None:
    text = find_exercise("14-5").solution.read_text(encoding="utf-8")
    assert all(f'"{one.name}": {one.answer},' in text for one in situations(0))
