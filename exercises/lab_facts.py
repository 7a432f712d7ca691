"""Checks that all *operate* exercises share: the report is written, no record is lost, and nothing
healthy was changed. They need no cluster.
"""

from collections.abc import Collection, Iterable, Sequence

from kafka_edu.learner.learner import Learner

from .lab_cluster import TopicFacts
from .runner.verdict import Step


def said(learner: Learner, name: str) -> object:
    """Return the entry `name` of the learner's report. Raises AssertionError if it is None."""
    came = learner.make().call("get", name)
    if came is None:
        raise AssertionError(f'the report is not written yet: it returns None for "{name}"')
    return came


def listed(numbers: Iterable[int]) -> str:
    """Return the numbers in ascending order, as text with commas."""
    return ", ".join(map(str, sorted(numbers)))


def all_run(count: str, states: Sequence[str]) -> Step:
    """Check that every broker runs. `count` is their number in words."""
    down = [
        f"broker {number} is {state}" for number, state in enumerate(states) if state != "running"
    ]
    return Step(f"all {count} brokers run", not down, "; ".join(down))


def none_lost(topic: str, before: Sequence[str], now: Sequence[str]) -> Step:
    """Check that the topic still has all records from before the trouble, in the same order."""
    missing = len(before) - sum(a == b for a, b in zip(before, now, strict=False))
    return Step(
        "no record was lost",
        not missing,
        f"{missing} of {len(before)} orders are gone from {topic}"
        if missing
        else f"{len(before)} orders of before, in their order",
    )


def same_topic(topic: str, before: TopicFacts, now: TopicFacts) -> Step:
    """Check that the topic was not created again, and that its replicas are in the same order."""
    same = (before.created, before.replicas) == (now.created, now.replicas)
    return Step(
        f"the topic {topic} is the same as before, with its replicas",
        same,
        "" if same else "it was made again, or its replicas have another order",
    )


def not_made_again(topic: str, lost: str, before: TopicFacts, now: TopicFacts) -> Step:
    """Check that the topic was not created again. `lost` says what a new topic would not have."""
    says = f"the topic {topic} is the same as before"
    if not now.created:
        return Step(says, False, f"there is no topic {topic}")
    same = now.created == before.created
    return Step(says, same, "" if same else f"it was deleted and created again, {lost}")


def settings_kept(before: str, now: str) -> Step:
    """Check that the settings are the same as before the trouble."""
    settled = now == before
    return Step(
        "no setting was changed",
        settled,
        ""
        if settled
        else f"before: {before or 'none'}; now: {now or 'none'}. A setting that hides the trouble"
        " does not end it",
    )


def left_alone(healthy: Collection[int], before: Sequence[int], now: Sequence[int]) -> Step:
    """Check that the healthy brokers still have the same process ids: nobody has restarted them."""
    restarted = [number for number in sorted(healthy) if now[number] != before[number]]
    return Step(
        "the healthy brokers were left alone",
        not restarted,
        f"broker {listed(restarted)} has another process than before: it was restarted, and it was"
        " not the one in trouble"
        if restarted
        else "",
    )


def links_as(expected: str, links: Collection[str]) -> Step:
    """Check that the only link with a fault is `expected`, a link that has to be slow."""
    says = "the links are as they should be"
    faults = [link for link in links if link != expected]
    if faults:
        return Step(says, False, f"the link {'; the link '.join(faults)}")
    if expected not in links:
        return Step(
            says,
            False,
            f"the link {expected} is gone. It leads to the other building and was not at fault:"
            " others rely on its settings",
        )
    return Step(says, True, f"only {expected} is left, as the ticket says")


def isr_whole(replicas: Iterable[int], isr: Collection[int]) -> Step:
    """Check that every replica is in the ISR."""
    out = set(replicas) - set(isr)
    return Step(
        "the ISR is whole",
        not out,
        f"broker {listed(out)} is not in it" if out else f"brokers {listed(isr)}",
    )
