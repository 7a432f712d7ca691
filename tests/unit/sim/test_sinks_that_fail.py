"""Sinks of events that fail, in a simulated cluster: the brokers do the same as without sinks.

Each broker has one recording for each type of fact. A recording's disk is full at the first fact of
its type. So a sink fails at every place that emits a fact: when an ISR change is proposed, when a
connection is accepted, and so on.
"""

import io
from itertools import pairwise
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.sim_client import Acked, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import EVENT_TYPES, Event, Kind
from kafka_edu.trace.events.network import ConnectionOpened
from kafka_edu.trace.events.replication import IsrChangeProposed, IsrExpanded, IsrShrunk
from kafka_edu.trace.events.trace import SinkFailed
from kafka_edu.trace.file_sink import FileSink

TP: Final = TopicPartition("t", 0)
FACTS: Final = sorted(
    name
    for name, kind in EVENT_TYPES.items()
    if kind.kind is Kind.FACT and name != SinkFailed.__name__
)


class _FullAt(io.BytesIO):
    """A file whose disk is full when the first fact of one type is written."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = f'"{name}"'.encode()

    def write(self, data: bytes) -> int:
        if self.tell() and self._name in data:  # the header, which comes first, has all names
            raise OSError(28, "No space left on device")
        return super().write(data)


def record(cluster: SimCluster, broker_id: int) -> None:
    """Begin the broker's recordings, each of which will fail."""
    tracer = cluster.brokers[broker_id].tracer
    assert tracer is not None
    for name in FACTS:
        FileSink(tracer, _FullAt(name)).attach(name)


def run(recorded: bool) -> tuple[list[Event], list[Acked | None], list[tuple[str, str]]]:
    """Let the ISR of a partition shrink and grow, and its leader die and come back, while a client
    writes.

    Return the events, the answers to the client, and for each failed sink its name and the type of
    the fact before its failure.
    """
    cluster = SimCluster(7)
    for broker_id in cluster.brokers:
        cluster.start(broker_id)
        if recorded:
            record(cluster, broker_id)
    cluster.advance(1000)
    client = SimClient(cluster)

    def leader() -> int:
        return cluster.run_as(client.process, client.leader_of(TP))

    created = cluster.run_as(client.process, client.create_topic(TP.topic, 1, 3))
    assert created is Errors.NONE
    cluster.advance(1000)
    first = leader()
    follower = next(broker for broker in cluster.brokers if broker != first)
    answers = [client.produce(TP, "all three", -1)]
    cluster.cut(first, follower)
    answers.append(client.produce(TP, "two", -1, 120_000))
    cluster.advance(60_000)
    cluster.mend(first, follower)
    answers.append(client.produce(TP, "three again", -1, 120_000))
    cluster.advance(60_000)
    cluster.kill(first)
    cluster.advance(60_000)
    answers.append(client.produce(TP, "the new leader", -1))
    cluster.start(first)
    cluster.advance(60_000)
    events = [(each.source, each.event) for each in cluster.sink.events]
    cluster.close()
    failed = [
        (after.sink, type(before).__name__)
        for (_, before), (_, after) in pairwise(events)
        if isinstance(after, SinkFailed)
    ]
    told = [event for _, event in events if not isinstance(event, SinkFailed)]
    return told, [answer.acked for answer in answers], failed


def test_brokers_do_the_same_with_sinks_that_fail_at_each_kind_of_fact() -> None:
    events, acked, _ = run(recorded=False)
    assert [answer.error for answer in acked if answer is not None] == [Errors.NONE] * 4
    with_sinks, with_sinks_acked, failed = run(recorded=True)
    assert with_sinks_acked == acked
    assert with_sinks == events
    assert all(sink == fact for sink, fact in failed)
    assert {
        kind.__name__ for kind in (ConnectionOpened, IsrChangeProposed, IsrShrunk, IsrExpanded)
    } <= {sink for sink, _ in failed}
