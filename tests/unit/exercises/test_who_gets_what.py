"""Exercise 13-7: the situations that a seed gives, and the numbers from which their answers
follow.
"""

import pytest

from exercises.ch13_consumer_groups.ex07_predict.material import (
    NAMES,
    Situation,
    make,
    moved,
    situations,
)
from kafka_edu.common.topic_partition import TopicPartition

SEEDS = range(25)


def one(seed: int, name: str) -> Situation:
    return next(each for each in situations(seed) if each.name == name)


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_a_question_for_each_name(seed: int) -> None:
    assert tuple(each.name for each in situations(seed)) == NAMES
    page = make(seed)["questions.md"]
    assert all(each.words in page and each.why not in page for each in situations(seed))


def test_the_numbers_differ_from_learner_to_learner() -> None:
    for name in NAMES:
        assert len({one(seed, name).words for seed in SEEDS}) > 10, name
        assert len({one(seed, name).answer for seed in SEEDS}) > 2, name


def test_a_cooperative_group_reads_all_but_what_the_newcomer_gets() -> None:
    for seed in SEEDS:
        words = one(seed, "cooperative").words.split()
        partitions = int(words[words.index("partitions,") - 1])
        members = sum(word.strip(",") in [*"abcdefgh"] for word in words[: words.index("have")])
        kept = partitions - partitions // (members + 1)
        assert one(seed, "cooperative").answer == kept


def test_sticky_moves_what_the_leaver_had() -> None:
    for seed in SEEDS:
        words = one(seed, "sticky_leaves").words.split()
        assert int(words[words.index("has", 5) + 1]) >= 3
        assert f" {one(seed, 'sticky_leaves').answer} of them" in one(seed, "sticky_leaves").words


def test_only_what_has_another_member_has_moved() -> None:
    a, b, c = (TopicPartition("web", n) for n in range(3))
    assert moved({"x": [a, b], "y": [c]}, {"x": [b, c], "z": [a]}) == 2
    assert moved({"x": [a], "y": [b]}, {"y": [b], "x": [a]}) == 0
