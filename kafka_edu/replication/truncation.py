"""Where a follower cuts its log before it follows a leader (Kafka:
AbstractFetcherThread.getOffsetTruncationState; KIP-101, KIP-279).

By OffsetForLeaderEpoch the follower asks where the epoch of its own last record ends in the
leader's log. Before 0.11 followers truncated to their own high watermark, and lost records: the
mark is one fetch behind the leader's (book 001, the two-broker case), and two logs may differ below
it.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.leader_epoch_file_cache import (
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochEntry,
    end_offset_in,
)
from kafka_edu.log.log import Log


class TruncatesLogs(Protocol):
    """Something that cuts logs and keeps the recovery checkpoints right (LogManager)."""

    def truncate_to(self, offsets: dict[TopicPartition, int]) -> None: ...

    def truncate_fully_and_start_at(self, topic_partition: TopicPartition, offset: int) -> None: ...


class SwapsLogs(Protocol):
    """Something that puts a future log in the place of the current one (LogManager)."""

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> Log: ...


class OffsetTruncationState(NamedTuple):
    """`offset` is the new log end. If `complete` is False, the rest ends in another epoch than the
    leader's answer, and the leader must be asked again.
    """

    offset: int
    complete: bool


def offset_truncation_state(
    leader_epoch: int,
    leader_end_offset: int,
    high_watermark: int,
    log_end_offset: int,
    epochs: Sequence[EpochEntry],
) -> OffsetTruncationState:
    """Decide from the leader's answer (`leader_epoch`, `leader_end_offset`).

    `epochs` are the follower's own, ascending, each with the offset of its first record.

    - The leader knows no epoch that old: the high watermark is all that is left to go by.
    - An answer of version 0 names no epoch: the end offset is for the epoch that was asked
      (KIP-101).
    - The follower does not have the epoch of the answer (it missed fast elections): cut to the end
      of its next older one, and ask again (KIP-279).
    - Both have it: they agree up to the smaller of its two ends.

    Example: follower epochs <0, 0>, <1, 120> and LEO 130, a leader that answers (0, 125): the
    follower's epoch 0 ends at 120, so 120.
    """
    if leader_end_offset == UNDEFINED_EPOCH_OFFSET:
        return OffsetTruncationState(min(high_watermark, log_end_offset), complete=True)
    if leader_epoch == UNDEFINED_EPOCH:
        return OffsetTruncationState(min(leader_end_offset, log_end_offset), complete=True)
    own_epoch, own_end_offset = end_offset_in(epochs, leader_epoch, log_end_offset)
    if own_end_offset == UNDEFINED_EPOCH_OFFSET:
        return OffsetTruncationState(min(leader_end_offset, log_end_offset), complete=True)
    if own_epoch != leader_epoch:
        return OffsetTruncationState(min(own_end_offset, log_end_offset), complete=False)
    return OffsetTruncationState(
        min(own_end_offset, leader_end_offset, log_end_offset), complete=True
    )
