"""The facts about exercise 08-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, none_lost, settings_kept
from ...runner.verdict import Step
from .material import OUTSIDE, TOPIC, Plan


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    topic: TopicFacts
    listeners: tuple[str, ...] = ()
    """The value of `listeners` in each broker's server.properties."""
    outside: tuple[str, ...] = ()
    """The address of each broker's OUTSIDE listener before the trouble, as host:port."""
    received: tuple[str, ...] = ()
    """The address of each broker that clients receive in Metadata, as host:port; "" if they receive
    none.
    """
    acked: bool = False
    """Whether a client that uses the OUTSIDE listeners got a record acknowledged."""
    why: str = ""
    """The reason why the client's record was not acknowledged; "" if it was."""
    records: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    yield all_run("three", now.states)
    for broker, (where, received) in enumerate(zip(before.outside, now.received, strict=True)):
        yield Step(
            f"clients receive the address of broker {broker}",
            reaches(received, where),
            received
            if reaches(received, where)
            else f"they receive {received or 'nothing'}, and it is {where}",
        )
    yield Step("a client that comes by OUTSIDE gets an order acknowledged", now.acked, now.why)
    same = before.listeners == now.listeners
    yield Step(
        "`listeners` is as before, in each server.properties",
        same,
        "" if same else f"before: {before.listeners}; now: {now.listeners}",
    )
    yield left_alone({*range(3)} - {plan.broker}, before.pids, now.pids)
    yield none_lost(TOPIC, before.records, now.records)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield isr_whole(before.topic.replicas, now.topic.isr)


def reaches(received: str, where: str) -> bool:
    """Return whether `received` leads to `where`: the same port, and the same host or localhost."""
    host, _, port = received.rpartition(":")
    right_host, _, right_port = where.rpartition(":")
    return port == right_port and host in (right_host, "localhost")


def outside_of(listeners: str) -> str:
    """Return host:port of the OUTSIDE listener in this setting, or "" if the setting has no such
    listener.
    """
    for one in listeners.split(","):
        name, found, where = one.strip().partition("://")
        if found and name == OUTSIDE:
            return where
    return ""
