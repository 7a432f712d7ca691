"""The facts about exercise 05-7's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, listed, none_lost, settings_kept
from ...runner.verdict import Step
from .material import LONGEST_MS, SESSION_KEY, SESSION_MS, TOPIC, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    stalls: tuple[str, ...]
    """The repeated stalls of each broker's machine, as the supervisor describes them."""
    topic: TopicFacts
    properties: tuple[Mapping[str, str], ...]
    """The settings in each broker's server.properties."""
    records: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""
    lives: tuple[int, ...] = ()
    """The czxid of the victim's znode in /brokers/ids, before and after some stalls. 0: no znode.
    Two different numbers mean that the victim's session ended, and that it registered again.
    """
    stalls_watched: int = 0


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    yield all_run("three", now.states)
    yield none_lost(TOPIC, before.records, now.records)
    yield _same_topic(before.topic, now.topic)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield _one_setting(plan, before.properties, now.properties)
    yield left_alone({*range(3)} - {plan.victim}, before.pids, now.pids)
    yield _machines(before.stalls, now.stalls)
    yield _long_enough(plan, now.properties[plan.victim])
    yield _peace(plan, now)
    yield isr_whole(before.topic.replicas, now.topic.isr)


def _same_topic(before: TopicFacts, now: TopicFacts) -> Step:
    says = f"the topic {TOPIC} is the same as before, on three brokers"
    if not now.created:
        return Step(says, False, f"there is no topic {TOPIC}")
    if now.created != before.created:
        return Step(
            says, False, "it was deleted and created again; consumers with its old offsets are lost"
        )
    same = sorted(now.replicas) == sorted(before.replicas)
    return Step(says, same, f"its replicas are on the brokers {listed(now.replicas)}")


def _one_setting(
    plan: Plan, before: tuple[Mapping[str, str], ...], now: tuple[Mapping[str, str], ...]
) -> Step:
    """Check that at most one setting has changed: SESSION_KEY in the victim's server.properties."""
    changed = [
        f"{key} of broker {number}"
        for number, (old, new) in enumerate(zip(before, now, strict=True))
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key) and (number, key) != (plan.victim, SESSION_KEY)
    ]
    return Step(
        "only the setting that the trouble is about was changed",
        not changed,
        f"{', '.join(changed)}: the task does not ask for that" if changed else "",
    )


def _machines(before: tuple[str, ...], now: tuple[str, ...]) -> Step:
    same = before == now
    return Step(
        "the machines are as they were",
        same,
        ""
        if same
        else "somebody has ended the stalls of a machine. The ticket says that they cannot be"
        " changed this week: the broker has to live with them",
    )


def _long_enough(plan: Plan, properties: Mapping[str, str]) -> Step:
    says = "its session lasts longer than a stall, and not longer than the ticket allows"
    text = properties.get(SESSION_KEY, str(SESSION_MS))
    if not text.isdecimal():
        return Step(says, False, f"{SESSION_KEY}={text} is not a number of ms")
    session_ms = int(text)
    if session_ms > LONGEST_MS:
        why = f"with {session_ms:,} ms a broker that dies is missed later than the ticket allows"
        return Step(says, False, why)
    if session_ms < plan.enough_ms:
        why = (
            f"with {session_ms:,} ms it is silent for a third of that at most, and then for"
            f" {plan.stall_ms:,} ms more: its session can end"
        )
        return Step(says, False, why)
    return Step(says, True, f"{session_ms:,} ms")


def _peace(plan: Plan, now: Facts) -> Step:
    says = f"broker {plan.victim} lives through its stalls"
    first, last = now.lives
    if not last:
        return Step(says, False, f"its session ended, and /brokers/ids/{plan.victim} is gone")
    return Step(
        says,
        first == last and now.stalls_watched > 0,
        f"{now.stalls_watched} stalls, and its znode is the same"
        if first == last
        else f"within {now.stalls_watched} stalls its session ended, and it registered again",
    )
