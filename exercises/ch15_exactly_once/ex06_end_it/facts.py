"""The facts about exercise 15-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, none_lost, same_topic, settings_kept
from ...runner.verdict import Step
from .material import LONG_JOB, TOPIC, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    topic: TopicFacts
    lso: int
    """The last stable offset; -1 if no leader answers."""
    records: tuple[str, ...] = ()
    """The values of all records, committed or not, in the order of their offsets."""
    committed: tuple[str, ...] = ()
    """The values that a reader of committed records gets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state after `begin`."""
    yield all_run("three", now.states)
    yield _moved_on(plan, now.lso)
    yield _left_alone(plan, now)
    yield _read(plan, now.committed)
    yield none_lost(TOPIC, before.records, now.records)
    yield same_topic(TOPIC, before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield isr_whole(before.topic.replicas, now.topic.isr)


def _moved_on(plan: Plan, lso: int) -> Step:
    """Check that the last stable offset has moved on: the hanging transaction no longer holds it
    back.
    """
    held = lso <= plan.lso
    seen = f"it is {lso}: a transaction that begins there is still open" if held else f"it is {lso}"
    return Step("the last stable offset has moved on", not held, seen)


def _left_alone(plan: Plan, now: Facts) -> Step:
    """Check that the long job's transaction was not ended. While the transaction is open, the last
    stable offset cannot move past the first record of the transaction.
    """
    says = f"the transaction of {LONG_JOB} is still open"
    ended = now.lso > plan.export_at
    return Step(
        says,
        not ended,
        f"it was ended: the last stable offset is {now.lso}, and {LONG_JOB} began at"
        f" {plan.export_at}. Its records are lost"
        if ended
        else f"it began at {plan.export_at}",
    )


def _read(plan: Plan, committed: tuple[str, ...]) -> Step:
    """Check that readers get exactly the committed records before the first record of the long job,
    in their order.
    """
    says = "readers get all committed payments that are older"
    wanted = plan.readable
    got = list(committed[: len(wanted)])
    if got == wanted:
        return Step(says, True, f"{len(wanted)} payments")
    missing = [value for value in wanted if value not in committed]
    strange = [value for value in got if value not in wanted]
    if strange:
        return Step(says, False, f"they get {strange[0]}, which does not count")
    first = missing[0] if missing else "none, but their order is another"
    return Step(says, False, f"{len(missing)} of {len(wanted)} are missing, the first: {first}")
