"""The facts about exercise 12-7's cluster and shop that are graded, and the rules that grade them.
This module needs no running cluster.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, listed, settings_kept
from ...runner.verdict import Step
from .material import FAR_MS, TOPIC, Plan
from .shop import Seen

ENOUGH: Final = 500
"""The number of orders in a row that the shop has to take during the check."""
BEHIND: Final = 250
"""The most orders that may be without an acknowledgement at the end of the check."""


class Facts(NamedTuple):
    """The state of the cluster and of the shop at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    links: tuple[str, ...]
    """The network links that have a fault, each as a text such as `0-1 cut`."""
    topic: TopicFacts
    shop: Seen | None
    """None: the shop has written nothing."""
    in_log: int
    """The number of records in the topic's log."""
    watched: Seen | None = None
    """The shop's notes when the check began to watch it."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state in the trouble."""
    yield all_run("three", now.states)
    yield isr_whole(before.topic.replicas, now.topic.isr)
    yield _same_topic(before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield _far_link(plan, now.links)
    yield _same_shop(before.shop, now.shop)
    yield _in_log(now)
    yield _takes_all(now.watched, now.shop)


def _same_topic(before: TopicFacts, now: TopicFacts) -> Step:
    says = f"the topic {TOPIC} is the same as before, on three brokers"
    if not now.created:
        return Step(says, False, f"there is no topic {TOPIC}")
    if now.created != before.created:
        return Step(says, False, "it was deleted and created again, and its orders are gone")
    same = {*now.replicas} == {*before.replicas} and not now.adding and not now.removing
    return Step(says, same, f"its replicas are on the brokers {listed(now.replicas)}")


def _far_link(plan: Plan, links: tuple[str, ...]) -> Step:
    says = "the link to the other building is as slow as before"
    if plan.far_link in links:
        return Step(says, True, plan.far_link)
    why = f"it is slow by {FAR_MS} ms, because the distance is long. This cannot be changed"
    return Step(says, False, why)


def _same_shop(before: Seen | None, now: Seen | None) -> Step:
    says = "the shop is open, and its orders need acks=all"
    if before is None or now is None or now.pid != before.pid:
        return Step(says, False, "the shop of before has ended: lab reset, and begin again")
    if now.complaint:
        return Step(says, False, f"it cannot use its new settings: {now.complaint}")
    acks = now.settings.get("acks", "1")
    if acks not in ("all", "-1"):
        return Step(says, False, f"acks={acks}: an order that is paid may be lost")
    return Step(says, True, f"its producer {now.producer} has acks={acks}")


def _in_log(now: Facts) -> Step:
    says = "each acknowledged order is in the log"
    acked = now.shop.acked_in_all if now.shop is not None else 0
    missing = acked - now.in_log
    if missing > 0:
        return Step(says, False, f"{missing:,} of {acked:,} cannot be read by a consumer")
    return Step(says, acked > 0, f"{acked:,} orders")


def _takes_all(began: Seen | None, now: Seen | None) -> Step:
    says = "the shop refuses no order, and its orders are acknowledged"
    if began is None or now is None or now.producer != began.producer:
        return Step(says, False, "the shop has changed its producer during the check")
    taken, behind = now.taken - began.taken, behind_of(began, now)
    if not is_calm(began, now):
        turned_away = now.turned_away - began.turned_away
        failed = now.failed - began.failed
        seen = (
            f"during the check it took {taken:,} orders and refused {turned_away:,},"
            f" {failed:,} failed, and {behind:,} wait for their acknowledgement"
        )
        return Step(says, False, seen)
    return Step(says, True, f"{taken:,} orders in a row, and {behind:,} wait at this moment")


def behind_of(began: Seen, now: Seen) -> int:
    """Return the number of orders that have no acknowledgement. An order that failed before the
    check began does not count.
    """
    return now.taken - now.acked - began.failed


def is_calm(began: Seen, now: Seen) -> bool:
    """Return whether the shop has taken enough orders in a row, and is not behind."""
    return (
        now.producer == began.producer
        and now.taken - began.taken >= ENOUGH
        and now.in_a_row >= ENOUGH
        and behind_of(began, now) <= BEHIND
    )
