"""The facts about exercise 04-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, links_as, listed, none_lost, settings_kept
from ...runner.verdict import Step
from .material import BROKERS, FAR_MS, TOPIC, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    links: tuple[str, ...]
    """The network links that have a fault, each as a text such as `0-1 slow by 40 ms`."""
    topic: TopicFacts
    records: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""


def far_link(plan: Plan) -> str:
    """Return the text for the link that was slow from the start, and has to stay slow."""
    ends = sorted((plan.old, plan.far))
    return f"{ends[0]}-{ends[1]} slow by {FAR_MS} ms"


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    yield all_run("four", now.states)
    yield none_lost(TOPIC, before.records, now.records)
    yield _same_topic(before.topic, now.topic)
    yield _moved(plan, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield left_alone({*range(BROKERS)} - {plan.new}, before.pids, now.pids)
    yield links_as(far_link(plan), now.links)
    yield isr_whole(now.topic.replicas, now.topic.isr)


def _same_topic(before: TopicFacts, now: TopicFacts) -> Step:
    says = f"the topic {TOPIC} is the same as before"
    if not now.created:
        return Step(says, False, f"there is no topic {TOPIC}")
    return Step(
        says,
        now.created == before.created,
        ""
        if now.created == before.created
        else "it was deleted and created again; whoever had its offsets is lost",
    )


def _moved(plan: Plan, now: TopicFacts) -> Step:
    says = f"the move to the brokers {listed((plan.leader, plan.new))} has ended"
    if {plan.leader, plan.new} == {*now.replicas} and not now.adding and not now.removing:
        return Step(says, True, "as it was ordered")
    if now.adding or now.removing:
        comes = f"broker {listed(now.adding)} is to come" if now.adding else ""
        goes = f"broker {listed(now.removing)} is to go" if now.removing else ""
        return Step(says, False, f"a move is running: {' and '.join(filter(None, (comes, goes)))}")
    if {*now.replicas} == {plan.leader, plan.old}:
        return Step(says, False, "it was cancelled: the replicas are where they were before")
    return Step(says, False, f"the replicas are on the brokers {listed(now.replicas) or 'none'}")
