"""The facts that count in the state of exercise 03-5's cluster, and their judge. No cluster is
needed here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...runner.verdict import Step
from .material import FAR_MS, TOPIC, Plan

ACK_LIMIT_MS = 3_000
"""So long may a produce take when all is well. The far broker alone takes some 160 ms."""
TIMES_ALONE = 20
"""On a busy machine: so many times the time of a produce that waits for the leader alone."""


class Facts(NamedTuple):
    """The state at one moment."""

    states: tuple[str, ...]
    """Of each broker, as the supervisor has it: running, paused, stopped."""
    pids: tuple[int, ...]
    links: tuple[str, ...]
    """Links with a fault: `0-1 slow by 40 ms`."""
    topic: int
    """The czxid of the topic's znode: the transaction that created it. 0 if there is none."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    settings: str
    """The configuration of the topic and of all brokers."""
    records: tuple[str, ...] = ()
    """The values in the log, from its beginning."""
    acked_ms: int | None = None
    """How long a produce with acks=all took now; None if it was not acknowledged."""
    error: str = ""
    """Why it was not."""
    leader_alone_ms: int = 0
    """How long a produce with acks=1 took just before that. The trouble does not touch it, and a
    busy machine does.
    """


def far_link(plan: Plan) -> str:
    """Return the link that is slow, and is to stay so."""
    ends = sorted((plan.leader, plan.far))
    return f"{ends[0]}-{ends[1]} slow by {FAR_MS} ms"


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Yield what holds now. `before` is the state before the trouble began."""
    down = [
        f"broker {number} is {state}"
        for number, state in enumerate(now.states)
        if state != "running"
    ]
    yield Step("all three brokers run", not down, "; ".join(down))

    says = "no record was lost"
    kept = now.records[: len(before.records)]
    missing = len(before.records) - sum(a == b for a, b in zip(before.records, kept, strict=False))
    yield Step(
        says,
        not missing,
        f"{missing} of {len(before.records)} orders are gone from {TOPIC}"
        if missing
        else f"{len(before.records)} orders of before, in their order",
    )

    says = f"the topic {TOPIC} is the one of before, on three brokers"
    if not now.topic:
        yield Step(says, False, f"there is no topic {TOPIC}")
    elif now.topic != before.topic:
        yield Step(says, False, "it was deleted and created again; whoever had its offsets is lost")
    else:
        same = sorted(now.replicas) == sorted(before.replicas)
        seen = f"its replicas are on the brokers {_listed(now.replicas)}"
        yield Step(says, same, seen if same else f"{seen}, and were on {_listed(before.replicas)}")

    settled = now.settings == before.settings
    yield Step(
        "no setting was changed",
        settled,
        ""
        if settled
        else f"before: {before.settings or 'none'}; now: {now.settings or 'none'}. A setting that"
        " hides the trouble does not end it",
    )

    restarted = [
        number
        for number in range(3)
        if number != plan.victim and now.pids[number] != before.pids[number]
    ]
    yield Step(
        "the healthy brokers were left alone",
        not restarted,
        f"broker {_listed(restarted)} has another process than before: it was restarted, and it"
        " was not the one in trouble"
        if restarted
        else "",
    )

    says = "the links are as they should be"
    expected = far_link(plan)
    faults = [link for link in now.links if link != expected]
    if faults:
        yield Step(says, False, f"the link {'; the link '.join(faults)}")
    elif expected not in now.links:
        yield Step(
            says,
            False,
            f"the link {expected} is gone. It is that of the other building: an operator who"
            " heals what is not ill has changed something that others rely on",
        )
    else:
        yield Step(says, True, f"only {expected} is left, as the ticket says")

    out = sorted(set(before.replicas) - set(now.isr))
    yield Step(
        "the ISR is whole",
        not out,
        f"broker {_listed(out)} is not in it" if out else f"brokers {_listed(now.isr)}",
    )

    says = "a produce with acks=all is acknowledged in good time"
    limit_ms = ack_limit_ms(now.leader_alone_ms)
    limit = f"{now.leader_alone_ms:,} ms with acks=1, so {limit_ms:,} ms are in good time"
    if now.acked_ms is None:
        yield Step(says, False, f"it was not: {now.error}; {limit}")
    else:
        yield Step(says, now.acked_ms <= limit_ms, f"after {now.acked_ms:,} ms; {limit}")


def ack_limit_ms(leader_alone_ms: int) -> int:
    """Return how long a produce with acks=all may take, if one with acks=1 takes that long."""
    return max(ACK_LIMIT_MS, TIMES_ALONE * leader_alone_ms)


def _listed(numbers: "tuple[int, ...] | list[int]") -> str:
    return ", ".join(map(str, sorted(numbers)))
