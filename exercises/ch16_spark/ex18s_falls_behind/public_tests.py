"""Public tests of exercise 16-18s: they grade the learner's report. `kafka-edu lab check 16-18s`
runs them, and then examines the cluster, the shop and the query.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import CAUSES, FETCH, KEY, LIMIT, PARTITION, Plan, plan

WHY = {
    LIMIT: "how long does a micro-batch take, and how long is it to the next one?",
    PARTITION: "how many partitions are in endOffset? A partition has one task",
    KEY: "compare startOffset and endOffset, partition by partition. Which one grows?",
    FETCH: "what does a fetch do in the broker, for most of its time?",
}


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's query has, for comparison with the report."""
    return plan(material)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report says why the query falls behind"""
    came = said(learner, "cause")
    if came == truth.cause:
        return
    why = WHY[truth.cause] if came in CAUSES else f"it is one of {', '.join(CAUSES)}"
    raise Mismatch("report()", Words("why the query falls behind"), came, why)


def test_busy(learner: Learner, truth: Plan) -> None:
    """the report says how many tasks have work"""
    came = said(learner, "busy")
    if came == truth.busy and not isinstance(came, bool):
        return
    if not isinstance(came, int) or isinstance(came, bool) or came < 1:
        why = "it is a number of tasks, from 1 on"
    elif came > truth.busy:
        why = "without minPartitions, a partition has one task. How many clicks are in each?"
    else:
        why = "more partitions than that grow in each micro-batch"
    raise Mismatch("report()", Words("the tasks that have work"), came, why)
