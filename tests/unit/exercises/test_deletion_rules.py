"""Exercise 04-7: with the right rules every deletion ends. With the starter's rules, one deletion
in each run does not end.
"""

from random import Random

import pytest

from exercises.ch04_controller.deletion_rules import Call, RightDeletion, quiet, something
from exercises.ch04_controller.ex07_deletion.material import BROKERS, TOPICS, make, run


@pytest.mark.parametrize("seed", range(30))
def test_every_deletion_ends(seed: int) -> None:
    random = Random(seed)
    topics = [(name, tuple(random.sample(BROKERS, random.randint(1, 3)))) for name in TOPICS]
    now = RightDeletion(topics, BROKERS)
    ordered: set[str] = set()
    for _ in range(60):
        now.do(something(random, now, BROKERS, late=True))
        ordered |= now.ordered
    for broker in BROKERS:  # who could not delete is asked again when it has come back
        now.do(Call("broker_failed", (broker,), f"broker {broker} dies"))
        while (call := quiet(now, BROKERS)) is not None:
            now.do(call)
    assert not now.ordered
    assert not ordered & now.replicas.keys()
    assert {state for _, _, state in now.states()} <= {"Online"}


@pytest.mark.parametrize("seed", range(20))
def test_each_run_has_one_thing_to_find(seed: int) -> None:
    made = run(seed)
    stuck = {topic for topic, _, state in made.states if state.startswith("Deletion")}
    assert stuck == {made.found.topic}
    assert made.calls[made.found.event - 1].method == "broker_failed"
    assert max(map(len, make(seed)["events.txt"].splitlines())) <= 80
