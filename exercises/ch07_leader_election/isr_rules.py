"""Compute the right answers of exercise 07-2 with the leader's own rules."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from kafka_edu.replication.isr import may_join_isr, out_of_sync_replicas


class Follower(NamedTuple):
    """A follower, and the time in ms when it had last caught up with the leader."""

    broker_id: int
    last_caught_up_time_ms: int


def right_leaving(
    isr: Sequence[int], followers: Sequence[Follower], now_ms: int, max_lag_ms: int
) -> tuple[int, ...]:
    """Return the ids of the followers in the ISR that must leave it now."""
    return out_of_sync_replicas(isr, cast(Any, followers), now_ms, max_lag_ms)


def right_may_join(leo: int, hw: int, epoch_start: int) -> bool:
    """Return whether a follower whose log ends at offset `leo` may join the ISR."""
    return may_join_isr(leo, hw, epoch_start)
