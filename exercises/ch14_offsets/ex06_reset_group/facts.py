"""The facts about exercise 14-6's cluster and billing program that are graded, and the rules that
grade them. This module needs no running cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, settings_kept
from ...runner.verdict import Step
from .billing import Read, Seen
from .material import MEMBERS, OTHER, PARTITIONS, REFUNDS, TOPIC, Plan

LEAST_SENT: Final = 20
"""This number of records has to arrive after the trouble begins."""
AGAIN: Final = "each order since the price list is billed again, and no order of before"


class Facts(NamedTuple):
    """The state of the cluster and of the billing program at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    billing: Seen | None
    """None: the billing has written nothing."""
    committed: Mapping[str, int]
    """Partition → the group's offset. Partitions without an offset are left out."""
    ends: Mapping[str, int]
    """Partition → the end of its log when the check began."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state in the trouble."""
    yield all_run("two", now.states)
    yield _same_topic(before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield _same_billing(before.billing, now.billing)
    read = now.billing.read if now.billing is not None else {}
    yield _again(plan, read)
    yield _none_left_out(read)
    yield _refunds(read)
    yield _caught_up(now)


def _same_topic(before: TopicFacts, now: TopicFacts) -> Step:
    says = f"the topic {TOPIC} is the same as before"
    if not now.created:
        return Step(says, False, f"there is no topic {TOPIC}")
    if now.created != before.created:
        return Step(says, False, "it was deleted and created again, and its orders are gone")
    return Step(says, True, f"{PARTITIONS} partitions")


def _same_billing(before: Seen | None, now: Seen | None) -> Step:
    says = f"the shop is open, and the billing has {MEMBERS} members again"
    if before is None or now is None or now.pid != before.pid:
        return Step(says, False, "the billing of before has ended: lab reset, and begin again")
    if now.complaint:
        return Step(says, False, now.complaint)
    if now.members != MEMBERS:
        return Step(says, False, f"it has {now.members}")
    new = now.sent - before.sent
    return Step(says, _sells(before, now), f"{new:,} orders and refunds have come since")


def _sells(before: Seen, now: Seen) -> bool:
    return now.sent - before.sent >= LEAST_SENT


def _again(plan: Plan, read: Mapping[str, Read]) -> Step:
    for partition, right in enumerate(plan.begins):
        name = f"{TOPIC}-{partition}"
        if partition == plan.closed:
            if name in read:
                return Step(AGAIN, False, f"{name}: order {read[name].lowest} has a second bill")
            continue
        if name not in read:
            return Step(AGAIN, False, f"{name}: nothing was read")
        lowest = read[name].lowest
        if lowest < right:
            why = f"order {lowest} has a second bill; the first one that needs it is {right}"
            return Step(AGAIN, False, f"{name}: {why}")
        if lowest > right:
            why = f"the first one that was billed is {lowest}; {right} has a wrong bill still"
            return Step(AGAIN, False, f"{name}: {why}")
    begun = ", ".join(f"{TOPIC}-{n} from {plan.begins[n]} on" for n in plan.open)
    return Step(AGAIN, True, begun)


def _none_left_out(read: Mapping[str, Read]) -> Step:
    says = "no order is left out"
    for name, one in read.items():
        missing = one.behind - one.lowest - one.distinct
        if missing:
            where = f"between {one.lowest} and {one.behind}"
            return Step(says, False, f"{name}: {missing:,} records {where} were not read")
    return Step(says, True, f"{sum(one.distinct for one in read.values()):,} records were read")


def _refunds(read: Mapping[str, Read]) -> Step:
    says = "no refund is paid twice"
    paid = read.get(f"{OTHER}-0")
    if paid is not None and paid.lowest < REFUNDS:
        return Step(says, False, f"refund {paid.lowest} was paid again: it is of before")
    return Step(says, paid is not None, "" if paid is not None else "none was paid")


def _caught_up(now: Facts) -> Step:
    says = "the group has committed all that had come when the check began"
    for name, end in sorted(now.ends.items()):
        committed = now.committed.get(name)
        if committed is None:
            return Step(says, False, f"{name}: no offset is committed")
        if committed < end:
            return Step(says, False, f"{name}: {committed:,} of {end:,}")
    return Step(says, bool(now.ends), f"{len(now.ends)} partitions")


def is_caught_up(now: Facts) -> bool:
    """Return whether the group has committed all records that existed when the check began."""
    return _caught_up(now).passed


def is_complete(before: Facts, now: Facts) -> bool:
    """Return whether the check need not wait any more.

    A check that comes right after `before` waits for new orders, even if the group has caught up.
    """
    if before.billing is None or now.billing is None:
        return True
    return is_caught_up(now) and _sells(before.billing, now.billing)
