"""A rate over a sliding window of samples."""

import hypothesis.strategies as st
from hypothesis import given

from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager


def quota(bytes_per_second: int | None, samples: int = 11) -> ReplicationQuotaManager:
    made = ReplicationQuotaManager(samples, 1)
    made.update_quota(bytes_per_second)
    return made


def test_without_a_limit_nothing_is_exceeded() -> None:
    made = quota(None)
    made.record(1 << 40, 0)
    assert not made.is_quota_exceeded(0)
    assert made.rate(0) == 1 << 40


def test_the_rate_is_averaged_over_the_time_since_the_oldest_sample_but_over_one_at_least() -> None:
    made = quota(100)
    assert made.rate(0) == 0
    made.record(100, 0)
    assert made.rate(0) == made.rate(1000) == 100
    assert not made.is_quota_exceeded(0), "at the limit is not above it"
    made.record(300, 500)
    assert made.rate(500) == 400
    assert made.is_quota_exceeded(500)
    assert made.rate(4000) == 100
    assert made.is_quota_exceeded(3999)
    assert not made.is_quota_exceeded(4000)


def test_samples_that_are_too_old_do_not_count() -> None:
    made = quota(100, samples=3)
    made.record(3000, 0)
    made.record(30, 1500)
    assert made.rate(2999) == 3030 / 2.999
    assert made.rate(3000) == 30 / 1.5
    assert made.rate(4500) == 0


def test_a_changed_limit_counts_at_once() -> None:
    made = quota(10)
    made.record(1000, 0)
    assert made.is_quota_exceeded(0)
    made.update_quota(1000)
    assert not made.is_quota_exceeded(0)
    made.update_quota(0)
    assert made.is_quota_exceeded(0)


@given(st.integers(1, 10_000), st.lists(st.integers(1, 3000), min_size=1, max_size=200))
def test_a_copier_that_asks_before_each_piece_keeps_below_the_limit_but_for_one_piece(
    limit: int, pieces: list[int]
) -> None:
    """As in Kafka, it may begin with a burst of one window: the first sample counts as a second."""
    made, now, copied = quota(limit), 0, 0
    for piece in pieces:
        while made.is_quota_exceeded(now):
            now += 100
        made.record(piece, now)
        copied += piece
    windows = now / 11_000 + 1
    assert copied <= limit * (now / 1000 + 1) + max(pieces) * windows
