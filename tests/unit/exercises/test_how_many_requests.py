"""The programs of exercise 12-6: the runs have the results that follow from the page's rules."""

import re
from collections.abc import Callable
from math import ceil

import pytest

from exercises.ch12_producer.ex06_predict.material import NAMES, make, situations
from kafka_edu.record.record_batch import HEADER_BYTES

SEEDS = (0, 1, 2)
Numbers = Callable[[str], int]


def one_burst(of: Numbers) -> int:
    return ceil(
        of(r"(\d+) records") / ((of(r"size is (\d+)") - HEADER_BYTES) // of(r"takes (\d+)"))
    )


def slow(of: Numbers) -> int:
    return ceil(of(r"(\d+) small") / (of(r"linger.ms is (\d+)") // of(r"every (\d+) ms") + 1))


def flush(of: Numbers) -> int:
    return ceil(of(r"(\d+) small") / of(r"each (\d+) records"))


def round_robin(of: Numbers) -> int:
    fit = (of(r"batch.size (\d+)") - HEADER_BYTES) // of(r"takes (\d+)")
    each, more = divmod(of(r"(\d+) records"), 6)
    return more * ceil((each + 1) / fit) + (6 - more) * ceil(each / fit)


def large(of: Numbers) -> int:
    return 2 * of(r"web (\d+) times")


def request_size(of: Numbers) -> int:
    return ceil(6 / (of(r"request.size is (\d+)") // of(r"batch has (\d+)")))


PAPER: dict[str, Callable[[Numbers], int]] = {
    "one_burst": one_burst,
    "slow": slow,
    "no_linger": lambda of: of(r"(\d+) small"),
    "flush": flush,
    "sticky": one_burst,
    "round_robin": round_robin,
    "large": large,
    "request_size": request_size,
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

        if one.name in PAPER:
            assert one.answer == PAPER[one.name](of), one.words
        else:
            leaders = {*re.findall(r"by broker (\d)", one.words)}
            assert one.answer == len(leaders), one.words


def test_learners_have_different_numbers() -> None:
    assert len({make(seed)["questions.md"] for seed in SEEDS}) == len(SEEDS)


def test_the_same_seed_has_the_same_numbers() -> None:
    before = situations(SEEDS[0])
    situations.cache_clear()
    assert situations(SEEDS[0]) == before
