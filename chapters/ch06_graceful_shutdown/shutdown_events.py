"""The brokers' recordings of a broker's end and of its next start: leaderships that
moved, how long nobody led, what was read again.
"""

import statistics
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.log import LogLoaded, LogRecovered
from kafka_edu.trace.events.replication import BecameFollower, BecameLeader
from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStarted, ServerStopped

US_A_MS: Final = 1000


class Moves(NamedTuple):
    """How the leaderships of one broker went to others."""

    without_leader_us: dict[TopicPartition, tuple[int, int]]
    """By partition that has a new leader: the moment when the old one ceased to lead and that when
    the new one began, monotonic. The second may come first.
    """

    @property
    def ms_without_leader(self) -> dict[TopicPartition, float]:
        """By partition that has a new leader; 0 if the new one began before the old one ceased."""
        return {
            tp: max(0, until - since) / US_A_MS
            for tp, (since, until) in self.without_leader_us.items()
        }

    def was_without_leader(self, tp: TopicPartition, at_us: float) -> bool:
        """Return whether nobody led a partition at that moment, monotonic, in µs."""
        since, until = self.without_leader_us.get(tp, (0, 0))
        return since <= at_us < until

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ms_without_leader.values()) if self.without_leader_us else 0.0

    @property
    def longest_ms(self) -> float:
        return max(self.ms_without_leader.values(), default=0.0)


class End(NamedTuple):
    """How a broker ended."""

    attempts: int
    """Of the controlled shutdown; 0: there was none, as after a kill."""
    remaining: int
    """Partitions that it still led after the last of them."""
    clean: bool
    """Its logs were flushed, and .kafka_cleanshutdown written."""


class Start(NamedTuple):
    """How it started again."""

    startup_ms: int
    logs: int
    clean_logs: int
    """Logs of which no segment was read."""
    recovered_segments: int
    recovered_records: int
    """Records from the recovery points on, which were read and checked."""


def moves(
    envelopes: Iterable[Envelope], led: Collection[TopicPartition], broker: int, gone_us: int
) -> Moves:
    """How the partitions that `broker` led went to others. `gone_us`: when it was told to go, or
    was killed; monotonic, in µs.

    `envelopes` are the facts of all brokers, in any order. A broker that was killed ceases to lead
    when it is killed; one that was stopped, when it was told by the controller.
    """
    ceased: dict[TopicPartition, int] = {}
    began: dict[TopicPartition, int] = {}
    for envelope in sorted(envelopes, key=lambda each: each.mono_us):
        if envelope.mono_us < gone_us:
            continue
        match envelope.event:
            case BecameFollower(topic=topic, partition=number) if envelope.broker == broker:
                ceased.setdefault(TopicPartition(topic, number), envelope.mono_us)
            case BecameLeader(topic=topic, partition=number) if envelope.broker != broker:
                began.setdefault(TopicPartition(topic, number), envelope.mono_us)
    return Moves({tp: (ceased.get(tp, gone_us), began[tp]) for tp in led if tp in began})


def end_of(recording: Sequence[Envelope]) -> End:
    """From the recording of the life that ended."""
    attempts = [
        envelope.event
        for envelope in recording
        if isinstance(envelope.event, ControlledShutdownAttempted)
    ]
    remaining = attempts[-1].partitions_remaining if attempts else 0
    return End(
        len(attempts),
        remaining,
        any(
            isinstance(envelope.event, ServerStopped) and envelope.event.clean
            for envelope in recording
        ),
    )


def start_of(recording: Sequence[Envelope]) -> Start:
    """From the recording of the life that began."""
    startup_ms = logs = clean = segments = records = 0
    for envelope in recording:
        match envelope.event:
            case ServerStarted(startup_ms=took):
                startup_ms = took
            case LogLoaded(clean=is_clean):
                logs += 1
                clean += is_clean
            case LogRecovered(segments=read, recovery_point=point, log_end_offset=end):
                segments += read
                records += max(0, end - point)
    return Start(startup_ms, logs, clean, segments, records)
