"""Who is in sync, and what is committed: decisions only (Kafka: parts of Partition.scala; book
001).

    out_of_sync_replicas   leaves the ISR: has not caught up for longer than replica.lag.time.max.ms
    (10 s is not yet > 10 s)
    may_join_isr           joins the ISR: has all that is committed, and all that this leader began
    with
    leader_high_watermark  committed is what every member has, and every replica that will be a
    member in a moment
    follower_high_watermark what the leader says, as far as one has it

Nothing here changes anything; `Partition` acts on the answers. Each is O(replicas).
"""

from collections.abc import Iterable

from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.replica import Replica


def out_of_sync_replicas(
    isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
) -> tuple[int, ...]:
    """Members of `isr` among `followers` whose last time of having caught up lies more than
    `max_lag_ms` back.

    With 10,000 ms, looked at every 5,000: a follower that stops at 0 is still in at 10,000 and out
    at 15,000. Both kinds of trouble are seen by the one rule: a follower that is stuck fetches no
    more; one that is slow fetches but never from the end.
    """
    members = set(isr)
    return tuple(
        f.broker_id
        for f in followers
        if f.broker_id in members and now_ms - f.last_caught_up_time_ms > max_lag_ms
    )


def may_join_isr(log_end_offset: int, high_watermark: int, leader_epoch_start_offset: int) -> bool:
    """Whether a follower with this LEO may join.

    It must have all committed records, or the high watermark would fall. And it must have reached
    this leader's first offset: before, its tail may still be one of an older leader's that is to be
    truncated, and the high watermark here may not have caught up with what was committed then
    (KAFKA-6361).
    """
    return log_end_offset >= high_watermark and log_end_offset >= leader_epoch_start_offset


def leader_high_watermark(
    log_end_offset: LogOffsetMetadata,
    isr: tuple[int, ...],
    followers: Iterable[Replica],
    now_ms: int,
    max_lag_ms: int,
) -> LogOffsetMetadata:
    """The candidate for the leader's high watermark: the least LEO of the leader, the ISR and those
    who have caught up of late.

    The last are counted though they are no members (yet): a follower that has just returned would
    else be left behind by each append and could never join. The caller takes max(HW, candidate),
    for the mark never falls on a leader. An unknown LEO (-1) of a member holds it where it is. With
    leader LEO 15 and members at 8 and 15: 8.
    """
    least = log_end_offset
    for follower in followers:
        if follower.log_end_offset.message_offset < least.message_offset and (
            follower.broker_id in isr or now_ms - follower.last_caught_up_time_ms <= max_lag_ms
        ):
            least = follower.log_end_offset
    return least


def follower_high_watermark(leader_high_watermark: int, log_end_offset: int) -> int:
    """What is committed of what one has oneself: min(leader's HW, own LEO)."""
    return min(leader_high_watermark, log_end_offset)
