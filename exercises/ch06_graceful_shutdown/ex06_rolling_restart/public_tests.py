"""Public tests of exercise 06-6: they grade the learner's report. `kafka-edu lab check 06-6` runs
them, and then examines the cluster and the shop.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import TOPIC, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The task of this learner. The report is compared with it."""
    return plan(material)


def test_down(learner: Learner, truth: Plan) -> None:
    """the report names the broker that was down at the beginning"""
    _number(
        learner,
        "down",
        truth.down,
        "the broker that did not run at the beginning",
        "it ran. `cluster status` said who did not, before you began",
    )


def test_preferred(learner: Learner, truth: Plan) -> None:
    """the report names the preferred leader"""
    _number(
        learner,
        "preferred",
        truth.preferred,
        f"the preferred leader of {TOPIC}-0",
        f"the preferred leader is the first under Replicas of `topics --describe --topic {TOPIC}`,"
        " whoever leads at the moment",
    )


def _number(learner: Learner, name: str, right: int, wanted: str, why: str) -> None:
    """Compare the report's number `name` with `right`. Raises Mismatch if they differ."""
    came = said(learner, name)
    if came == right and not isinstance(came, bool):
        return
    if came not in (0, 1, 2) or isinstance(came, bool):
        why = "the brokers have the numbers 0, 1 and 2, and the answer is a number"
    raise Mismatch("report()", Words(wanted), came, why)
