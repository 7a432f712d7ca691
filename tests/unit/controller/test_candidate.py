"""A learner's candidate decides how a broker tries to become the controller. A candidate that never
ends is given up.
"""

from typing import TYPE_CHECKING

from kafka_edu.controller.candidate import MOST_STEPS, WAIT, Came, Operation, candidate_of

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


class Always:
    """A candidate that always says the same."""

    def __init__(self, operation: Operation | None) -> None:
        self._operation = operation
        self.came: list[Came] = []
        self.was_endless = False

    def next(self, came: Came) -> Operation | None:
        self.came.append(came)
        return self._operation

    def endless(self) -> None:
        self.was_endless = True


def left_office(cluster: "ControllerCluster", candidate: Always) -> None:
    """Give the candidate to the controller's broker, and delete /controller by hand."""
    cluster.controller.controller._candidate = candidate
    cluster.run(cluster.hand.delete("/controller", -1))
    cluster.settle()


def test_without_a_learners_part_there_is_no_candidate() -> None:
    assert candidate_of(0) is None


def test_a_candidate_that_never_ends_is_given_up_and_the_controller_decides(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1)
    broker, candidate = cluster.controller, Always(("look",))
    left_office(cluster, candidate)
    assert candidate.was_endless
    assert len(candidate.came) == MOST_STEPS
    assert {came[0] for came in candidate.came[1:]} == {"office"}
    assert cluster.controller is broker, "it was elected all the same"
    cluster.run(cluster.hand.delete("/controller", -1))
    cluster.settle()
    assert len(candidate.came) == MOST_STEPS, "it decides nothing more"
    assert cluster.controller is broker


def test_a_candidate_that_gives_up_leaves_the_decision_to_the_controller(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1)
    candidate = Always(None)
    left_office(cluster, candidate)
    assert (candidate.came, candidate.was_endless) == ([("fired",)], False)
    assert cluster.controller.id == 1


def test_a_candidate_that_waits_lets_nobody_run(cluster: "ControllerCluster") -> None:
    cluster.start(1)
    candidate = Always(WAIT)
    left_office(cluster, candidate)
    assert candidate.came == [("fired",)]
    assert len(cluster.brokers[1].facts("ControllerElected")) == 1, "only the first time"
