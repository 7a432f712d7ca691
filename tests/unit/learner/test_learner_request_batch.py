"""A learner's request batch: the controller of a simulated cluster sends the requests that it
says.
"""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.learner.learner_request_batch import adapt
from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import ControllerRequestSent, TopicDeletionChanged
from kafka_edu.trace.events.replication import BecameFollower, BecameLeader

from .conftest import Load

SEAM = "kafka_edu.controller.active_controller.ControllerBrokersRequestBatch"
RIGHT = find_exercise("04-2").solution.read_text(encoding="utf-8")


class Story:
    """A topic is created and deleted. The cluster's controller uses a learner's request batches."""

    def __init__(self, errors: list[LearnerError]) -> None:
        self.errors = errors
        cluster = SimCluster(5, (0, 1, 2), {"auto.leader.rebalance.enable": "false"})
        cluster.start_all()
        cluster.advance(3_000)
        tool = cluster.brokers[0].process
        admin = cluster.admin(tool)
        assignment = TopicAssignment.of({0: [0, 1], 1: [1, 2]})
        cluster.run_as(tool, admin.create_topic_assignment("t", assignment))
        cluster.advance(3_000)
        cluster.run_as(tool, admin.create_delete_topic_path("t"))
        cluster.advance(5_000)
        self.events = [envelope.event for envelope in cluster.sink.events]
        cluster.close()

    @property
    def sent(self) -> list[tuple[int, int, int]]:
        found = [event for event in self.events if isinstance(event, ControllerRequestSent)]
        return [(event.broker_id, event.api_key, event.partitions) for event in found]

    @property
    def roles(self) -> int:
        return sum(
            isinstance(event, BecameLeader | BecameFollower) and event.topic == "t"
            for event in self.events
        )

    @property
    def deleted(self) -> bool:
        return any(
            isinstance(event, TopicDeletionChanged) and event.step == "complete"
            for event in self.events
        )


Run = Callable[[str], Story]


@pytest.fixture
def run(load: Load, monkeypatch: pytest.MonkeyPatch) -> Run:
    def go(text: str) -> Story:
        code, errors = load("04-2", text)
        monkeypatch.setattr(SEAM, adapt(code))
        return Story(errors)

    return go


def test_the_right_batch_sends_what_ours_sends(run: Run) -> None:
    ours = Story([])
    theirs = run(RIGHT)
    assert theirs.sent == ours.sent
    assert theirs.errors == []
    assert theirs.deleted


def test_a_request_that_is_forgotten_is_not_sent(run: Run) -> None:
    story = run(RIGHT.replace("if broker in self.orders:", "if broker == 0 in self.orders:"))
    assert 0 < story.roles < 4, "some of the four replicas were never told of their role"
    assert story.errors == []
    story = run(RIGHT.replace("if broker in self.stops:", "if False:"))
    assert not story.deleted


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("return requests", "return 7", "answered 7, no list of requests"),
        ("return requests", "return [7]", "send() has 7; expected (broker, kind, rows)"),
        ("return requests", "return [(9, 'UpdateMetadata', [])]", "broker 9, which does not live"),
        (
            "return requests",
            "return [(0, 'StopReplica', [('u-0', True)])]",
            "a StopReplica of 'u-0' for broker 0, which was not noted",
        ),
        ("return requests", "return 1 / 0", "division by zero"),
    ],
)
def test_nonsense_is_the_learners_fault_and_ours_is_sent(
    run: Run, right: str, wrong: str, said: str
) -> None:
    story = run(RIGHT.replace(right, wrong))
    assert said in story.errors[0].message
    assert len(story.errors) == 3, "after three errors ours stays"
    assert story.roles == 4
    assert story.deleted
