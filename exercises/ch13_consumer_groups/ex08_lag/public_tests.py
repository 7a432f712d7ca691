"""Public tests of exercise 13-8: they grade the learner's report. `kafka-edu lab check 13-8` runs
them, and then examines the cluster and its group.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import CAUSES, MOST_WORKERS, PARTITIONS, POLL, Plan, plan

WHY = {
    POLL: "members leave and come back. What does each of them say about poll()?",
    PARTITIONS: "how many members of the group have no partition at all?",
}


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report says why the lag grows"""
    came = said(learner, "cause")
    if came == truth.cause:
        return
    if came not in CAUSES:
        why = f"it is one of {', '.join(CAUSES)}"
    else:
        why = WHY.get(truth.cause, "each member has partitions, and commits. Is that enough?")
    raise Mismatch("report()", Words("why the lag grows"), came, why)


def test_at_work(learner: Learner, truth: Plan) -> None:
    """the report says how many workers can have a partition"""
    came = said(learner, "at_work")
    if came == truth.at_work and not isinstance(came, bool):
        return
    if not isinstance(came, int) or isinstance(came, bool) or not 0 < came <= MOST_WORKERS:
        why = f"it is a number of workers, from 1 to {MOST_WORKERS}"
    elif came > truth.at_work:
        why = "a partition has one member of the group at most, and a member that is there"
    else:
        why = "a worker needs one partition, and there are more of both"
    raise Mismatch("report()", Words("the workers that can have a partition"), came, why)
