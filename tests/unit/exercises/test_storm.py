"""Exercise 13-5: the starter joins again and again (a storm). The solution joins again exactly when
it has to.
"""

import runpy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from exercises.ch13_consumer_groups.ex05_storm.material import LEAST_LINES, make, run
from exercises.ch13_consumer_groups.ex05_storm.starter import Watch
from exercises.ch13_consumer_groups.storm_world import (
    MEMBERS,
    PATTERN,
    StormWorld,
    WrongAnswerError,
    happen,
)
from exercises.runner.manifest import find_exercise

Right: Callable[[str], Any] = runpy.run_path(str(find_exercise("13-5").solution))["Watch"]
TOPICS = {"web-a": 3, "web-b": 2, "orders": 1}


@pytest.mark.parametrize("seed", range(20))
def test_the_solution_ends_the_storm(seed: int) -> None:
    watches = [Right(PATTERN) for _ in range(MEMBERS)]
    world = StormWorld(watches, dict(TOPICS), Random(seed), strict=True)
    happen(world, Random(seed), 150)
    assert world.needless == []
    assert world.generation > 10, "things that happen are a reason"


def test_the_starter_makes_one() -> None:
    watches = [Watch(PATTERN) for _ in range(MEMBERS)]
    world = StormWorld(watches, dict(TOPICS), Random(1), strict=False)
    for step in range(60):
        world.metadata(step % MEMBERS + 1)
    assert len(world.needless) > 20
    with pytest.raises(WrongAnswerError, match="their order does not matter"):
        happen(StormWorld(watches, dict(TOPICS), Random(1), strict=True), Random(1), 60)


@pytest.mark.parametrize("seed", range(20))
def test_each_run_has_right_joins_before_the_first_needless_one(seed: int) -> None:
    made = run(seed)
    assert "joins again: topics" in made.events[made.line - 1]
    assert made.events[made.line - 1].startswith(f"member {made.member} ")
    assert made.line >= LEAST_LINES
    assert sum(line < made.line for line in made.rightly) >= 3
    assert made.line not in made.rightly
    assert f"{made.line:>3}  member {made.member} joins" in make(seed)["events.txt"]
