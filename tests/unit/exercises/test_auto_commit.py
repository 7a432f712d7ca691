"""In each run of exercise 14-4 a few records are lost. With the mended class no record is lost."""

from random import Random

import pytest

from exercises.ch14_offsets.auto_commit_world import AutoCommitWorld, RightAutoCommit
from exercises.ch14_offsets.ex04_auto_commit.material import MOST_LOST, make, run
from exercises.ch14_offsets.ex04_auto_commit.starter import AutoCommit
from exercises.runner.manifest import find_exercise

SEEDS = range(30)


class Mended(AutoCommit):
    """The starter's class, which commits before it takes new records."""

    def poll(self, now_ms: int) -> tuple[dict[str, int], list[tuple[str, int]]]:
        offsets = self.commit(now_ms)
        return offsets, self.take()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_a_record_that_is_lost(seed: int) -> None:
    made = run(seed)
    text = "\n".join(made.events)
    assert made.lost[0] == made.offset
    assert 1 <= len(made.lost) <= MOST_LOST
    assert f"record {made.offset} of" not in text
    assert f"{made.offset} of web-" in text, "a poll() has returned it"
    (commit,) = [one for one in made.events if one.startswith(f"{made.commit_ms:>6,} ms  poll()")]
    assert f"{made.offset} of web-" in commit, "the same poll() commits and returns it"
    assert made.commit_ms not in made.commits
    assert len(made.commits) >= 2


def test_learners_have_different_numbers() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)
    assert len({(run(seed).offset, run(seed).commit_ms) for seed in SEEDS}) > len(SEEDS) // 2


def test_the_solution_is_right_for_the_first_learner() -> None:
    made = run(0)
    text = find_exercise("14-4").solution.read_text(encoding="utf-8")
    assert f"return {made.offset}, {made.commit_ms}" in text


def killed(kind: type[RightAutoCommit] | type[AutoCommit], seed: int) -> AutoCommitWorld:
    """Return the world after five members were killed, one after the other."""
    random = Random(seed)
    world = AutoCommitWorld(random, {"web-0": 0, "web-1": 1_000}, 90)
    for number in range(5):
        world.begin(kind(200, 4), f"member {number}")
        for _ in range(random.randint(10, 50)):
            world.step(revoke=True)
        world.kill()
    return world


@pytest.mark.parametrize("kind", [Mended, RightAutoCommit])
def test_the_mended_class_loses_none(
    kind: type[RightAutoCommit] | type[AutoCommit],
) -> None:
    for seed in SEEDS:
        world = killed(kind, seed)
        assert world.lost() == []
        assert world.done


def test_the_starter_loses_only_now_and_then() -> None:
    lost = [bool(killed(AutoCommit, seed).lost()) for seed in SEEDS]
    assert any(lost)
    assert not all(lost)


def test_both_classes_answer_the_same() -> None:
    for seed in SEEDS:
        assert killed(Mended, seed).events == killed(RightAutoCommit, seed).events
