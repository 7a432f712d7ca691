"""The facts about exercise 09-8's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, listed, settings_kept
from ...runner.verdict import Step
from .material import BROKERS, KEPT, LIMIT, POLICY, RETENTION, SETTINGS, TOPICS, Plan

NEWEST: Final = 100
"""In a topic whose old records may be deleted, this number of the newest records must be there."""
SEGMENT: Final = 65_536
"""The setting segment.bytes of all topics."""
BOUND: Final = LIMIT + 2 * SEGMENT
"""The most bytes that a replica may have in the end. Retention deletes only whole segments."""


class Replica(NamedTuple):
    """The replica of the growing topic on one broker."""

    broker: int
    bytes: int
    """The bytes of all segments that are not deleted."""
    bases: tuple[int, ...]
    """The base offsets of these segments."""
    deleted: tuple[int, ...] = ()
    """The base offsets of the segments that the broker itself has deleted, as its events show."""
    cleaned_to: int = 0
    """The offset below which the cleaner has merged segments."""


class Facts(NamedTuple):
    """The state of the cluster and of its topics at one moment."""

    states: tuple[str, ...]
    pids: tuple[int, ...]
    offline: tuple[str, ...]
    """The log dirs that are offline, each as a text with its broker."""
    properties: tuple[str, ...]
    """The settings log.dirs and the quota in each broker's server.properties."""
    topics: tuple[TopicFacts, ...]
    """The facts about each topic, in the order of TOPICS."""
    replicas: tuple[Replica, ...]
    records: tuple[tuple[str, ...], ...] = ()
    """The beginnings of all values in each topic's log, in the order of their offsets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state with the full disk."""
    yield all_run("three", now.states)
    yield Step("every log dir is online", not now.offline, "; ".join(now.offline))
    yield _same_topics(before.topics, now.topics)
    for topic, was, has in zip(TOPICS, before.records, now.records, strict=True):
        wanted = was if topic in KEPT else was[-NEWEST:]
        yield _records(topic, wanted, has)
    yield _bounded(plan, now.topics[TOPICS.index(plan.topic)].settings)
    yield _small(plan, now.replicas)
    yield _by_hand(plan, before.replicas, now.replicas)
    old, new = (
        ", ".join(_bound_settings(plan, one.settings) for one in facts.topics)
        for facts in (before, now)
    )
    yield settings_kept(old, new)
    yield _properties(before.properties, now.properties)
    yield left_alone({*range(BROKERS)} - {plan.small}, before.pids, now.pids)
    for topic, facts in zip(TOPICS, now.topics, strict=True):
        step = isr_whole(facts.replicas, facts.isr)
        yield step._replace(says=f"{topic}: {step.says}")


def _same_topics(before: Sequence[TopicFacts], now: Sequence[TopicFacts]) -> Step:
    wrong = []
    for topic, old, new in zip(TOPICS, before, now, strict=True):
        if not new.created:
            wrong.append(f"there is no topic {topic}")
        elif new.created != old.created:
            wrong.append(f"{topic} was deleted and created again")
        elif new.replicas != old.replicas or new.adding or new.removing:
            wrong.append(f"{topic} has its replicas on brokers {listed(new.replicas)}")
    return Step("the topics are those of before, on their brokers", not wrong, "; ".join(wrong))


def _records(topic: str, wanted: Sequence[str], now: Sequence[str]) -> Step:
    which = "all records" if topic in KEPT else f"the newest {NEWEST} records"
    there = set(now)
    gone = [one for one in wanted if one not in there]
    seen = f"{len(gone)} of {len(wanted)} are gone" if gone else ""
    return Step(f"{topic}: {which} of before are there", not gone, seen)


def _bounded(plan: Plan, settings: str) -> Step:
    """Check that the topic cannot grow any more with its current settings."""
    says = f"{plan.topic} will stay small: the broker deletes its oldest segments"
    found = values_of(plan.topic, settings)
    policy, limit = found.get(POLICY, "delete"), int(found.get(RETENTION, "-1"))
    if "delete" not in policy.split(","):
        return Step(says, False, f"cleanup.policy={policy}, so nothing is deleted")
    if not 0 <= limit <= LIMIT:
        return Step(says, False, f"retention.bytes={limit}. The ticket says {LIMIT}")
    return Step(says, True, f"cleanup.policy={policy}, retention.bytes={limit}")


def _small(plan: Plan, replicas: Sequence[Replica]) -> Step:
    large = [f"broker {one.broker} has {one.bytes:,}" for one in replicas if one.bytes > BOUND]
    seen = "; ".join(large) or f"{max(one.bytes for one in replicas):,} bytes"
    return Step(f"{plan.topic} has at most {BOUND:,} bytes on each broker", not large, seen)


def _by_hand(plan: Plan, before: Sequence[Replica], now: Sequence[Replica]) -> Step:
    taken = []
    for old, new in zip(before, now, strict=True):
        known = {*new.bases, *new.deleted}
        gone = [base for base in old.bases if base >= new.cleaned_to and base not in known]
        if gone:
            taken.append(
                f"broker {old.broker} says nothing of {len(gone)} segments that are gone, such as"
                f" {gone[0]:020}.log. Files of a log belong to the broker"
            )
    says = f"the brokers themselves have deleted the segments of {plan.topic}"
    return Step(says, not taken, "; ".join(taken))


def values_of(topic: str, settings: str) -> dict[str, str]:
    """Return the settings of the topic as a dict, from the text in its TopicFacts.

    A value may itself contain commas, as in `compact,delete`.
    """
    words = [one for one in settings.split(", ") if one.startswith(f"topic {topic} ")]
    pairs = (one.removeprefix(f"topic {topic} ").partition("=") for one in words)
    return {key: value for key, _, value in pairs}


def _bound_settings(plan: Plan, settings: str) -> str:
    """Return `settings` without those that the learner may change: the ones in SETTINGS, of the
    topic that fills the disk.
    """
    free = tuple(f"topic {plan.topic} {key}=" for key in SETTINGS)
    return ", ".join(one for one in settings.split(", ") if not one.startswith(free))


def _properties(before: Sequence[str], now: Sequence[str]) -> Step:
    changed = [f"{new}, before: {old}" for old, new in zip(before, now, strict=True) if old != new]
    return Step("the disks are those of before", not changed, "; ".join(changed))
