"""Public tests of exercise 15-6: they grade the learner's report. `kafka-edu lab check 15-6` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import JOBS, LONG_JOB, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


def test_lso(learner: Learner, truth: Plan) -> None:
    """the report says where the last stable offset stood"""
    came = said(learner, "lso")
    if came == truth.lso and not isinstance(came, bool):
        return
    why = "it is the offset at which readers of committed records stood still"
    if came == truth.export_at:
        why = f"there {LONG_JOB} begins; an older transaction was open too"
    raise Mismatch("report()", Words("the last stable offset of the trouble"), came, why)


def test_holder(learner: Learner, truth: Plan) -> None:
    """the report names the transactional id whose transaction held the LSO"""
    came = said(learner, "holder")
    if came == truth.holder:
        return
    why = "the producer id of the record at that offset leads to it, by __transaction_state"
    if came == LONG_JOB:
        why = f"{LONG_JOB} has an open transaction too, but it began later"
    elif came not in JOBS:
        why = f"the transactional ids are {', '.join(JOBS)} and {LONG_JOB}"
    raise Mismatch("report()", Words("the transactional id of the one that held it"), came, why)


def test_hidden(learner: Learner, truth: Plan) -> None:
    """the report says how many committed payments readers got because the transaction ended"""
    came = said(learner, "hidden")
    if came == truth.hidden and not isinstance(came, bool):
        return
    why = f"count the committed records between the transaction that held it and {LONG_JOB}'s"
    if came == truth.hidden + truth.left_open:
        why = "the payments of the open transaction itself do not count"
    elif came == truth.hidden + sum(count for _, count in truth.later):
        why = f"those behind the first record of {LONG_JOB} still wait for it"
    raise Mismatch("report()", Words("how many payments came"), came, why)
