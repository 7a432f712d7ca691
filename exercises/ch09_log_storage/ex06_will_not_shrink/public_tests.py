"""Public tests of exercise 09-6: they grade the learner's report. `kafka-edu lab check 09-6` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import BATCH, EVERYWHERE, KINDS, LAG, ROLL, TRANSACTION, Plan, plan

WHY_NOT = {
    TRANSACTION: "the last stable offset is the high watermark: no transaction is open",
    LAG: "min.compaction.lag.ms of the topic is 0",
    ROLL: "the log has many closed segments",
    BATCH: "no broker says that its cleaner cannot read a batch (LogNotCleanable)",
}


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


def test_cause(learner: Learner, truth: Plan) -> None:
    """the report names the cause"""
    came = said(learner, "cause")
    if came == truth.kind:
        return
    why = f"the causes are {', '.join(KINDS)}"
    if isinstance(came, str) and came in KINDS:
        why = WHY_NOT[came]
    raise Mismatch("report()", Words("what keeps the partition from shrinking"), came, why)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker on which the cause lies"""
    came = said(learner, "broker")
    if came == truth.broker and not isinstance(came, bool):
        return
    if came not in (EVERYWHERE, 0, 1, 2) or isinstance(came, bool):
        why = "the brokers have the numbers 0, 1 and 2; -1 means all of them"
    elif truth.broker == EVERYWHERE:
        why = "no replica is compacted, also not on the other brokers"
    elif came == EVERYWHERE:
        why = "two of the replicas are compacted"
    else:
        why = f"the replica of broker {came} is compacted"
    raise Mismatch("report()", Words("the broker on which the cause lies"), came, why)
