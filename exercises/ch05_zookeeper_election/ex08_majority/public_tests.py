"""Public tests of exercise 05-8: they grade the learner's report. `kafka-edu lab check 05-8` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import FILES, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has. The report is compared with it."""
    return plan(material)


def test_damaged(learner: Learner, truth: Plan) -> None:
    """the report names the ZooKeeper server whose data are damaged"""
    came = said(learner, "damaged")
    if came == truth.damaged and not isinstance(came, bool):
        return
    if came == truth.survivor:
        why = f"zookeeper-{came} runs. It does not answer because it has no majority"
    elif came == truth.stopped:
        why = f"zookeeper-{came} was killed, and its data are well: start it, and it runs"
    else:
        why = "the servers have the numbers 1, 2 and 3, and the answer is a number"
    raise Mismatch("report()", Words("the server that does not start"), came, why)


def test_file(learner: Learner, truth: Plan) -> None:
    """the report says which file of that server is damaged"""
    came = said(learner, "file")
    if came == truth.file:
        return
    why = (
        f"it is one of {' and '.join(FILES)}"
        if came not in FILES
        else f"the server's log names the reason of its end, and it is not its {came}: read the"
        " line that begins with “Caused by”"
    )
    raise Mismatch("report()", Words("what is damaged"), came, why)


def test_enough(learner: Learner, truth: Plan) -> None:
    """the report says which server's start is enough to give ZooKeeper its majority back"""
    came = said(learner, "enough")
    if came == truth.stopped and not isinstance(came, bool):
        return
    if came == truth.survivor:
        why = f"zookeeper-{came} runs already, and one of three is no majority"
    elif came == truth.damaged:
        why = (
            f"zookeeper-{came} does not start with its data. Without its data it would need a"
            " majority to copy from, and there is none yet"
        )
    else:
        why = "the servers have the numbers 1, 2 and 3, and the answer is a number"
    raise Mismatch("report()", Words("the server to start first"), came, why)
