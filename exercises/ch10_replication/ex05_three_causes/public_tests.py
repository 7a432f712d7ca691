"""Public tests of exercise 10-5: they grade the learner's report. `kafka-edu lab check 10-5` runs
them, and then examines the cluster.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...lab_facts import said
from ...runner.mismatch import Mismatch, Words
from .material import CAUSES, TOPICS, Plan, plan


@pytest.fixture
def truth(material: int) -> Plan:
    """The trouble that this learner's cluster has, for comparison with the report."""
    return plan(material)


@pytest.mark.parametrize("topic", TOPICS)
def test_cause(learner: Learner, truth: Plan, topic: str) -> None:
    """the report says why a replica of the topic is not in the ISR"""
    came = said(learner, topic)
    number = TOPICS.index(topic)
    cause, broker = truth.causes[number], truth.followers[number]
    if came == cause:
        return
    raise Mismatch("report()", Words("another reason"), came, _why(topic, broker, cause, came))


def _why(topic: str, broker: int, cause: str, came: object) -> str:
    if came not in CAUSES:
        return 'it is "link", "process" or "throttle"'
    match cause:
        case "process":
            return f"broker {broker}, the follower of {topic}-0, does not run at all"
        case "link":
            return (
                f"broker {broker}, the follower of {topic}-0, runs and gets no answer from the"
                " leader; the other two do not have that"
            )
        case _:
            return (
                f"broker {broker}, the follower of {topic}-0, runs and gets answers: its log could"
                " grow faster, but a setting limits it"
            )
