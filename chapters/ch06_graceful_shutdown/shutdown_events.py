"""One broker's end and its next start, from the brokers' recordings.

The recordings show which leaderships moved, how long partitions had no leader, and what was read
again.
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
    """How the leaderships of one broker moved to other brokers."""

    without_leader_us: dict[TopicPartition, tuple[int, int]]
    """Partition that has a new leader → (the old leader stopped leading, the new one began).

    Both times are in µs of the monotonic clock. The second time may be the earlier one.
    """

    @property
    def ms_without_leader(self) -> dict[TopicPartition, float]:
        """Return partition → ms without leader.

        0: the new leader began before the old one stopped leading.
        """
        return {
            tp: max(0, until - since) / US_A_MS
            for tp, (since, until) in self.without_leader_us.items()
        }

    def was_without_leader(self, tp: TopicPartition, at_us: float) -> bool:
        """Return whether the partition had no leader at that time, in µs of the monotonic clock."""
        since, until = self.without_leader_us.get(tp, (0, 0))
        return since <= at_us < until

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ms_without_leader.values()) if self.without_leader_us else 0.0

    @property
    def longest_ms(self) -> float:
        return max(self.ms_without_leader.values(), default=0.0)


class End(NamedTuple):
    """How a broker's life ended."""

    attempts: int
    """How often the broker sent ControlledShutdown. 0: never, as after a kill."""
    remaining: int
    """The number of partitions that the broker still led after its last ControlledShutdown."""
    clean: bool
    """Whether the broker's logs were flushed and .kafka_cleanshutdown was written."""


class Start(NamedTuple):
    """How the broker started again."""

    startup_ms: int
    logs: int
    clean_logs: int
    """The number of logs of which no segment had to be read."""
    recovered_segments: int
    recovered_records: int
    """The number of records behind the recovery points. They were read and checked."""


def moves(
    envelopes: Iterable[Envelope], led: Collection[TopicPartition], broker: int, gone_us: int
) -> Moves:
    """Return how the partitions that `broker` led moved to other brokers.

    `envelopes` are the events of all brokers, in any order. `gone_us` is the time in µs of the
    monotonic clock at which the broker got its signal. A killed broker stops leading at this time.
    A stopped broker stops leading when it becomes a follower.
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
    """Return how a broker ended, from the recording of its run (one start to the next end)."""
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
    """Return how a broker started, from the recording of the run that began with this start."""
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
