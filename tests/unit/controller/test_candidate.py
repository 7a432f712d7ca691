"""Usually nothing but the controller itself decides how a broker runs for the office."""

from kafka_edu.controller.candidate import MOST_STEPS, WAIT, candidate_of
from kafka_edu.learner.learner_candidate import LearnerCandidate


def test_without_a_learners_part_there_is_no_candidate() -> None:
    assert candidate_of(0) is None


def test_a_learners_candidate_has_what_the_controller_calls() -> None:
    for name in ("next", "endless"):
        assert callable(getattr(LearnerCandidate, name))
    assert WAIT == ("wait",)
    assert MOST_STEPS > 3, "losing a race costs three steps"
