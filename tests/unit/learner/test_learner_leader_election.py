"""A learner's leader election: its answers are carried out. Where it fails, our own code
answers.
"""

from collections.abc import Callable
from random import Random

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller import zk_partition_state_machine
from kafka_edu.controller.leader_election import ElectionStrategy, elect
from kafka_edu.learner.learner_leader_election import Elect, adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError

from .conftest import Load

RIGHT = find_exercise("07-1").solution.read_text(encoding="utf-8")
OFFLINE = ElectionStrategy.OFFLINE_PARTITION
NOW = LeaderAndIsr(1, 7, (1, 2, 0), 3)
Make = Callable[[str], tuple[Elect, list[LearnerError]]]


@pytest.fixture
def make(load: Load) -> Make:
    def go(text: str) -> tuple[Elect, list[LearnerError]]:
        code, errors = load("07-1", text)
        return adapt(code), errors

    return go


def answering(answer: str) -> str:
    """A rule that gives one answer to everything."""
    return f"class LeaderElection:\n    def elect(self, *_):\n        return {answer}\n"


def test_the_seam_is_where_the_controller_looks() -> None:
    seam = SEAMS["07-1"]
    assert seam.module == zk_partition_state_machine.__name__
    assert vars(zk_partition_state_machine)[seam.name] is elect


def test_the_reference_elects_as_ours_does(make: Make) -> None:
    theirs, errors = make(RIGHT)
    random = Random(7)
    for _ in range(300):
        replicas = random.sample(range(6), 4)
        now = NOW._replace(isr=tuple(random.sample(replicas, random.randint(0, 4))))
        live = {one for one in range(6) if random.random() < 0.7}
        going = {one for one in replicas if random.random() < 0.2}
        asked = (random.choice(list(ElectionStrategy)), now, replicas, live, going)
        unclean = random.random() < 0.5
        assert theirs(*asked, unclean) == elect(*asked, unclean), asked
    assert errors == []


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    theirs, errors = make(answering("(0, [0, 2])"))
    assert theirs(OFFLINE, NOW, [1, 2, 0], {2, 0}) == LeaderAndIsr(0, 8, (0, 2), 3)
    nobody, _ = make(answering("None"))
    assert nobody(OFFLINE, NOW, [1, 2, 0], {2, 0}) is None
    assert errors == []


@pytest.mark.parametrize(
    "answer",
    ["(5, [5])", "(2, [0])", "(2, [2, 2])", "(2, [2, -1])", "(2, [2, '0'])", "2", "'2'", "(2,)"],
)
def test_an_answer_that_cannot_be_is_an_error_and_ours_elects(make: Make, answer: str) -> None:
    theirs, errors = make(answering(answer))
    assert theirs(OFFLINE, NOW, [1, 2, 0], {2, 0}) == elect(OFFLINE, NOW, [1, 2, 0], {2, 0})
    [error] = errors
    assert error.exercise == "07-1"
    assert "expected (leader, isr) with a replica of [1, 2, 0] that is in its ISR" in error.message


def test_after_three_failures_ours_stays(make: Make) -> None:
    theirs, errors = make(answering("1 / 0"))
    for _ in range(FAILURES_ALLOWED + 2):
        assert theirs(OFFLINE, NOW, [1, 2, 0], {2, 0}) is not None
    assert len(errors) == FAILURES_ALLOWED
    assert "ZeroDivisionError" in errors[0].message
