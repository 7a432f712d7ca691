"""The facts about exercise 10-5's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, listed, none_lost, settings_kept
from ...runner.verdict import Step
from .material import BROKERS, TOPICS, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topics at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    links: tuple[str, ...]
    """The network links that have a fault, each as a text such as `0-1 cut`."""
    topics: tuple[TopicFacts, ...]
    """The facts about each topic, in the order of TOPICS."""
    records: tuple[tuple[str, ...], ...] = ()
    """The beginnings of all values in each topic's log, in the order of their offsets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    yield all_run("four", now.states)
    for topic, was, has in zip(TOPICS, before.records, now.records, strict=True):
        step = none_lost(topic, was, has)
        yield step._replace(says=f"{topic}: {step.says}")
    for topic, old, new in zip(TOPICS, before.topics, now.topics, strict=True):
        yield _same_topic(topic, old, new)
    yield settings_kept(before.topics[0].settings, now.topics[0].settings)
    yield left_alone({*range(BROKERS)} - {plan.broker_of("process")}, before.pids, now.pids)
    yield _links(now.links)
    for topic, new in zip(TOPICS, now.topics, strict=True):
        step = isr_whole(new.replicas, new.isr)
        yield step._replace(says=f"{topic}: {step.says}")


def _same_topic(topic: str, before: TopicFacts, now: TopicFacts) -> Step:
    says = f"{topic} has the replicas of before"
    if not now.created:
        return Step(says, False, f"there is no topic {topic}")
    if now.created != before.created:
        return Step(says, False, "it was deleted and created again")
    same = {*now.replicas} == {*before.replicas} and not now.adding and not now.removing
    return Step(says, same, f"brokers {listed(now.replicas)}")


def _links(links: tuple[str, ...]) -> Step:
    return Step("no link has a fault", not links, "; ".join(f"the link {one}" for one in links))
