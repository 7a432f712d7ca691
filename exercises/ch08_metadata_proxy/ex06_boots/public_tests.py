"""Public tests of exercise 08-6: they grade the learner's report. `kafka-edu lab check 08-6` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import ANOTHER, KINDS, NO_NAME, NOBODY, Plan, plan

LAST = "Metadata"
WHY_NOT = {
    NOBODY: "an address at which no process listens refuses the connection",
    ANOTHER: "a broker at that address answers that it does not lead the partition",
    NO_NAME: "the client's error names a host that it cannot resolve",
}


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has. The report is compared with it."""
    return plan(material)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker whose address is wrong"""
    came = said(learner, "broker")
    if came == truth.broker and not isinstance(came, bool):
        return
    if came not in (0, 1, 2) or isinstance(came, bool):
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    else:
        why = f"the address of broker {came} that clients receive is where it listens"
    raise Mismatch("report()", Words("the broker whose address is wrong"), came, why)


def test_there(learner: Learner, truth: Plan) -> None:
    """the report says what is at that address"""
    came = said(learner, "there")
    if came == truth.kind:
        return
    if came in KINDS:
        why = f"{WHY_NOT[str(came)]}: that is not so here"
    else:
        why = f"one of {', '.join(KINDS)}"
    raise Mismatch("report()", Words("who is at that address"), came, why)


def test_answered(learner: Learner) -> None:
    """the report names the last API that answered the client well"""
    came = said(learner, "answered")
    if came == LAST:
        return
    if isinstance(came, str) and came.replace(" ", "").upper() in {
        one.name.replace("_", "") for one in ApiKey
    }:
        why = "the client boots, and learns the topic and its leader; only its next request fails"
    else:
        why = "the name of an API, such as Fetch"
    raise Mismatch("report()", Words("the last API that was answered well"), came, why)
