"""The rules of the ISR and of the high watermark: decisions only (Kafka: parts of Partition.scala;
book 001).

    out_of_sync_replicas     A replica leaves the ISR when it has not caught up for longer than
                             replica.lag.time.max.ms (exactly 10 s is not longer than 10 s).
    may_join_isr             A replica joins the ISR when it has all committed records, and all
                             records from before the first offset of this leader's epoch.
    leader_high_watermark    A record is committed when every member of the ISR has it, and every
                             follower that has caught up recently: it may join soon.
    follower_high_watermark  The leader's high watermark, but at most the end of the own log.

Nothing here changes any state; `Partition` acts on the results. Each is O(replicas).
"""

from collections.abc import Iterable

from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.replica import Replica


def out_of_sync_replicas(
    isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
) -> tuple[int, ...]:
    """Return the members of `isr` among `followers` that last caught up more than `max_lag_ms` ago.

    Example with 10,000 ms and a check every 5,000 ms: a follower that stops at 0 is still in at
    10,000 and out at 15,000. One rule covers both kinds of trouble. A stuck follower fetches no
    more. A slow one fetches, but never from the end.
    """
    members = set(isr)
    return tuple(
        f.broker_id
        for f in followers
        if f.broker_id in members and now_ms - f.last_caught_up_time_ms > max_lag_ms
    )


def may_join_isr(log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int) -> bool:
    """Return whether a follower with this LEO may join the ISR.

    It must have all committed records, or the high watermark would fall. And it must have reached
    this leader's first offset. Before that, its tail may be an older leader's and due for
    truncation, and the high watermark here may be lower than what was committed then (KAFKA-6361).
    """
    return log_end_offset >= high_watermark and log_end_offset >= leader_epoch_start_offset


class IsrRule:
    """The rule by which followers leave the ISR and join it. It keeps no state."""

    def leaving(
        self, isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
    ) -> tuple[int, ...]:
        """Return the members that leave: `out_of_sync_replicas`."""
        return out_of_sync_replicas(isr, followers, now_ms, max_lag_ms)

    def may_join(
        self, log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int
    ) -> bool:
        """Return whether a follower joins: `may_join_isr`."""
        return may_join_isr(log_end_offset, high_watermark, leader_epoch_start_offset)


def leader_high_watermark(
    log_end_offset: LogOffsetMetadata,
    isr: tuple[int, ...],
    followers: Iterable[Replica],
    now_ms: int,
    max_lag_ms: int,
) -> LogOffsetMetadata:
    """Return the candidate for the leader's high watermark: the least LEO of the leader, the ISR
    and the followers that have caught up recently.

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
