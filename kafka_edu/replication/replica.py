"""A follower as its leader sees it (Kafka: Replica.scala; book 001: the *remote replica*)."""

from typing import Final

from kafka_edu.log.log import Log
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata

#: A time in ms before all other times. It stands for "never" in a replica that has never caught up.
NEVER_MS: Final = -(1 << 62)
UNKNOWN_OFFSET: Final = LogOffsetMetadata(-1)


class FetchClock:
    """The time of a fetch session's last fetch, in the leader's monotonic ms."""

    __slots__ = ("last_fetch_ms",)

    def __init__(self) -> None:
        self.last_fetch_ms = NEVER_MS


class Replica:
    """The leader's knowledge of one follower's progress, which it learns from the follower's
    fetches.

    A fetch *from* offset n means that the follower has stored all records below n. The leader keeps
    one Replica for every assigned follower. Times are the leader's monotonic ms. Only its owner,
    the Partition, changes it.

    *Caught up* does not mean "has the leader's last record now", because under load no follower
    ever has that record. If a fetch starts where the leader's log ended *at the previous fetch*,
    the follower had caught up at that previous fetch. So a follower that is always one fetch behind
    counts as in sync.
    """

    __slots__ = (
        "_caught_up_ms",
        "_clock",
        "_fetched_ms",
        "_reset_ms",
        "broker_id",
        "last_fetch_leader_log_end_offset",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_end_offset = UNKNOWN_OFFSET
        """The follower's LEO, with its place in the *leader's* segments. The offset is -1 until the
        follower's first fetch in this leader epoch.
        """
        self.log_start_offset = -1
        self.last_fetch_leader_log_end_offset = 0
        """The leader's LEO at the time of this follower's last fetch."""
        self._fetched_ms = NEVER_MS
        self._caught_up_ms = NEVER_MS
        self._reset_ms = NEVER_MS
        """The monotonic ms at which the leader's epoch began. As in Kafka, `_fetched_ms` starts
        with the same value.
        """
        self._clock: FetchClock | None = None
        """The clock of the follower's fetch session, while the session skips this partition because
        nothing has changed; else None.
        """

    @property
    def last_fetch_time_ms(self) -> int:
        """The monotonic ms of the follower's last fetch, even if that fetch did not read this
        partition.
        """
        return (
            self._fetched_ms
            if self._clock is None
            else max(self._fetched_ms, self._clock.last_fetch_ms)
        )

    @property
    def has_fetched(self) -> bool:
        """Whether the follower has fetched since the leader's epoch began."""
        return self.last_fetch_time_ms > self._reset_ms

    @property
    def last_caught_up_time_ms(self) -> int:
        """The monotonic ms at which the follower last had all of the leader's records.

        Each fetch of a session that skips the partition counts too, because the follower still has
        all records then.
        """
        return (
            self._caught_up_ms
            if self._clock is None
            else max(self._caught_up_ms, self._clock.last_fetch_ms)
        )

    def go_by(self, clock: FetchClock) -> None:
        """From now on count each fetch of the session as a fetch from the leader's log end.

        This lasts until the next `update_fetch_state`, `reset` or `settle`.
        """
        self._clock = clock

    def settle(self) -> None:
        """Copy the times of the session's clock into this object, and stop using the clock."""
        if self._clock is not None:
            self._fetched_ms, self._caught_up_ms = (
                self.last_fetch_time_ms,
                self.last_caught_up_time_ms,
            )
            self._clock = None

    def update_fetch_state(
        self,
        fetch_offset: LogOffsetMetadata,
        log_start_offset: int,
        now_ms: int,
        leader_end_offset: int,
    ) -> None:
        """Record a fetch at `now_ms`. O(1).

        If the fetch starts at the leader's log end, the follower is caught up now. If it starts
        where the leader's log ended at the previous fetch, the follower was caught up at that time.
        Otherwise the fetch does not show that the follower has caught up.
        """
        self.settle()
        offset = fetch_offset.message_offset
        if offset >= leader_end_offset:
            self._caught_up_ms = max(self._caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_log_end_offset:
            self._caught_up_ms = max(self._caught_up_ms, self._fetched_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_log_end_offset = leader_end_offset
        self._fetched_ms = now_ms

    def reset(self, leader_end_offset: int, now_ms: int, *, in_sync: bool) -> None:
        """Start again, because a leader epoch begins.

        Members of the ISR get replica.lag.time.max.ms to fetch. Other followers count as never
        caught up.
        """
        self.last_fetch_leader_log_end_offset = leader_end_offset
        self._fetched_ms = self._reset_ms = now_ms
        self._caught_up_ms = now_ms if in_sync else NEVER_MS
        self._clock = None

    def forget_offsets(self) -> None:
        """Forget the follower's offsets. A new leader learns them when the follower fetches."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = -1

    def locate(self, leader_log: Log) -> None:
        """Look up again where the LEO lies, because the leader has another log with the same
        records.
        """
        offset = self.log_end_offset.message_offset
        self.log_end_offset = (
            leader_log.convert_to_offset_metadata(offset)
            if leader_log.log_start_offset <= offset <= leader_log.log_end_offset
            else LogOffsetMetadata(offset)
        )

    def lag(self, now_ms: int, max_lag_ms: int) -> str:
        """Return in words why the follower is out of sync.

        It is either stuck (it does not fetch at all) or slow (it fetches, but never reaches the
        leader's log end).
        """
        silent_ms = now_ms - self.last_fetch_time_ms
        if silent_ms > max_lag_ms:
            return f"{self.broker_id} is stuck: no fetch for {silent_ms} ms"
        return (
            f"{self.broker_id} is slow: not caught up for {now_ms - self.last_caught_up_time_ms}"
            f" ms, LEO {self.log_end_offset.message_offset}"
        )
