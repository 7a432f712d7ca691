"""The facts about exercise 07-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, same_topic, settings_kept
from ...runner.verdict import Step
from .material import TOPIC, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    records: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the first broker
    died.
    """
    yield all_run("three", now.states)
    yield _saved(plan, now.records)
    yield same_topic(TOPIC, before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield isr_whole(before.topic.replicas, now.topic.isr)


def _saved(plan: Plan, records: tuple[str, ...]) -> Step:
    """Check that all orders that could be saved are in the log, in their order."""
    says = "every order is there that could be saved"
    there = 0
    for number in range(plan.acked):
        if there < len(records) and records[there] == f"order {number}":
            there += 1
        else:
            break
    if there >= plan.saved:
        return Step(says, True, f"{there} of {plan.acked} acknowledged orders")
    if there == 0:
        return Step(says, False, f"all {plan.acked} are lost: the leader had an empty log")
    return Step(
        says,
        False,
        f"{there} are left, but the best disk had {plan.saved}: the leader lacked some of them",
    )
