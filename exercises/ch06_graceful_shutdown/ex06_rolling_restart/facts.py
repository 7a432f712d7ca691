"""The facts about exercise 06-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, same_topic, settings_kept
from ...runner.verdict import Step
from .material import GIVES_UP_MS, SETTING, TOPIC, Plan
from .shop import Seen

NOBODY = -1


class Facts(NamedTuple):
    """The state of the cluster and of the shop at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    leader: int
    properties: tuple[Mapping[str, str], ...]
    """The settings in each broker's server.properties."""
    values: tuple[str, ...]
    """The value of SETTING that each broker works with; "" if the broker does not answer."""
    epoch: int
    """The value of /controller_epoch. It rises each time a broker becomes the controller."""
    shop: Seen | None
    """The notes of the shop; None if the shop has not written notes yet."""
    orders: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state when the work began."""
    yield all_run("three", now.states)
    yield _setting_read(plan, now.values)
    yield _nothing_else(before.properties, now.properties)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield same_topic(TOPIC, before.topic, now.topic)
    yield from _shop(now)
    yield _office(before.epoch, now.epoch)
    yield isr_whole(before.topic.replicas, now.topic.isr)
    yield _preferred(plan, now)


def _setting_read(plan: Plan, values: tuple[str, ...]) -> Step:
    says = f"each broker has read {SETTING}={plan.value}"
    for number, value in enumerate(values):
        if value != str(plan.value):
            seen = f"broker {number} has {value}" if value else f"broker {number} does not answer"
            return Step(says, False, f"{seen}: it reads its server.properties when it starts")
    return Step(says, True, "")


def _nothing_else(
    before: tuple[Mapping[str, str], ...], now: tuple[Mapping[str, str], ...]
) -> Step:
    changed = [
        f"{key} of broker {number}"
        for number, (old, new) in enumerate(zip(before, now, strict=True))
        for key in sorted({*old, *new} - {SETTING})
        if old.get(key) != new.get(key)
    ]
    return Step(
        "no other setting was changed",
        not changed,
        f"{', '.join(changed)}: the task does not ask for that" if changed else "",
    )


def _shop(now: Facts) -> Iterator[Step]:
    """Check what the shop has noticed, and yield each result."""
    seen = now.shop
    if seen is None:
        yield Step("the shop works", False, "it has written no notes")
        return
    given_up = sum(seen.given_up.values())
    yield Step(
        "the shop has never given up an order",
        not given_up,
        f"{given_up} of {seen.sent:,} were given up after {GIVES_UP_MS // 1000} s:"
        f" {_listed(seen.given_up)}"
        if given_up
        else f"{seen.sent:,} sent; the client tried again {seen.tried_again} times by itself, and"
        f" the slowest took {seen.slowest_ms:,} ms",
    )
    failed = sum(seen.failed_to_read.values())
    yield Step(
        "the shop has never failed to read",
        not failed,
        _listed(seen.failed_to_read) if failed else f"{seen.read:,} read",
    )
    yield _orders(seen, now.orders)
    yield Step(
        "at every moment at least two replicas were in sync",
        seen.fewest_in_sync >= 2,
        f"the fewest were {seen.fewest_in_sync}",
    )


def _orders(seen: Seen, orders: tuple[str, ...]) -> Step:
    says = "every acknowledged order is there, once"
    times = dict.fromkeys(orders, 0)
    for order in orders:
        times[order] += 1
    twice = [order for order, count in times.items() if count > 1]
    refused = {*seen.refused}
    lost = [
        number
        for number in range(seen.settled)
        if number not in refused and f"order {number}" not in times
    ]
    if lost:
        return Step(says, False, f"{len(lost)} are gone, order {lost[0]} is the first")
    if twice:
        return Step(says, False, f"{len(twice)} are there twice, {twice[0]} is the first")
    return Step(says, True, f"{seen.settled:,} orders")


def _office(before: int, now: int) -> Step:
    changes = now - before
    return Step(
        "the controller's office changed hands once at most",
        changes <= 1,
        ("not at all", "once")[changes]
        if 0 <= changes <= 1
        else f"it did so {changes} times: the controller comes last",
    )


def _preferred(plan: Plan, now: Facts) -> Step:
    return Step(
        "the preferred replica leads",
        now.leader == plan.preferred,
        f"broker {now.leader} leads {TOPIC}-0"
        if now.leader != NOBODY
        else f"nobody leads {TOPIC}-0",
    )


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {reason}" for reason, count in sorted(reasons.items()))
