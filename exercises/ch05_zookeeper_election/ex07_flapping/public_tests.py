"""Public tests of exercise 05-7: they grade the learner's report. `kafka-edu lab check 05-7` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import CAUSES, SESSION_MS, SHORT_SESSION_MS, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has. The report is compared with it."""
    return plan(material)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker whose session ends"""
    came = said(learner, "broker")
    if came == truth.victim and not isinstance(came, bool):
        return
    if came in (0, 1, 2):
        why = (
            f"broker {came} has had one session since it started. Whose znode under /brokers/ids"
            " is made again and again?"
        )
    else:
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    raise Mismatch("report()", Words("the broker whose session ends"), came, why)


def test_stall(learner: Learner, truth: Plan) -> None:
    """the report says how long the broker's machine stalls"""
    came = said(learner, "stands_still_ms")
    if not isinstance(came, int | float) or isinstance(came, bool):
        raise Mismatch("report()", Words("a number of ms"), came, "the answer is a number")
    if abs(came - truth.stall_ms) <= 400:
        return
    why = (
        "this is the time-out of its session, not the length of its stall"
        if came in (SESSION_MS, SHORT_SESSION_MS)
        else "after a stall, a broker reports how long its loop was held"
    )
    raise Mismatch("report()", Words("the length of each stall"), came, why)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report says whether the cause is the machine or a setting"""
    came = said(learner, "cause")
    if came == truth.cause:
        return
    if came not in CAUSES:
        why = 'it is "machine" or "setting"'
    elif truth.cause == "machine":
        why = (
            "its session time-out is the same as that of the others, and the others do not stall:"
            " it is its machine"
        )
    else:
        why = (
            "all three machines have equally long stalls, and the other brokers keep their"
            " sessions: compare the time-outs of the three sessions"
        )
    raise Mismatch("report()", Words("what is different about it"), came, why)
