"""Public tests of exercise 12-7: they grade the learner's report. `kafka-edu lab check 12-7` runs
them, and then examines the cluster and its shop.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import BROKERS, CAUSES, LINK, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report says why the buffer is full"""
    came = said(learner, "cause")
    if came == truth.cause:
        return
    if came not in CAUSES:
        why = f"it is one of {', '.join(CAUSES)}"
    elif truth.cause == LINK:
        why = "its batches have many orders each. But is one of them ever acknowledged?"
    else:
        why = "orders are acknowledged all the time. How many are in each batch that is sent?"
    raise Mismatch("report()", Words("why the buffer is full"), came, why)


def test_waits_for(learner: Learner, truth: Plan) -> None:
    """the report names the broker whose copy an order waits for"""
    came = said(learner, "waits_for")
    if came == truth.waits_for and not isinstance(came, bool):
        return
    if came not in range(BROKERS) or isinstance(came, bool):
        why = f"the brokers have the numbers 0 to {BROKERS - 1}, and the answer is a number"
    elif came == truth.leader:
        why = f"broker {came} leads the partition: it has each order first"
    else:
        why = f"`why` names the broker that is behind, and that is not broker {came}"
    raise Mismatch("report()", Words("the broker that an order waits for"), came, why)
