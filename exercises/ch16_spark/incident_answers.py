"""The rows of a recording that the learner of exercise 16-8 gets, and the right answers.

The answers are computed from the events, not from the rows. The public tests use them for made-up
incidents, and the live part uses them for a real cluster.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.spark.event_row import row_of
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.group import (
    GroupAssigned,
    MemberFailed,
    MemberJoined,
    MemberLeft,
    RebalanceCompleted,
    RebalanceStarted,
)
from kafka_edu.trace.events.network import ResponseSent
from kafka_edu.trace.events.replication import BecameLeader, IsrExpanded, IsrShrunk
from kafka_edu.trace.events.supervisor import ActionAsked

Rows = list[dict[str, object]]
EVENTS: Final = (
    "ResponseSent",
    "BecameLeader",
    "IsrShrunk",
    "IsrExpanded",
    "RebalanceStarted",
    "RebalanceCompleted",
    "GroupAssigned",
    "MemberJoined",
    "MemberUpdated",
    "MemberLeft",
    "MemberFailed",
    "ActionAsked",
)
"""The events that the learner's code gets. A recording has many others."""
COLUMNS: Final = (
    "monoUs",
    "source",
    "number",
    "cause",
    "event",
    "topic",
    "partition",
    "group",
    "api",
    "totalUs",
    "fields",
)

SHOWN_WIDTH: Final = 68


class Times(NamedTuple):
    """The number of requests of one API, and the median and p99 of their times."""

    requests: int
    p50_us: int
    p99_us: int


class Flap(NamedTuple):
    """A broker that left the ISR of a partition, and perhaps came back."""

    partition: str
    broker: int
    began_us: int
    lasted_us: int | None
    act: str


class Pause(NamedTuple):
    """The time in which a group read nothing, because it rebalanced."""

    group: str
    generation: int | None
    cause: str
    began_us: int
    lasted_us: int | None


def rows_of(envelopes: Iterable[Envelope]) -> Rows:
    """Return the rows that Spark's `spark.read.format("kafka-edu-events")` gives for these events.
    Only the events in EVENTS and the columns in COLUMNS are kept.
    """
    found = []
    for envelope in envelopes:
        if envelope.name in EVENTS:
            row = row_of(envelope, "", as_map=False)
            found.append({name: row[name] for name in COLUMNS})
    return found


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that at least `percent` % of the values do not exceed."""
    return next(
        value
        for value in sorted(values)
        if 100 * sum(one <= value for one in values) >= percent * len(values)
    )


def right_latency(envelopes: Iterable[Envelope]) -> dict[str, Times]:
    """Return the right answer of the report's method `latency`: for each API, the number of its
    requests, and the median and p99 of their times. Fetches of followers do not count.
    """
    by_api: dict[str, list[int]] = {}
    for envelope in envelopes:
        if isinstance(envelope.event, ResponseSent) and not envelope.event.follower:
            by_api.setdefault(ApiKey(envelope.event.api_key).title, []).append(
                envelope.event.total_us
            )
    return {
        api: Times(len(values), percentile(values, 50), percentile(values, 99))
        for api, values in sorted(by_api.items())
    }


def in_time(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Return events of several processes sorted by time. Events of one process keep their order."""
    return sorted(envelopes, key=lambda one: (one.mono_us, one.source, one.seq))


def right_flaps(envelopes: Iterable[Envelope]) -> list[Flap]:
    """Return the right answer of the report's method `flaps`: which broker left the ISR of which
    partition, when, for how long, and what somebody had done to the cluster before that.
    """
    act = ""
    isrs: dict[str, frozenset[int]] = {}
    out: dict[tuple[str, int], Flap] = {}
    found: list[Flap] = []
    for envelope in in_time(envelopes):
        match envelope.event:
            case ActionAsked(title=title):
                act = title
                continue
            case BecameLeader(topic=topic, partition=number, isr=isr):
                now = frozenset(isr)
            case IsrShrunk(topic=topic, partition=number, after=isr):
                now = frozenset(isr)
            case IsrExpanded(topic=topic, partition=number, after=isr):
                now = frozenset(isr)
            case _:
                continue
        name = f"{topic}-{number}"
        before = isrs.get(name, now)
        isrs[name] = now
        for broker in before - now:
            out[name, broker] = Flap(name, broker, envelope.mono_us, None, act)
        for broker in now - before:
            if (name, broker) in out:
                flap = out.pop((name, broker))
                found.append(flap._replace(lasted_us=envelope.mono_us - flap.began_us))
    found += out.values()
    return sorted(found, key=lambda one: (one.began_us, one.partition, one.broker))


def right_rebalances(envelopes: Iterable[Envelope]) -> list[Pause]:
    """Return the right answer of the report's method `rebalances`: for each rebalance, its cause,
    when it began, and how long it lasted.
    """
    names: dict[tuple[Source, int], str] = {}  # a broker that starts again counts from 1 again
    under_way: dict[str, Pause] = {}
    found: list[Pause] = []
    for envelope in in_time(envelopes):
        names[envelope.source, envelope.seq] = envelope.name
        match envelope.event:
            case RebalanceStarted(group=group) if group not in under_way:
                cause = names.get((envelope.source, envelope.cause), "")
                under_way[group] = Pause(group, None, cause, envelope.mono_us, None)
            case GroupAssigned(group=group, generation=generation):
                pass
            case RebalanceCompleted(group=group, generation=generation, members=()):
                pass
            case _:
                continue
        if isinstance(envelope.event, RebalanceStarted) or group not in under_way:
            continue
        pause = under_way.pop(group)
        found.append(
            pause._replace(generation=generation, lasted_us=envelope.mono_us - pause.began_us)
        )
    found += under_way.values()
    return sorted(found, key=lambda one: (one.began_us, one.group))


def timeline(
    envelopes: Iterable[Envelope], kinds: Sequence[str], api: str = "", most: int = 16
) -> tuple[str, ...]:
    """Return a line of text for each event whose name begins with one of `kinds`, sorted by time:
    its time, process, number, the number of its cause, and what happened.
    """
    shown = []
    for envelope in in_time(envelopes):
        row = row_of(envelope, "", as_map=False)
        if not envelope.name.startswith(tuple(kinds)) or api not in ("", row["api"]):
            continue
        at_us = f"{envelope.mono_us:,} µs"
        cause = f" <- {envelope.cause}" if envelope.cause else ""
        number = f"{envelope.source} {envelope.seq}{cause}"
        shown.append(f"{at_us:>16}  {number:<16}  {_said(envelope)}"[:SHOWN_WIDTH])
    if len(shown) > most:
        return (*shown[:most], f"… {len(shown) - most} more")
    return tuple(shown)


def _said(envelope: Envelope) -> str:
    """Return a short text that says what happened in an event."""
    match envelope.event:
        case ResponseSent(total_us=total_us, follower=follower):
            return f"ResponseSent {total_us:,} µs{' to a follower' if follower else ''}"
        case ActionAsked(title=title):
            return title
        case BecameLeader(topic=topic, partition=number, isr=isr):
            return f"BecameLeader {topic}-{number} isr {_listed(isr)}"
        case IsrShrunk(topic=topic, partition=number, before=before, after=after):
            return f"IsrShrunk {topic}-{number} {_listed(before)} -> {_listed(after)}"
        case IsrExpanded(topic=topic, partition=number, before=before, after=after):
            return f"IsrExpanded {topic}-{number} {_listed(before)} -> {_listed(after)}"
        case RebalanceStarted(group=group, generation=generation):
            return f"RebalanceStarted {group} generation {generation}"
        case RebalanceCompleted(group=group, generation=generation, members=members):
            return f"RebalanceCompleted {group} generation {generation}, {len(members)} members"
        case GroupAssigned(group=group, generation=generation):
            return f"GroupAssigned {group} generation {generation}"
        case MemberJoined(group=group) | MemberLeft(group=group) | MemberFailed(group=group):
            return f"{envelope.name} {group}"
    return envelope.name


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
