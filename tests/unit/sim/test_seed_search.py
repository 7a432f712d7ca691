"""The search by seeds: a run with one seed keeps all rules.

tests/faults/test_planted_bugs.py shows that the search finds bugs, and that a seed always gives the
same run.
"""

import pytest

from kafka_edu.sim.seed_search import SeedResult, play

pytestmark = pytest.mark.faults  # too long for the fast suite

FAULTS_MS = 12_000
"""A short story. The whole search is `./kafka-edu soak seeds`."""


def test_every_request_of_a_seed_is_answered() -> None:
    result = play(1, FAULTS_MS)
    assert result.failures == (), "./kafka-edu soak seeds --seed 1"
    assert result.requests > 1_000
    assert result.answered > 0.9 * result.requests


def test_a_result_says_whether_it_holds() -> None:
    good = SeedResult(1, (), 1, 1, 0, 1, 1, 1.0, ())
    assert good.holds
    assert not good._replace(failures=("stuck: Produce",)).holds
