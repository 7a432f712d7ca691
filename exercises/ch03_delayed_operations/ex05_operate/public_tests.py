"""Public tests of exercise 03-5: they check the learner's report. After them,
`kafka-edu lab check 03-5` checks the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import CAUSES, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that was made in this learner's cluster."""
    return plan(material)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker that the produce waited for"""
    came = said(learner, "broker")
    if came == truth.victim and not isinstance(came, bool):
        return
    if came == truth.leader:
        why = (
            f"broker {came} leads the partition. It has the records and waits for others: its"
            " purgatory shows which brokers it waits for"
        )
    elif came == truth.far:
        why = (
            f"broker {came} is in the other building, but it is not behind: its LEO in the"
            " purgatory of the leader is the offset that is required"
        )
    else:
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    raise Mismatch("report()", Words("the broker that the leader waits for"), came, why)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report names the cause of the trouble"""
    came = said(learner, "cause")
    if came == truth.cause:
        return
    if came not in CAUSES:
        why = 'the cause is "cut" or "slow"'
    elif truth.cause == "slow":
        why = (
            "over a link that is cut nothing passes at all. This broker's LEO does move, long after"
            " each record: watch it for half a minute"
        )
    else:
        why = (
            "over a slow link everything passes, only later. This broker's LEO has not moved since"
            " the trouble began, however long one waits"
        )
    raise Mismatch("report()", Words("what its link to the leader is like"), came, why)
