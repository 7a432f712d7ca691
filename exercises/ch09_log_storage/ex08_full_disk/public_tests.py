"""Public tests of exercise 09-8: they grade the learner's report. `kafka-edu lab check 09-8` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import BROKERS, KEPT, LIMIT, RETENTION, TOPICS, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


def test_broker(learner: Learner, truth: Plan) -> None:
    """the report names the broker with the full disk"""
    came = said(learner, "broker")
    if came == truth.small and not isinstance(came, bool):
        return
    why = f"the brokers have the numbers 0 to {BROKERS - 1}"
    if came in range(BROKERS) and not isinstance(came, bool):
        why = f"both log dirs of broker {came} are online"
    raise Mismatch("report()", Words("the broker with the full disk"), came, why)


def test_topic(learner: Learner, truth: Plan) -> None:
    """the report names the topic that fills the disk"""
    came = said(learner, "topic")
    if came == truth.topic:
        return
    why = f"the topics are {', '.join(TOPICS)}"
    if came in KEPT:
        why = f"{came} is to be kept for ever, and its size is known: it is not a mistake"
    elif came == truth.steady:
        why = f"{came} lies on the other disk, and has little more than {LIMIT:,} bytes"
    raise Mismatch("report()", Words("the topic that grows and grows"), came, why)


def test_setting(learner: Learner, truth: Plan) -> None:
    """the report names the setting that lets the topic grow"""
    came = said(learner, "setting")
    if came == truth.setting:
        return
    why = "it is one setting of the topic. `configs --describe` shows those that were set"
    if came == RETENTION:
        why = f"{truth.topic} has retention.bytes={LIMIT}, and another setting makes it useless"
    elif came in ("retention.ms", "segment.bytes"):
        why = f"{came} of {truth.topic} is the same as that of {truth.steady}, which stays small"
    elif came == "cleanup.policy":
        why = f"{truth.topic} has cleanup.policy=delete, as {truth.steady} has"
    raise Mismatch("report()", Words("the setting that lets it grow"), came, why)
