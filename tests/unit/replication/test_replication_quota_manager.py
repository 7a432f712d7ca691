"""Throttled replication: which partitions are held back, and for how long."""

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.replication_quota_manager import (
    ALL_PARTITIONS,
    UNLIMITED,
    ReplicationQuotaManager,
    Side,
    make_replication_quotas,
    throttled_partitions,
)
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.replication import (
    ReplicationQuotaSampled,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import REPLICATION_DEFAULTS

T0, T1, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("other", 0)
MB = 1_000_000


class World:
    """The follower's quota of one broker, with Kafka's default window of 11 samples of 1 s."""

    def __init__(self) -> None:
        self.time = MockTime()
        tracer = Tracer(Source.of_broker(0), self.time)
        self.ring = RingSink(1000)
        tracer.add_sink(self.ring)
        self.quota = make_replication_quotas(REPLICATION_DEFAULTS, self.time, tracer).follower

    @property
    def now_ms(self) -> int:
        return self.time.hi_res_clock_ms()

    def events(self) -> list[Event]:
        return [envelope.event for envelope in self.ring.events]


@pytest.mark.parametrize(
    ("replicas", "partitions"),
    [
        ((), frozenset()),
        (("*",), ALL_PARTITIONS),
        (("0:1", "1:2", "5:1"), frozenset({0, 5})),
        (("", "0:1"), frozenset({0})),
        (("0:2",), frozenset()),
    ],
)
def test_the_list_names_partitions_by_broker(replicas, partitions) -> None:
    assert throttled_partitions(replicas, 1) == partitions


def test_each_side_has_kafkas_keys() -> None:
    assert [side.rate_key for side in Side] == [
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ]
    assert [side.replicas_key for side in (Side.LEADER, Side.FOLLOWER)] == [
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    ]


def test_only_the_listed_replicas_are_throttled() -> None:
    quota = ReplicationQuotaManager(Side.LEADER, 11, 1000)
    assert not quota.active
    quota.mark_throttled("t", frozenset({1}), 0)
    assert [quota.is_throttled(tp) for tp in (T0, T1, OTHER)] == [False, True, False]
    quota.mark_throttled("t", ALL_PARTITIONS, 0)
    assert [quota.is_throttled(tp) for tp in (T0, T1, OTHER)] == [True, True, False]
    quota.mark_throttled("t", frozenset(), 0)
    assert not quota.active, "none of its replicas is on this broker"


def test_without_a_rate_nothing_is_exceeded() -> None:
    world = World()
    world.quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    world.quota.record(1 << 40, world.now_ms)
    assert not world.quota.is_quota_exceeded(world.now_ms)
    world.quota.update_quota(0, world.now_ms)
    assert world.quota.is_quota_exceeded(world.now_ms)


def test_the_rate_itself_is_allowed_and_a_byte_more_is_not() -> None:
    world = World()
    world.quota.update_quota(MB, world.now_ms)
    world.quota.record(MB, world.now_ms)
    assert not world.quota.is_quota_exceeded(world.now_ms)
    world.quota.record(1, world.now_ms)
    assert world.quota.is_quota_exceeded(world.now_ms)


def test_who_is_in_sync_is_never_held_back_but_counts() -> None:
    world = World()
    quota = world.quota
    quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    quota.update_quota(MB, world.now_ms)
    quota.record(2 * MB, world.now_ms)
    assert not quota.should_throttle(T0, True, world.now_ms)
    assert not quota.should_throttle(OTHER, False, world.now_ms)
    assert world.events() == []
    assert quota.should_throttle(T0, False, world.now_ms)


@pytest.mark.parametrize("piece", [10_000, 100_000, MB])
def test_within_10_percent_of_the_rate_over_10_seconds(piece: int) -> None:
    """The copy is as fast as it may be. It takes a piece whenever it is not throttled, and looks
    again a millisecond later otherwise. A piece is at most what the rate allows in one sample.
    """
    world = World()
    quota = world.quota
    quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    quota.update_quota(MB, world.now_ms)
    per_10_s = []
    for _ in range(6):
        copied = 0
        for _ in range(10_000):
            if not quota.should_throttle(T0, False, world.now_ms):
                quota.record(piece, world.now_ms)
                copied += piece
            world.time.advance(1)
        per_10_s.append(copied)
    assert all(9 * MB <= copied <= 11 * MB for copied in per_10_s), per_10_s


def test_a_rate_that_changes_counts_at_once() -> None:
    world = World()
    quota = world.quota
    quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    quota.update_quota(MB, world.now_ms)
    quota.record(3 * MB, world.now_ms)
    assert quota.should_throttle(T0, False, world.now_ms)
    quota.update_quota(4 * MB, world.now_ms)
    assert not quota.should_throttle(T0, False, world.now_ms)


def test_one_event_when_it_begins_and_one_when_a_whole_window_had_no_wait() -> None:
    world = World()
    quota = world.quota
    quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    quota.update_quota(MB, world.now_ms)
    quota.record(2 * MB, world.now_ms)
    assert quota.should_throttle(T1, False, world.now_ms)
    world.time.advance(1500)
    assert quota.should_throttle(T0, False, world.now_ms)
    quota.record(1000, world.now_ms)
    began = ReplicationThrottleBegan(side="follower", bound=MB, rate=2 * MB, topic="t", partition=1)
    for _ in range(10):
        world.time.advance(1000)
        quota.check(world.now_ms)
    assert world.events() == [began]
    world.time.advance(1000)
    quota.check(world.now_ms)
    quota.check(world.now_ms)
    assert world.events() == [
        began,
        ReplicationThrottleEnded(
            side="follower",
            bound=MB,
            lasted_ms=1500,
            bytes=1000,
            reason="nothing had to wait for a whole window",
        ),
    ]


@pytest.mark.parametrize("what", ["rate", "replicas", "replicas here"])
def test_it_ends_when_the_throttle_is_removed(what: str) -> None:
    world = World()
    quota = world.quota
    quota.mark_throttled("t", ALL_PARTITIONS, world.now_ms)
    quota.mark_throttled("other", frozenset({0}), world.now_ms)
    quota.update_quota(MB, world.now_ms)
    quota.record(2 * MB, world.now_ms)
    assert quota.should_throttle(T0, False, world.now_ms)
    world.time.advance(700)
    if what == "rate":
        quota.update_quota(UNLIMITED, world.now_ms)
    else:
        replicas = () if what == "replicas" else ("0:9",)  # broker 9's only
        for topic in ("t", "other"):
            assert len(world.events()) == 1, "another topic is still throttled"
            quota.mark_throttled(topic, throttled_partitions(replicas, 1), world.now_ms)
    [_, ended] = world.events()
    assert isinstance(ended, ReplicationThrottleEnded)
    assert ended.lasted_ms == 700
    world.time.advance(60_000)
    quota.check(world.now_ms)
    assert len(world.events()) == 2


def test_a_side_is_sampled_while_it_has_throttled_replicas() -> None:
    time = MockTime()
    quotas = make_replication_quotas(REPLICATION_DEFAULTS, time)
    assert list(quotas.samples(0)) == []
    quotas.leader.mark_throttled("t", ALL_PARTITIONS, 0)
    quotas.leader.update_quota(5, 0)
    quotas.follower.update_quota(7, 0)
    quotas.leader.record(3, 0)
    assert list(quotas.samples(0)) == [ReplicationQuotaSampled(side="leader", rate=3, bound=5)]
