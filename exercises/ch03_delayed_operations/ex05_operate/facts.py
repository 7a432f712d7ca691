"""The facts about exercise 03-5's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_facts import all_run, isr_whole, left_alone, links_as, listed, none_lost, settings_kept
from ...runner.verdict import Step
from .material import FAR_MS, TOPIC, Plan

ACK_LIMIT_MS = 3_000
"""The ms that a produce may take in a healthy cluster. The far broker alone takes about 160 ms."""
TIMES_ALONE = 20
"""On a busy machine, a produce with acks=all may take this many times the time of acks=1."""


class Facts(NamedTuple):
    """The facts about the cluster at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    links: tuple[str, ...]
    """The links that have a fault, such as `0-1 slow by 40 ms`."""
    topic: int
    """The czxid of the topic's znode: the transaction that created it. 0 if there is no such
    znode.
    """
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    settings: str
    """The settings in ZooKeeper of the topic and of all brokers, as one text."""
    records: tuple[str, ...] = ()
    """The values of all records in the log, in order."""
    acked_ms: int | None = None
    """The ms that a produce with acks=all took; None if it was not acknowledged."""
    error: str = ""
    """Why the produce with acks=all was not acknowledged; empty if it was."""
    leader_alone_ms: int = 0
    """The ms that a produce with acks=1 took just before the produce with acks=all. The trouble
    does not slow it down, but a busy machine does.
    """


def far_link(plan: Plan) -> str:
    """Return the link to the other building as text. This link is slow, and must stay slow."""
    ends = sorted((plan.leader, plan.far))
    return f"{ends[0]}-{ends[1]} slow by {FAR_MS} ms"


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    yield all_run("three", now.states)
    yield none_lost(TOPIC, before.records, now.records)
    says = f"the topic {TOPIC} is the same as before, on three brokers"
    if not now.topic:
        yield Step(says, False, f"there is no topic {TOPIC}")
    elif now.topic != before.topic:
        yield Step(
            says, False, "it was deleted and created again; consumers with its old offsets are lost"
        )
    else:
        same = sorted(now.replicas) == sorted(before.replicas)
        seen = f"its replicas are on the brokers {listed(now.replicas)}"
        yield Step(says, same, seen if same else f"{seen}, and were on {listed(before.replicas)}")

    yield settings_kept(before.settings, now.settings)
    yield left_alone({*range(3)} - {plan.victim}, before.pids, now.pids)
    yield links_as(far_link(plan), now.links)
    yield isr_whole(before.replicas, now.isr)
    says = "a produce with acks=all is acknowledged in good time"
    limit_ms = ack_limit_ms(now.leader_alone_ms)
    limit = f"{now.leader_alone_ms:,} ms with acks=1, so {limit_ms:,} ms are in good time"
    if now.acked_ms is None:
        yield Step(says, False, f"it was not: {now.error}; {limit}")
    else:
        yield Step(says, now.acked_ms <= limit_ms, f"after {now.acked_ms:,} ms; {limit}")


def ack_limit_ms(leader_alone_ms: int) -> int:
    """Return the ms that acks=all may take, if a produce with acks=1 took the given time."""
    return max(ACK_LIMIT_MS, TIMES_ALONE * leader_alone_ms)
