"""Public tests of exercise 04-6: they grade the learner's report. `kafka-edu lab check 04-6` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import MISSING, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has. The report is compared with it."""
    return plan(material)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker that the move waits for"""
    came = said(learner, "broker")
    if came == truth.new and not isinstance(came, bool):
        return
    if came == truth.leader:
        why = f"broker {came} leads the partition and stays: it has all records"
    elif came == truth.old:
        why = (
            f"broker {came} is the replica that goes. It leaves last: it waits for the new replica"
        )
    elif came == truth.far:
        why = f"broker {came} has no replica of this partition, before or after the move"
    else:
        why = "the brokers have the numbers 0 to 3, and the answer is a number"
    raise Mismatch("report()", Words("the broker that is not in sync yet"), came, why)


def test_missing(learner: Learner, truth: Plan) -> None:
    """the report says whether the controller's orders or the leader's records are missing"""
    came = said(learner, "missing")
    if came == truth.missing:
        return
    if came not in MISSING:
        why = 'it is "orders" or "records"'
    elif truth.missing == "orders":
        why = (
            "a broker that does not know that it is a replica does not fetch. This broker has no"
            " log of the"
            " partition, and the controller sends it the same request again and again"
        )
    else:
        why = (
            "this broker has heard the controller: it has a log of the partition, and tries to"
            " fetch from the leader"
        )
    raise Mismatch("report()", Words("what does not reach it"), came, why)
