"""Compute the right answers of exercise 10-1 with the broker's own rules."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.high_watermark import HighWatermarkRule

RULE = HighWatermarkRule(TopicPartition("lab", 0))


class Follower(NamedTuple):
    """A leader's knowledge of a follower."""

    broker_id: int
    leo: int
    """The end of the follower's log; -1 if it has not fetched yet."""
    caught_up_ms: int


class _Replica(NamedTuple):
    """The facts of a replica that the broker's rule reads."""

    broker_id: int
    log_end_offset: LogOffsetMetadata
    last_caught_up_time_ms: int


class State(NamedTuple):
    """A leader's knowledge at one moment."""

    hw: int
    leo: int
    isr: tuple[int, ...]
    followers: tuple[Follower, ...]
    now_ms: int
    max_lag_ms: int = 10_000

    def arguments(self) -> list[object]:
        """Return the state as the list of arguments for the learner's `leader`."""
        rows = [list(one) for one in self.followers]
        return [self.hw, self.leo, list(self.isr), rows, self.now_ms, self.max_lag_ms]


def counts(state: State, follower: Follower) -> bool:
    """Return whether the high watermark has to wait for this follower."""
    lag_ms = state.now_ms - follower.caught_up_ms
    return follower.broker_id in state.isr or lag_ms <= state.max_lag_ms


def right_leader(state: State) -> int:
    """Return the leader's right high watermark."""
    followers = [
        _Replica(one.broker_id, LogOffsetMetadata(one.leo), one.caught_up_ms)
        for one in state.followers
    ]
    candidate = RULE.of_leader(
        LogOffsetMetadata(state.hw),
        LogOffsetMetadata(state.leo),
        state.isr,
        cast(Any, followers),
        state.now_ms,
        state.max_lag_ms,
    )
    return max(state.hw, candidate.message_offset)


def right_follower(start: int, leo: int, leader_hw: int) -> int:
    """Return the follower's right high watermark."""
    return RULE.of_follower(start, leo, leader_hw)


def in_words(brokers: Sequence[int]) -> str:
    """Return the broker ids as readable text, such as `2, 0`."""
    return ", ".join(map(str, brokers)) or "nobody"
