"""Public tests of exercise 07-6: they grade the learner's report. `kafka-edu lab check 07-6` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has. The report is compared with it."""
    return plan(material)


def test_led_last(learner: Learner, truth: Plan) -> None:
    """the report names the broker that led last"""
    came = said(learner, "led_last")
    if came == truth.deaths[2] and not isinstance(came, bool):
        return
    why = "the ISR in ZooKeeper still contains the broker that died last"
    if came not in (0, 1, 2) or isinstance(came, bool):
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    raise Mismatch("report()", Words("the broker that led last"), came, why)


def test_first(learner: Learner, truth: Plan) -> None:
    """the report names the broker that must become the leader first"""
    came = said(learner, "first")
    if came == truth.first and not isinstance(came, bool):
        return
    if came == truth.deaths[2]:
        why = "it died last, but is its log still on its disk?"
    elif came == truth.deaths[0]:
        why = "it died first, and lacks all later records"
    elif came == truth.deaths[1]:
        why = "the broker that died after it has the same records, and more"
    else:
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    raise Mismatch("report()", Words("the broker that has to lead first"), came, why)


def test_lost(learner: Learner, truth: Plan) -> None:
    """the report says how many acknowledged orders are lost"""
    came = said(learner, "lost")
    if came == truth.acked - truth.saved and not isinstance(came, bool):
        return
    why = (
        "the ticket says how many orders were acknowledged, and the log of the first leader shows"
        " how many are left"
    )
    raise Mismatch("report()", Words("how many orders are lost, at least"), came, why)
