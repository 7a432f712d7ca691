"""Which fetch sessions live and which must go (KIP-227)."""

from random import Random

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import PartitionFetch
from kafka_edu.replication.fetch_session import CachedPartition
from kafka_edu.replication.fetch_session_cache import EVICTION_MS, FetchSessionCache


def partitions(count: int) -> dict[TopicPartition, CachedPartition]:
    return {
        TopicPartition("t", i): CachedPartition(PartitionFetch(0, -1, 1000)) for i in range(count)
    }


def create(cache: FetchSessionCache, now_ms: int, size: int, *, follower: str = "") -> int:
    return cache.maybe_create_session(now_ms, follower, size, lambda: partitions(size))


def test_ids_are_positive_and_differ_and_come_from_the_given_generator() -> None:
    ids = [create(FetchSessionCache(10, Random(7)), 0, 1) for _ in range(2)]
    assert ids[0] == ids[1] > 0
    cache = FetchSessionCache(1000, Random(7))
    assert len({create(cache, 0, 1) for _ in range(1000)}) == 1000
    assert cache.total_partitions == 1000


def test_a_full_cache_gives_no_session_while_the_others_are_young_and_used() -> None:
    cache = FetchSessionCache(2, Random(1))
    create(cache, 0, 5)
    create(cache, 0, 5)
    assert create(cache, EVICTION_MS, 50) == 0
    assert len(cache) == 2


def test_the_longest_unused_session_goes_after_two_minutes() -> None:
    cache = FetchSessionCache(2, Random(1))
    stale, used = create(cache, 0, 5), create(cache, 1, 5)
    session = cache.get(used)
    assert session is not None
    cache.touch(session, EVICTION_MS)
    new = create(cache, EVICTION_MS + 1, 1)
    assert new > 0
    assert cache.get(stale) is None
    assert cache.get(used) is session
    assert cache.evictions == 1


def test_a_session_that_has_lived_two_minutes_yields_to_a_larger_one_but_not_to_a_smaller() -> None:
    cache = FetchSessionCache(2, Random(1))
    small, large = create(cache, 0, 5), create(cache, 0, 9)
    for session_id in (small, large):
        session = cache.get(session_id)
        assert session is not None
        cache.touch(session, EVICTION_MS + 1)
    assert create(cache, EVICTION_MS + 2, 4) == 0
    assert create(cache, EVICTION_MS + 2, 6) > 0
    assert cache.get(small) is None
    assert cache.get(large) is not None


def test_a_follower_pushes_out_a_young_consumer_but_no_follower() -> None:
    cache = FetchSessionCache(2, Random(1))
    consumer, follower = create(cache, 0, 100), create(cache, 0, 1, follower="1 a")
    assert create(cache, 1, 1, follower="2 a") > 0
    assert cache.get(consumer) is None
    assert create(cache, 2, 1000, follower="3 a") == 0
    assert cache.get(follower) is not None


def test_a_followers_fetcher_has_one_session() -> None:
    """The follower's broker was killed and started again. The broker knows nothing of its old
    session.
    """
    cache = FetchSessionCache(10, Random(1))
    first, second = create(cache, 0, 50, follower="1 a"), create(cache, 0, 50, follower="1 b")
    consumers = [create(cache, 0, 1), create(cache, 0, 1)]
    again = create(cache, 1, 50, follower="1 a")
    assert cache.get(first) is None
    assert all(cache.get(id_) is not None for id_ in (second, again, *consumers))
    assert cache.evictions == 0
    cache.remove(again, "closed by its owner")
    assert create(cache, 2, 50, follower="1 a") > 0
    assert len(cache) == 4
