"""A learner's code of reassignments: the controller of a simulated cluster does what it says."""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_reassignment import adapt
from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.reassignment import (
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentReplicasStopped,
    ReassignmentStarted,
)

from .conftest import Load

SEAM = "kafka_edu.controller.active_controller.PartitionReassignments"
RIGHT = find_exercise("04-3").solution.read_text(encoding="utf-8")
TARGET = [1, 2]
MINE, OTHER = TopicPartition("lab-t", 0), TopicPartition("shop", 0)


class Story:
    """Two partitions move from brokers 0 and 1 to 1 and 2. A learner's code moves the partition of
    a lab's topic.
    """

    def __init__(self, errors: list[LearnerError]) -> None:
        self.errors = errors
        cluster = SimCluster(5, (0, 1, 2), {"auto.leader.rebalance.enable": "false"})
        cluster.start_all()
        cluster.advance(3_000)
        tool = cluster.brokers[0].process
        admin = cluster.admin(tool)
        for tp in (MINE, OTHER):
            assignment = TopicAssignment.of({0: [0, 1]})
            cluster.run_as(tool, admin.create_topic_assignment(tp.topic, assignment))
        cluster.advance(3_000)
        targets = {MINE: TARGET, OTHER: TARGET}
        cluster.run_as(tool, admin.create_partition_reassignment(targets))
        cluster.advance(8_000)
        self.events = [envelope.event for envelope in cluster.sink.events]
        cluster.close()

    def of(self, tp: TopicPartition, *kinds: type[Event]) -> list[Event]:
        """Return the events of these kinds about a partition."""
        return [
            event
            for event in self.events
            if isinstance(event, kinds) and getattr(event, "topic", "") == tp.topic
        ]

    def came_to(self, tp: TopicPartition) -> list[tuple[int, ...]]:
        """Return where its moves ended."""
        found = self.of(tp, ReassignmentCompleted)
        return [e.replicas for e in found if isinstance(e, ReassignmentCompleted)]


Run = Callable[[str], Story]


@pytest.fixture
def run(load: Load, monkeypatch: pytest.MonkeyPatch) -> Run:
    def go(text: str) -> Story:
        code, errors = load("04-3", text)
        monkeypatch.setattr(SEAM, adapt(code))
        return Story(errors)

    return go


def test_the_right_steps_end_as_ours_do(run: Run) -> None:
    ours, theirs = Story([]), run(RIGHT)
    kinds = (ReassignmentStarted, ReassignmentReplicasStopped, ReassignmentCompleted)
    for tp in (MINE, OTHER):
        assert theirs.came_to(tp) == ours.came_to(tp) == [(1, 2)]
        stopped = [e for e in theirs.of(tp, *kinds) if getattr(e, "replicas", None)]
        assert stopped == [e for e in ours.of(tp, *kinds) if getattr(e, "replicas", None)]
    assert theirs.errors == []


def test_a_move_that_changes_the_order_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No replica is added and none is removed. In the exercise such a move is done at once."""
    monkeypatch.setattr(f"{__name__}.TARGET", [1, 0])
    story = run(RIGHT)
    assert story.came_to(MINE) == [(1, 0)]
    assert story.errors == []


def test_who_does_not_wait_stops_a_replica_too_early(run: Run) -> None:
    story = run(RIGHT.replace("        if missing:", "        if False:"))
    assert story.errors == []
    first = story.of(MINE, ReassignmentCaughtUp, ReassignmentReplicasStopped)[0]
    assert isinstance(first, ReassignmentReplicasStopped)
    assert story.came_to(OTHER) == [(1, 2)], "another topic's move is ours"


def test_who_waits_for_ever_never_ends(run: Run) -> None:
    story = run(RIGHT.replace("        if missing:", "        if True:"))
    assert story.came_to(MINE) == []
    assert story.came_to(OTHER) == [(1, 2)]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('return "write", target', 'return "stop", []', "never answers 'write'"),
        ('return "write", target', "return 7", "next() answered 7; expected (step, brokers)"),
        ('return "write", target', 'return "dance", []', "expected (step, brokers)"),
        ('return "write", target', 'return "stop", [9]', "expected (step, brokers)"),
        ('return "write", target', "return 1 / 0", "division by zero"),
        (
            "return self.replicas, self.adding, self.removing",
            "return [], [], []",
            "which is no assignment",
        ),
    ],
)
def test_nonsense_is_the_learners_fault_and_ours_ends_the_move(
    run: Run, right: str, wrong: str, said: str
) -> None:
    assert right in RIGHT
    story = run(RIGHT.replace(right, wrong))
    assert said in story.errors[0].message
    assert story.came_to(MINE) == [(1, 2)]
