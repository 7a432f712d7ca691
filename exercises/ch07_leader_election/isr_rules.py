"""Compute the right answers of exercise 07-2 with the leader's own rules."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from kafka_edu.replication.isr import may_join_isr, out_of_sync_replicas


class Follower(NamedTuple):
    """A follower, as the rule knows it."""

    broker_id: int
    last_caught_up_time_ms: int


def right_leaving(
    isr: Sequence[int], followers: Sequence[Follower], now_ms: int, max_lag_ms: int
) -> tuple[int, ...]:
    """Return the members that leave."""
    return out_of_sync_replicas(isr, cast(Any, followers), now_ms, max_lag_ms)


def right_may_join(leo: int, hw: int, epoch_start: int) -> bool:
    """Return whether a follower may join."""
    return may_join_isr(leo, hw, epoch_start)
