"""A learner's candidate tries to become the controller of a simulated cluster, and cannot break the
cluster.
"""

from collections.abc import Callable, Iterator

import pytest

from exercises.ch05_zookeeper_election.election_rules import RightCandidate
from exercises.runner.manifest import find_exercise
from kafka_edu.controller.candidate import MOST_STEPS, Came, Operation
from kafka_edu.learner.learner_candidate import LearnerCandidate
from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import ControllerElected, ControllerResigned

from .conftest import Load

SEAM = "kafka_edu.controller.kafka_controller.candidate_of"
RIGHT = find_exercise("05-1").solution.read_text(encoding="utf-8")


class Told(RightCandidate):
    """The right candidate, as one that a broker asks."""

    def endless(self) -> None:
        raise AssertionError("it waits in time")


class Restless:
    """A candidate that never waits."""

    def __init__(self) -> None:
        self.asked = 0
        self.given_up = False

    def next(self, came: Came) -> Operation | None:
        self.asked += 1
        return ("look",)

    def endless(self) -> None:
        self.given_up = True


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    made = SimCluster(7, (0, 1, 2), {"zookeeper.session.timeout.ms": "6000"})
    yield made
    made.close()


def elections(cluster: SimCluster) -> list[int]:
    found = [e.event for e in cluster.sink.events if isinstance(e.event, ControllerElected)]
    return [event.epoch for event in found]


def leads(cluster: SimCluster) -> int:
    [*_, last] = [e for e in cluster.sink.events if isinstance(e.event, ControllerElected)]
    assert last.broker is not None
    return last.broker


def vacate(cluster: SimCluster, holder: int) -> None:
    """Delete /controller, as by hand."""
    tool = cluster.brokers[holder].process
    admin = cluster.admin(tool)
    found = cluster.run_as(tool, admin.get_controller_epoch())
    assert found is not None
    cluster.run_as(tool, admin.delete_controller(found[1]))


def test_candidates_run_the_cluster(cluster: SimCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SEAM, Told)
    cluster.start_all()
    cluster.advance(3_000)
    assert elections(cluster) == [1]
    vacate(cluster, leads(cluster))
    cluster.advance(2_000)
    assert elections(cluster) == [1, 2]
    dies = leads(cluster)
    cluster.kill(dies)
    cluster.advance(10_000)
    assert elections(cluster) == [1, 2, 3]
    assert leads(cluster) != dies
    resigned = [e for e in cluster.sink.events if isinstance(e.event, ControllerResigned)]
    assert len(resigned) == 1, "the one whose znode was deleted; the dead one says nothing"


def test_a_controller_that_stood_still_gives_the_office_up(
    cluster: SimCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SEAM, Told)
    cluster.start_all()
    cluster.advance(3_000)
    old = leads(cluster)
    cluster.pause(old)
    cluster.advance(12_000)
    assert leads(cluster) != old
    cluster.resume(old)
    cluster.advance(10_000)
    assert elections(cluster) == [1, 2]
    assert any(
        e.broker == old for e in cluster.sink.events if isinstance(e.event, ControllerResigned)
    )


def test_a_candidate_that_never_waits_is_given_up(
    cluster: SimCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Restless] = []

    def make(_: int) -> Restless:
        made.append(Restless())
        return made[-1]

    monkeypatch.setattr(SEAM, make)
    cluster.start_all()
    cluster.advance(3_000)
    assert elections(cluster) == [1], "the broker's own election has decided"
    assert [one.asked for one in made] == [MOST_STEPS] * 3
    assert all(one.given_up for one in made)


@pytest.fixture
def serve(load: Load) -> Callable[[str], tuple[LearnerCandidate, list[LearnerError]]]:
    def make(text: str) -> tuple[LearnerCandidate, list[LearnerError]]:
        code, errors = load("05-1", text)
        return LearnerCandidate(code, 1), errors

    return make


Serve = Callable[[str], tuple[LearnerCandidate, list[LearnerError]]]


def test_a_learners_candidate_is_asked_step_by_step(serve: Serve) -> None:
    candidate, errors = serve(RIGHT)
    steps: list[tuple[Came, Operation]] = [
        (("start",), ("look",)),
        (("office", None, False), ("read_epoch",)),
        (("epoch", 4, 9), ("run", 5, 9)),
        (("won",), ("lead", 5)),
        (("fired",), ("look",)),
        (("office", 0, False), ("resign",)),
        (("resigned",), ("wait",)),
    ]
    assert [candidate.next(came) for came, _ in steps] == [operation for _, operation in steps]
    assert errors == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("7", "answered 7, no operation"),
        ("('look', 1)", "no operation"),
        ("('run', 'a', 2)", "no operation"),
        ("('dance',)", "no operation"),
        ("('lead', 1)", "wants to lead, and has won no election"),
        ("1 / 0", "division by zero"),
    ],
)
def test_nonsense_ends_a_learners_candidacy(serve: Serve, answer: str, said: str) -> None:
    text = (
        "class Candidate:\n"
        "    def __init__(self, broker): pass\n"
        f"    def next(self, came): return {answer}\n"
    )
    candidate, errors = serve(text)
    assert candidate.next(("start",)) is None
    assert candidate.next(("fired",)) is None, "it no longer knows what has happened"
    [error] = errors
    assert said in str(error)


def test_endless_steps_are_the_learners_fault(serve: Serve) -> None:
    candidate, errors = serve(RIGHT)
    candidate.endless()
    [error] = errors
    assert f"after {MOST_STEPS} operations" in error.message
    assert candidate.next(("fired",)) is None
