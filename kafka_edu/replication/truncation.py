"""Compute to which offset a follower truncates its log before it fetches from a leader (Kafka:
AbstractFetcherThread.getOffsetTruncationState; KIP-101, KIP-279).

With OffsetForLeaderEpoch the follower asks the leader: where in your log does the epoch of my last
record end? Before 0.11 followers truncated to their own high watermark, and lost records. The
reasons: the follower's high watermark is one fetch behind the leader's (book 001, the two-broker
case), and two logs may differ even below the high watermark.
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
    """The owner of the logs that truncates them and corrects their checkpoints (LogManager)."""

    def truncate_to(self, offsets: dict[TopicPartition, int]) -> None: ...

    def truncate_fully_and_start_at(self, topic_partition: TopicPartition, offset: int) -> None: ...


class SwapsLogs(Protocol):
    """The owner of the logs that replaces a current log with its future log (LogManager)."""

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> Log: ...


class OffsetTruncationState(NamedTuple):
    """The offset to which the log must be truncated, and whether the truncation is then complete.

    If `complete` is False, the remaining log ends in a different epoch than the leader's answer,
    and the follower must send another OffsetForLeaderEpoch.
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
    """Return the offset to which the follower truncates, from the leader's answer.

    The answer is `leader_epoch` and `leader_end_offset`. `epochs` are the epochs in the follower's
    log, ascending, each with the offset of its first record. The cases:

    - The leader knows no epoch that is old enough: truncate to the high watermark, because no
      better offset is known.
    - An answer of version 0 names no epoch: its end offset belongs to the requested epoch
      (KIP-101).
    - The follower does not have the epoch in the answer, because it missed elections that followed
      each other quickly: truncate to the end of its next older epoch, and send another request
      (KIP-279).
    - Both have the epoch: the two logs are the same up to the smaller of the epoch's two ends.

    Example: the follower has the epochs <0, 0>, <1, 120> and LEO 130. The leader answers (0, 125).
    The follower's epoch 0 ends at 120, so it truncates to 120.
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
    own_end = min(own_end_offset, log_end_offset)
    return OffsetTruncationState(common_end(own_end, leader_end_offset), complete=True)


def common_end(own_end: int, leader_end: int) -> int:
    """Return the offset up to which both logs have the same records of an epoch that both have."""
    return min(own_end, leader_end)
