"""The high watermark of one replica: how it moves, and what moved it last (Kafka: Partition.scala,
maybeIncrementLeaderHW; the book of log 001, section on the high watermark).

    leader_high_watermark    A record is committed when every member of the ISR has it. So must
                             every follower that caught up recently, because it may soon join.
    follower_high_watermark  The leader's high watermark, but at most the end of the own log.

The value itself belongs to the log (`Log.high_watermark_metadata`, as in Kafka since 2.4), because
retention, truncation and the last stable offset need it there. Every move for another reason than
truncation passes `HighWatermark._set`.
"""

from collections.abc import Collection, Iterable

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.replica import Replica
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.replication import FollowerFetched, HighWatermarkAdvanced
from kafka_edu.trace.tracer import Tracer


def leader_high_watermark(
    log_end_offset: LogOffsetMetadata,
    isr: Collection[int],
    followers: Iterable[Replica],
    now_ms: int,
    max_lag_ms: int,
) -> LogOffsetMetadata:
    """Return the candidate for the leader's high watermark: the least LEO of the leader, the ISR
    and the followers that have caught up recently. O(replicas).

    The last ones count although they are not members (yet). Otherwise each append would leave a
    follower behind that has just returned, and it could never join. The caller takes max(HW,
    candidate), because the mark never falls on a leader. A member with an unknown LEO (-1) holds
    the mark where it is. With leader LEO 15 and members at 8 and 15: 8.
    """
    least = log_end_offset
    for follower in followers:
        if follower.log_end_offset.message_offset < least.message_offset and (
            follower.broker_id in isr or now_ms - follower.last_caught_up_time_ms <= max_lag_ms
        ):
            least = follower.log_end_offset
    return least


def follower_high_watermark(leader_high_watermark: int, log_end_offset: int) -> int:
    """Return min(leader's HW, own LEO): the committed part of the own log."""
    return min(leader_high_watermark, log_end_offset)


class HighWatermark:
    """Moves the HW of a partition's log, and knows the cause of the last move. Owned by its
    Partition.

    At level `state` a move is no event when it happens. It becomes one when it completes a produce
    that waited long, or the first one of an epoch (`emit_last_move`).
    """

    __slots__ = (
        "_before",
        "_log",
        "_moved_at",
        "_moved_because",
        "_moved_by",
        "_topic_partition",
        "_trace",
        "event",
    )

    def __init__(self, topic_partition: TopicPartition, trace: Tracer | None) -> None:
        self._topic_partition = topic_partition
        self._trace = trace
        self._log: Log | None = None
        self._before = 0
        """The offset before the last move."""
        self.event = 0
        """The number of the last HighWatermarkAdvanced, 0 if the last move was not emitted."""
        self._moved_by = -1
        self._moved_at = -1
        """The follower whose fetch moved it last, and its fetch offset; -1: no fetch did."""
        self._moved_because = ""
        """The other cause of the last move, in words."""

    @property
    def offset(self) -> int:
        """Return the offset; 0 without a log."""
        return self._log.high_watermark if self._log is not None else 0

    def attach(self, log: Log, checkpointed: int) -> None:
        """Begin with the checkpoint, moved into the log, because it may be older than a crash."""
        self._log = log
        log.update_high_watermark(max(log.log_start_offset, min(checkpointed, log.log_end_offset)))
        self.truncated()

    def replace_log(self, log: Log) -> None:
        """Go on with another log, which has the same HW."""
        self._log = log

    def detach(self) -> None:
        """Let go of the log, which is to be removed."""
        self._log = None

    def maybe_increment(
        self,
        log: Log,
        isr: Collection[int],
        followers: Iterable[Replica],
        now_ms: int,
        max_lag_ms: int,
        leader_epoch: int,
    ) -> bool:
        """As the leader, set it to max(HW, candidate). Return whether it moved; the caller then
        says why (`moved_by`, `moved_because`). The same offset on a newer segment counts as a move,
        because DelayedFetch needs the right place.

        O(1) if it is at the log's end and its place is known, as for an idle partition in each
        fetch of a session; else O(replicas).
        """
        current = log.high_watermark_metadata
        if (
            current.message_offset == log.log_end_offset
            and current.segment_base_offset == log.active_segment.base_offset
        ):
            return False
        candidate = leader_high_watermark(
            log.log_end_offset_metadata, isr, followers, now_ms, max_lag_ms
        )
        if current.message_offset < candidate.message_offset or (
            current.message_offset == candidate.message_offset
            and current.on_older_segment(candidate)
        ):
            self._set(log, candidate, leader_epoch, is_leader=True)
            return True
        return False

    def follow(self, log: Log, leader_high_watermark: int, leader_epoch: int) -> int:
        """As a follower, take the leader's, as far as our log reaches. Return the result."""
        offset = max(
            follower_high_watermark(leader_high_watermark, log.log_end_offset), log.log_start_offset
        )
        if offset != log.high_watermark:
            self._set(log, LogOffsetMetadata(offset), leader_epoch, is_leader=False)
        return offset

    def truncated(self) -> None:
        """Note that the log was truncated, and the HW perhaps lowered: no move is left to emit."""
        self._before = self.offset
        self.event = 0

    def moved_by(self, follower_id: int, fetch_offset: int) -> None:
        """Note that this follower's fetch was the cause of the last move."""
        self._moved_by, self._moved_at = follower_id, fetch_offset

    def moved_because(self, reason: str) -> None:
        """Note the cause of the last move, or of the next one that no fetch causes."""
        self._moved_by, self._moved_because = -1, reason

    def why(self) -> str:
        """Return in words what moved it last: a follower's fetch, or something else."""
        if self._moved_by >= 0:
            return f"HW moved: broker {self._moved_by} fetched"
        return f"HW moved: {self._moved_because}" if self._moved_because else "HW moved"

    def emit_last_move(self, level: Level, leader_epoch: int, role_event: int) -> int:
        """As the leader, emit the last move and the fetch that caused it, unless both are emitted
        already. Return the number of the move, or 0.

        `role_event` is the number of the BecameLeader, which is the cause of both.
        """
        trace, log = self._trace, self._log
        if (
            trace is None
            or log is None
            or self._is_emitted(trace, level)
            or log.high_watermark <= self._before
        ):
            return self.event
        with trace.because(role_event):
            fetched = 0
            if self._moved_by >= 0:
                fetched = self.emit_fetch(
                    trace,
                    self._moved_by,
                    self._moved_at,
                    log.log_end_offset,
                    high_watermark=self._before,
                    leader_epoch=leader_epoch,
                    level=level,
                )
            with trace.because(fetched or role_event):
                self._emit(trace, log, leader_epoch, True, level)
        return self.event

    def emit_fetch(
        self,
        trace: Tracer,
        follower_id: int,
        fetch_offset: int,
        log_end_offset: int,
        *,
        high_watermark: int,
        leader_epoch: int,
        level: Level,
    ) -> int:
        """Emit a follower's fetch, with the HW before it; return the event's number."""
        tp = self._topic_partition
        return trace(
            FollowerFetched(
                topic=tp.topic,
                partition=tp.partition,
                follower=follower_id,
                fetch_offset=fetch_offset,
                leader_log_end_offset=log_end_offset,
                high_watermark=high_watermark,
                leader_epoch=leader_epoch,
            ),
            level,
        )

    def _is_emitted(self, trace: Tracer, level: Level) -> bool:
        """Return whether the last move is a fact for sinks of that level. A move emitted at HOPS is
        none for sinks of STATE; they get it once it completes a produce at that level.
        """
        event = self.event
        return event != 0 and (level is not Level.STATE or trace.level_of(event) is Level.STATE)

    def _set(self, log: Log, new: LogOffsetMetadata, leader_epoch: int, is_leader: bool) -> None:
        self._before = before = log.high_watermark
        log.update_high_watermark_metadata(new)
        self.event = 0
        trace = self._trace
        if trace is not None and (trace.hops or trace.cause) and new.message_offset > before:
            self._emit(trace, log, leader_epoch, is_leader, trace.level_of_cause)

    def _emit(
        self, trace: Tracer, log: Log, leader_epoch: int, is_leader: bool, level: Level
    ) -> None:
        tp = self._topic_partition
        self.event = trace(
            HighWatermarkAdvanced(
                topic=tp.topic,
                partition=tp.partition,
                leader_epoch=leader_epoch,
                before=self._before,
                after=log.high_watermark,
                log_end_offset=log.log_end_offset,
                is_leader=is_leader,
            ),
            level,
        )
