"""The world of exercise 15-4: with the reference no transaction hangs, with the starter some do."""

from random import Random

import pytest

from exercises.ch15_exactly_once.ex04_who_holds.material import LATER, LEAST, make, run
from exercises.ch15_exactly_once.ex04_who_holds.starter import Coordinator
from exercises.ch15_exactly_once.hanging_world import HangingWorld
from exercises.solutions.ch15_exactly_once.ex04_who_holds import Coordinator as Right

SEEDS = range(40)


def played(world: HangingWorld, seed: int) -> HangingWorld:
    """Return the world after random steps, when all transactions have ended."""
    random = Random(seed)
    for _ in range(120):
        world.go_on(random)
    world.settle()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_with_the_reference_nothing_hangs(seed: int) -> None:
    world = played(HangingWorld(Right), seed)
    assert world.hanging() == []
    assert world.fenced == []
    assert all(one.last_stable == one.end > 0 for one in world.partitions.values())


def test_with_the_starter_transactions_hang() -> None:
    hanging = [played(HangingWorld(Coordinator), seed).hanging() for seed in SEEDS]
    assert sum(map(bool, hanging)) > len(SEEDS) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_a_transaction_to_find(seed: int) -> None:
    made = run(seed)
    wrote = made.events[made.by - 1].wrote
    assert wrote is not None
    assert wrote[0] == made.partition
    assert made.by >= LEAST
    ends = f"partition {made.partition}, offset "
    behind = made.events[made.by :]
    markers = [one.text for one in behind if f"marker of producer {made.producer}," in one.text]
    assert not any(text.startswith(ends) for text in markers)
    later = [one for one in behind if one.wrote is not None and one.wrote[0] == made.partition]
    assert len(later) >= LATER
    assert f"{made.by:>3}  {made.events[made.by - 1].text}\n" in make(seed)["events.txt"]


def test_learners_have_different_runs() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)
