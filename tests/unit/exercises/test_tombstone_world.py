"""The runs of exercise 09-4, and the world in which they happen."""

from random import Random

import pytest

from exercises.ch09_log_storage.ex04_tombstone.material import LEAST_EVENTS, make, run
from exercises.ch09_log_storage.tombstone_world import (
    HOUR_MS,
    RETENTION_MS,
    TombstoneWorld,
    right_may_go,
)

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_a_key_that_came_back(seed: int) -> None:
    made = run(seed)
    assert len(made.events) >= LEAST_EVENTS
    offset, event = made.returned.tombstone, made.returned.removed_by
    words = f"offset {offset}: {made.returned.key} is deleted"
    deletes = [one for one in made.events if words in one]
    assert len(deletes) == 1
    tombstones = made.events[event - 1].partition("old tombstones: ")[2].split(", ")
    assert str(offset) in tombstones
    assert f"{made.returned.key}=" in made.events[-1]
    assert made.returned.key in make(seed)["events.txt"].splitlines()[-1]


def test_learners_have_different_runs() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)


def test_with_the_right_rule_no_deleted_key_comes_back() -> None:
    random = Random(9)
    for _ in range(300):
        world = TombstoneWorld(right_may_go)
        for _ in range(60):
            world.go_on(random)
        world.settle()
        assert world.returned == []
        assert world.tombstones() == []


def test_what_kafka_did_until_3_1_breaks_the_promise_too() -> None:
    """Until version 3.1 the age of the record counted, as soon as one cleaning pass had kept it.
    Two passes soon after each other then break the promise.
    """
    random, broken = Random(9), 0
    for _ in range(300):
        world = TombstoneWorld(
            lambda written, cleaned, now, keep: cleaned >= 0 and now - written > keep
        )
        for _ in range(60):
            world.go_on(random)
        broken += bool(world.returned)
    assert broken > 0


def test_the_example_of_the_page() -> None:
    world = TombstoneWorld(lambda written, _cleaned, now, keep: now - written > keep)
    nobody = Random(0)
    world.write(nobody)
    world.delete(nobody)
    world.roll(nobody)
    world.now_ms = 30 * HOUR_MS
    assert world.now_ms > RETENTION_MS
    world.read(Random(2))
    world.now_ms += HOUR_MS
    world.clean(nobody)
    world.settle()
    assert [(one.tombstone, one.removed_by) for one in world.returned] == [(1, 6)]
