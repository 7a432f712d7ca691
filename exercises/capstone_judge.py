"""Check the events of a capstone run for broken invariants. No cluster is needed for this."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.learner import (
    LearnerFailed,
    LearnerSampled,
    LearnerServed,
    LearnerSnapshot,
)
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    HighWatermarkAdvanced,
)
from kafka_edu.trace.events.server import ServerStarting
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused

from .runner.verdict import Step

_TOTALS: Final = LearnerSampled | LearnerSnapshot | LearnerServed
US_A_MS: Final = 1_000


def judge(envelopes: Sequence[Envelope]) -> list[Step]:
    """Return one step for each invariant. The step passes if the invariant held. O(events).

    The events must be in order of time.
    """
    return [
        _one_leader(envelopes),
        _one_controller(envelopes),
        _marks_never_go_back(envelopes),
        _no_old_orders(envelopes),
    ]


def _one_leader(envelopes: Iterable[Envelope]) -> Step:
    """Check that each leader epoch of a partition had only one leader."""
    leaders: dict[tuple[str, int, int], set[int | None]] = defaultdict(set)
    for one in envelopes:
        if isinstance(one.event, BecameLeader):
            key = one.event.topic, one.event.partition, one.event.leader_epoch
            leaders[key].add(one.broker)
    two = [key for key, brokers in leaders.items() if len(brokers) > 1]
    seen = f"{len(leaders)} epochs"
    if two:
        topic, partition, epoch = two[0]
        seen = f"{topic}-{partition} had two in epoch {epoch}"
    return Step("one leader in each epoch of a partition", not two, seen)


def _one_controller(envelopes: Iterable[Envelope]) -> Step:
    """Check that each controller epoch had only one controller."""
    epochs: dict[int, set[int | None]] = defaultdict(set)
    for one in envelopes:
        if isinstance(one.event, ControllerElected):
            epochs[one.event.epoch].add(one.broker)
    two = [epoch for epoch, brokers in epochs.items() if len(brokers) > 1]
    seen = f"epoch {two[0]} had two" if two else f"{len(epochs)} epochs"
    return Step("one controller in each epoch", not two, seen)


def _marks_never_go_back(envelopes: Iterable[Envelope]) -> Step:
    """Check that the leader's high watermark never goes back within one leader epoch."""
    last: dict[tuple[str, int, int], int] = {}
    says = "the high watermark never goes back within a leader's epoch"
    for one in envelopes:
        event = one.event
        if isinstance(event, HighWatermarkAdvanced) and event.is_leader:
            key = event.topic, event.partition, event.leader_epoch
            if event.after < last.get(key, 0) or event.after < event.before:
                return Step(
                    says,
                    False,
                    f"{event.topic}-{event.partition}, epoch {event.leader_epoch}: from"
                    f" {last.get(key, event.before)} to {event.after}",
                )
            last[key] = event.after
    return Step(says, True, f"{len(last)} epochs of partitions")


def _no_old_orders(envelopes: Iterable[Envelope]) -> Step:
    """Check that no broker obeys an old controller after it has obeyed a newer one."""
    highest: dict[int | None, int] = defaultdict(int)
    obeyed = 0
    says = "no order of an old controller was obeyed"
    for one in envelopes:
        if isinstance(one.event, ServerStarting):
            highest[one.broker] = 0
        elif isinstance(one.event, BecameLeader | BecameFollower):
            epoch = one.event.controller_epoch
            if epoch < highest[one.broker]:
                return Step(
                    says,
                    False,
                    f"broker {one.broker} obeyed epoch {epoch} after {highest[one.broker]}",
                )
            highest[one.broker], obeyed = epoch, obeyed + 1
    return Step(says, True, f"{obeyed} orders")


def learner_totals(envelopes: Iterable[Envelope], exercise: str) -> tuple[int, int]:
    """Return how many calls a part had in all brokers together, and how many of them failed.

    A broker's process counts from 0, and its counts only grow. If a count is smaller than the one
    before it, the broker has been restarted. So the counts of all its processes are added.
    """
    calls = failures = 0
    present: dict[int | None, tuple[int, int]] = {}
    for one in envelopes:
        event = one.event
        if isinstance(event, LearnerFailed) and event.exercise == exercise:
            known = present.get(one.broker, (0, 0))
            present[one.broker] = known[0], max(known[1], event.failures)
        elif isinstance(event, _TOTALS) and event.exercise == exercise:
            known, total = present.get(one.broker, (0, 0)), event.total
            if total.calls < known[0]:  # another life begins
                calls, failures = calls + known[0], failures + known[1]
            present[one.broker] = total.calls, total.failures
    return (
        calls + sum(one[0] for one in present.values()),
        failures + sum(one[1] for one in present.values()),
    )


class Vacancy(NamedTuple):
    """The time in which a partition had no leader: from the kill of its leader to the election of
    the next.
    """

    partition: str
    ms: float


def vacancies(envelopes: Sequence[Envelope]) -> list[Vacancy]:
    """Return how long each partition was without a leader after its leader was killed."""
    killed: dict[int, int] = {}
    found = []
    for one in envelopes:
        match one.event:
            case ProcessEnded(child=child, signal="SIGKILL") if child.broker is not None:
                killed[child.broker] = one.mono_us
            case LeaderElected(old_leader=old, topic=topic, partition=partition) if old in killed:
                ms = (one.mono_us - killed[old]) / US_A_MS
                found.append(Vacancy(f"{topic}-{partition}", ms))
            case ServerStarting():
                if one.broker is not None:
                    killed.pop(one.broker, None)
    return found


def acts(envelopes: Iterable[Envelope]) -> dict[str, int]:
    """Return how often brokers were killed, paused and stopped."""
    counts = {"killed": 0, "paused": 0, "stopped": 0}
    for one in envelopes:
        match one.event:
            case ProcessEnded(child=child, signal=signal) if child.broker is not None:
                counts["killed" if signal == "SIGKILL" else "stopped"] += 1
            case ProcessPaused(child=child) if child.broker is not None:
                counts["paused"] += 1
    return counts
