"""The high watermark of one replica: the rules by which it moves, and the cause of its last move
(Kafka: Partition.scala, maybeIncrementLeaderHW; the book of log 001, section on the high
watermark).

    leader_high_watermark    A record is committed when every member of the ISR has it, and also
                             every follower that caught up recently, because it may soon join.
    follower_high_watermark  The leader's high watermark, but at most the follower's own log end.

The value itself belongs to the log (`Log.high_watermark_metadata`, as in Kafka since 2.4), because
retention, truncation and the last stable offset need it there. The log lowers it when it is
truncated. All other moves are made in this module, and no other module sets it.
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
    """Return the candidate for the leader's high watermark: the least of all LEOs that count.

    The LEOs that count are those of the leader, of the ISR members, and of the followers that have
    caught up recently. These followers count even if they are not in the ISR (yet). Otherwise each
    append would move the high watermark past a follower that has just returned, and the follower
    could never join. The caller takes max(HW, candidate), because the high watermark never falls on
    a leader. An ISR member with an unknown LEO (-1) keeps the high watermark where it is. Example:
    leader LEO 15, members at 8 and 15 → 8. O(replicas).
    """
    least = log_end_offset
    for follower in followers:
        if follower.log_end_offset.message_offset < least.message_offset and (
            follower.broker_id in isr or now_ms - follower.last_caught_up_time_ms <= max_lag_ms
        ):
            least = follower.log_end_offset
    return least


def follower_high_watermark(leader_high_watermark: int, log_end_offset: int) -> int:
    """Return min(leader's HW, own LEO): the end of the committed part of the follower's log."""
    return min(leader_high_watermark, log_end_offset)


def placed(offset: int, places: Iterable[LogOffsetMetadata]) -> LogOffsetMetadata:
    """Return the first of `places` that has this offset; if none has it, the offset without a
    place.
    """
    known = (place for place in places if place.message_offset == offset)
    return next(known, LogOffsetMetadata(offset))


def set_from_checkpoint(log: Log, checkpointed: int) -> None:
    """Set the HW of a log that a replica has just got.

    The checkpoint may have been written before a crash. If its value lies outside the log, it is
    raised to the log start or lowered to the log end.
    """
    log.update_high_watermark(max(log.log_start_offset, min(checkpointed, log.log_end_offset)))


def raise_high_watermark_of_copy(log: Log, copy: Log) -> None:
    """Raise the HW of a replica's copy to the replica's HW, as far as the copy reaches."""
    high_watermark = min(log.high_watermark, copy.log_end_offset)
    if high_watermark > copy.high_watermark:
        copy.update_high_watermark(high_watermark)


def located_high_watermark(log: Log) -> LogOffsetMetadata:
    """Return the HW with its place in the segments. Look the place up if it is not known, as on a
    follower, which receives only the offset.
    """
    high_watermark = log.high_watermark_metadata
    if high_watermark.message_offset_only:
        return log.locate_high_watermark()
    return high_watermark


class HighWatermarkRule:
    """The rules by which the HW of one partition moves. They change no state."""

    __slots__ = ("topic_partition",)

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition

    def of_leader(
        self,
        current: LogOffsetMetadata,
        log_end_offset: LogOffsetMetadata,
        isr: Collection[int],
        followers: Iterable[Replica],
        now_ms: int,
        max_lag_ms: int,
    ) -> LogOffsetMetadata:
        """Return the candidate for the leader's HW (see `leader_high_watermark`). `current` is the
        HW now. The HW does not move if the candidate is below it.
        """
        return leader_high_watermark(log_end_offset, isr, followers, now_ms, max_lag_ms)

    def of_follower(
        self, log_start_offset: int, log_end_offset: int, leader_high_watermark: int
    ) -> int:
        """Return the follower's HW: that of the leader, but inside the follower's own log."""
        return max(follower_high_watermark(leader_high_watermark, log_end_offset), log_start_offset)


class HighWatermark:
    """Moves the HW of a partition's log, and records the cause of the last move. Owned by its
    Partition.

    For subscribers of level `state`, a move is not emitted when it happens. `emit_last_move` emits
    its event later, if the move completes a produce that waited long, or the first acks=all produce
    of an epoch.
    """

    __slots__ = (
        "_before",
        "_log",
        "_moved_at",
        "_moved_because",
        "_moved_by",
        "_rule",
        "_topic_partition",
        "_trace",
        "event",
    )

    def __init__(self, topic_partition: TopicPartition, trace: Tracer | None) -> None:
        self._topic_partition = topic_partition
        self._trace = trace
        self._rule = HighWatermarkRule(topic_partition)
        self._log: Log | None = None
        self._before = 0
        """The HW before the last move."""
        self.event = 0
        """The number of the last HighWatermarkAdvanced event; 0 if the last move was not
        emitted.
        """
        self._moved_by = -1
        self._moved_at = -1
        """The fetch offset of the fetch that caused the last move.

        `_moved_by` is the follower's broker id; it is -1 if no fetch caused the move.
        """
        self._moved_because = ""
        """The cause of the last move in words, if it was not a fetch."""

    @property
    def offset(self) -> int:
        """Return the high watermark; 0 without a log."""
        return self._log.high_watermark if self._log is not None else 0

    def attach(self, log: Log, checkpointed: int) -> None:
        """Use `log` from now on, and set its HW from the checkpoint (`set_from_checkpoint`)."""
        self._log = log
        set_from_checkpoint(log, checkpointed)
        self.truncated()

    def replace_log(self, log: Log, *, locate: bool) -> None:
        """From now on use another log, which has the same HW. With `locate` look up the HW's place
        in its segments.
        """
        self._log = log
        if locate:
            self.locate()

    def locate(self) -> None:
        """Look up the place of the HW in the segments of the attached log."""
        assert self._log is not None, self._topic_partition
        self._log.locate_high_watermark()

    def detach(self) -> None:
        """Drop the reference to the log, which will be deleted."""
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
        """As the leader, set the HW to max(HW, candidate). Return whether it moved.

        If it moved, the caller records the cause (`moved_by`, `moved_because`). A move to the same
        offset on a newer segment counts as a move too, because DelayedFetch needs the right place.

        O(1) if the HW is at the log's end and its place is known, as with each fetch of an idle
        partition in a session. Otherwise O(replicas).
        """
        current = log.high_watermark_metadata
        if (
            current.message_offset == log.log_end_offset
            and current.segment_base_offset == log.active_segment.base_offset
        ):
            return False
        candidate = self._rule.of_leader(
            current, log.log_end_offset_metadata, isr, followers, now_ms, max_lag_ms
        )
        if current.message_offset < candidate.message_offset or (
            current.message_offset == candidate.message_offset
            and current.on_older_segment(candidate)
        ):
            self._set(log, candidate, leader_epoch, is_leader=True)
            return True
        return False

    def follow(self, log: Log, leader_high_watermark: int, leader_epoch: int) -> int:
        """As a follower, set the HW to the leader's HW, but at most to this log's end. Return the
        HW.
        """
        offset = self._rule.of_follower(
            log.log_start_offset, log.log_end_offset, leader_high_watermark
        )
        if offset != log.high_watermark:
            self._set(log, LogOffsetMetadata(offset), leader_epoch, is_leader=False)
        return offset

    def truncated(self) -> None:
        """Record that the log was truncated and the HW may have been lowered.

        If the last move of the HW was not emitted yet, it never will be.
        """
        self._before = self.offset
        self.event = 0

    def moved_by(self, follower_id: int, fetch_offset: int) -> None:
        """Record that this follower's fetch caused the last move."""
        self._moved_by, self._moved_at = follower_id, fetch_offset

    def moved_because(self, reason: str) -> None:
        """Record the cause of the last move, or of the next move that is not caused by a fetch."""
        self._moved_by, self._moved_because = -1, reason

    def why(self) -> str:
        """Return the cause of the last move in words: a follower's fetch, or another cause."""
        if self._moved_by >= 0:
            return f"HW moved: broker {self._moved_by} fetched"
        return f"HW moved: {self._moved_because}" if self._moved_because else "HW moved"

    def emit_last_move(self, level: Level, leader_epoch: int, role_event: int) -> int:
        """As the leader, emit the last move and the fetch that caused it, if they are not emitted
        yet.

        Return the number of the move's event, or 0. `role_event` is the number of the BecameLeader
        event, which is the cause of both.
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
        """Emit a FollowerFetched event, with the HW before the fetch. Return the event's number."""
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
        """Return whether the last move's event has reached the subscribers of `level`.

        An event at level HOPS does not reach subscribers of STATE. They get the move when it
        completes a produce whose event has level STATE.
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
