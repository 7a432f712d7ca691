"""A learner's ReadCommitted: its answers are carried out. Where it fails, our own code answers.

The transactions are those of a real log, in which the learner's rule replaces ours.
"""

from collections.abc import Callable
from random import Random

import pytest

from exercises.ch15_exactly_once.committed_world import ABORT, COMMIT, CommittedWorld
from exercises.runner.manifest import find_exercise
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_stable_rule import MOST_TRANSACTIONS, adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.log import producer_state_manager
from kafka_edu.log.stable_rule import StableRule

from .conftest import Load

LAB = TopicPartition("lab-152", 0)
Made = tuple[CommittedWorld, list[LearnerError], LearnerCode]
Make = Callable[[str], Made]
RIGHT = find_exercise("15-2").solution.read_text(encoding="utf-8")


@pytest.fixture
def make(load: Load) -> Make:
    """Return a function that makes a log with the learner's rule."""

    def go(text: str) -> Made:
        code, errors = load("15-2", text)
        world = CommittedWorld()
        world.log.producer_state_manager.stable = adapt(code)(LAB)
        return world, errors, code

    return go


def rules(stable: str = "0", aborted: str = "[]", noted: str = "pass") -> str:
    """A class that always gives these answers."""
    return (
        f"class ReadCommitted:\n    def last_stable(self, *_):\n        return {stable}\n"
        f"    def aborted(self, *_):\n        return {aborted}\n"
        f"    def opened(self, *_):\n        {noted}\n    def ended(self, *_):\n        {noted}\n"
    )


def two_open(world: CommittedWorld) -> None:
    """Let two producers write one record each, at the offsets 0 and 1, and replicate both."""
    world.write(1)
    world.write(2)
    world.replicate(2)


def told(world: CommittedWorld) -> list[tuple[int, int]]:
    """Fetch all records. Return (producer, first offset) of the aborted transactions in the
    response.
    """
    data = world.log.read(0, 1 << 20)
    return [(one.producer_id, one.first_offset) for one in world.log.aborted_transactions(0, data)]


def test_the_seam_is_where_the_log_looks() -> None:
    assert SEAMS["15-2"].module == producer_state_manager.__name__
    assert vars(producer_state_manager)[SEAMS["15-2"].name] is StableRule


def test_other_topics_keep_the_shipped_rule(load: Load) -> None:
    code, _ = load("15-2", rules())
    assert type(adapt(code)(TopicPartition("web", 0))) is StableRule
    assert type(adapt(code)(LAB)) is not StableRule


def test_the_reference_answers_as_ours_does(make: Make) -> None:
    theirs, errors, code = make(RIGHT)
    ours, random, mark = CommittedWorld(), Random(7), 0
    for _ in range(120):
        producer, kind = random.randrange(3), random.choice((ABORT, COMMIT))
        act = random.random()
        mark = random.randint(mark, ours.end)
        for world in (ours, theirs):
            if act < 0.5:
                world.write(producer)
            elif act < 0.8:
                world.decide(producer, kind)
            else:
                world.replicate(mark)
        assert theirs.log.last_stable_offset == ours.log.last_stable_offset
    assert told(theirs) == told(ours) != []
    assert errors == []
    assert code.calls > 20


def test_the_learner_hears_which_producer_had_a_decided_transaction(make: Make) -> None:
    world, errors, _ = make(rules(noted="raise ValueError(_)"))
    world.write(7)
    world.decide(7, COMMIT)
    world.replicate(1)
    assert "(7, 0)" in errors[-1].message


def test_a_log_without_open_transactions_asks_nobody(make: Make) -> None:
    world, _, code = make(rules("1 / 0"))
    world.write(-1)
    world.replicate(1)
    assert world.log.last_stable_offset == 1
    assert code.calls == 0


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    world, errors, _ = make(rules("1"))
    two_open(world)
    assert world.log.last_stable_offset == 1
    world.decide(1, ABORT)
    assert told(world) == []
    passed, more, _ = make(rules("2"))
    two_open(passed)
    assert passed.log.last_stable_offset == 2
    assert errors == more == []


@pytest.mark.parametrize("answer", ["3", "-1", "None", "True", "'0'"])
def test_an_offset_behind_the_high_watermark_is_an_error(make: Make, answer: str) -> None:
    world, errors, _ = make(rules(answer))
    two_open(world)
    assert world.log.last_stable_offset == 0
    assert "expected an offset from 0 to 2" in errors[0].message


@pytest.mark.parametrize(
    "answer", ["None", "7", "[(1, 1)]", "[(9, 0)]", "[1]", "[[[]]]", "[{}]", "[(1, {})]"]
)
def test_a_transaction_that_is_not_in_the_index_is_an_error(make: Make, answer: str) -> None:
    world, errors, _ = make(rules(aborted=answer))
    two_open(world)
    world.decide(1, ABORT)
    assert told(world) == [(1, 0)]
    assert "expected a list of (producer, first offset)" in errors[0].message


def test_code_that_raises_is_named_and_ours_takes_over(make: Make) -> None:
    world, errors, code = make(rules(noted="1 / 0"))
    for _ in range(FAILURES_ALLOWED + 3):
        two = world.end
        world.write(two)
        world.replicate(world.end)
        assert world.log.last_stable_offset == 0
    assert len(errors) == FAILURES_ALLOWED
    assert code.retired
    assert "division by zero" in errors[0].message
    assert told(world) == []


def test_an_endless_rule_ends_and_ours_answers(make: Make) -> None:
    world, errors, _ = make(rules(noted="while True: pass"))
    two_open(world)
    assert world.log.last_stable_offset == 0
    assert len(errors) == 1


def test_very_many_transactions_are_ours(make: Make) -> None:
    world, errors, code = make(rules("1 / 0"))
    for producer in range(MOST_TRANSACTIONS + 1):
        world.write(producer)
    world.replicate(world.end)
    assert world.log.last_stable_offset == 0
    assert errors == []
    assert code.calls == 0
