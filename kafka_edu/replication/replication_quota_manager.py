"""Limit the bytes per second of throttled replicas (Kafka: ReplicationQuotaManager.scala; KIP-73).

    leader    leader.replication.throttled.{replicas,rate}     what the broker sends to followers
    follower  follower.replication.throttled.{replicas,rate}   what the broker fetches

A reassignment copies whole logs, as fast as disks and network allow. Clients of these brokers then
wait. A throttle limits the speed of the copy. Each topic lists its throttled replicas. Each broker
has a rate for each side, and the rates can change at any time.

The rule is the same on both sides: a partition is held back if it is throttled, if its follower is
not in sync, and if the bytes of all throttled partitions exceed the rate. The follower leaves a
held-back partition out of one fetch, or the leader leaves it out of one response. The partition
gets another chance with the next fetch. A follower in sync is never held back, because each
acks=all waits for it. But its bytes count, so that all throttled traffic together keeps to the
rate.

The rate is checked before a fetch, and the bytes are counted after it. So one fetch may exceed the
rate, and the next fetches wait until the mean is below the rate again. Over a longer time the mean
equals the rate.
"""

from collections.abc import Iterable, Iterator, Set
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.config_def import MAX_LONG
from kafka_edu.common.sampled_rate import SampledRate
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import (
    ReplicationQuotaSampled,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
from kafka_edu.trace.tracer import Tracer

UNLIMITED: Final = MAX_LONG
"""The rate of a broker without a limit (Kafka: DefaultReplicationThrottledRate)."""
NOT_THROTTLED: Final = -1


class Side(StrEnum):
    """The side of the traffic that a quota limits."""

    LEADER = "leader"
    FOLLOWER = "follower"
    LOG_DIRS = "log dirs"
    """Moves between the log dirs of one broker (Kafka: QuotaType.AlterLogDirsReplication)."""

    @property
    def replicas_key(self) -> str:
        """Return the topic's setting that lists the throttled replicas of the side."""
        return f"{self}.replication.throttled.replicas"

    @property
    def rate_key(self) -> str:
        """Return the broker's setting of the rate, in bytes per second."""
        if self is Side.LOG_DIRS:
            return "replica.alter.log.dirs.io.max.bytes.per.second"
        return f"{self}.replication.throttled.rate"


ALL_PARTITIONS: Final = None
"""Used instead of a set of partition numbers: all partitions of the topic."""


def throttled_partitions(replicas: Iterable[str], broker_id: int) -> Set[int] | None:
    """Return the partitions that a topic's list throttles on this broker; None means all
    partitions.

    `replicas` is `*`, or has items `partition:broker`. An item may be empty.
    """
    numbers = set()
    for item in replicas:
        if item.strip() == "*":
            return ALL_PARTITIONS
        partition, _, broker = item.partition(":")
        if broker and int(broker) == broker_id:
            numbers.add(int(partition))
    return frozenset(numbers)


class ReplicationQuotaManager:
    """The quota of one side of a broker. Owned by the broker's loop. Times are monotonic ms.

    The side *is throttled* from the first partition that it holds back until nothing was held back
    for a whole window (`check`), or until the throttle is removed.
    """

    def __init__(
        self, side: Side, window_num: int, window_ms: int, trace: Tracer | None = None
    ) -> None:
        self.side = side
        self.bound = UNLIMITED
        self._trace = trace
        self._rate = SampledRate(window_num, window_ms)
        self._whole_window_ms = window_num * window_ms
        self._throttled: dict[str, Set[int] | None] = {}
        """Topic → its throttled partitions here, never empty; ALL_PARTITIONS: all of them."""
        self._began_ms = NOT_THROTTLED
        self._held_back_ms = 0
        """The monotonic ms at which a partition was last held back."""
        self._bytes = 0
        """The bytes of throttled partitions since the throttling began."""

    @property
    def active(self) -> bool:
        """Return whether any replica of this broker is throttled. O(1)."""
        return bool(self._throttled)

    def update_quota(self, bytes_per_second: int, now_ms: int) -> None:
        """Set the rate. The bytes of the last seconds still count."""
        self.bound = bytes_per_second
        if bytes_per_second == UNLIMITED:
            self._end("its rate was removed", now_ms)

    def mark_throttled(self, topic: str, partitions: Set[int] | None, now_ms: int) -> None:
        """Throttle only `partitions` of the topic. With ALL_PARTITIONS throttle all partitions; an
        empty set removes the throttle.
        """
        if partitions is ALL_PARTITIONS or partitions:
            self._throttled[topic] = partitions
            return
        self._throttled.pop(topic, None)
        if not self._throttled:
            self._end("no replica is throttled any more", now_ms)

    def is_throttled(self, tp: TopicPartition) -> bool:
        """Return whether the partition's replica here is throttled. O(1)."""
        if tp.topic not in self._throttled:
            return False
        partitions = self._throttled[tp.topic]
        return partitions is ALL_PARTITIONS or tp.partition in partitions

    def is_quota_exceeded(self, now_ms: int) -> bool:
        """Return whether the rate of the last seconds is above the bound. O(samples)."""
        return self.bound != UNLIMITED and self._rate.measure(now_ms) > self.bound

    def record(self, count: int, now_ms: int) -> None:
        """Count bytes of throttled partitions."""
        self._rate.record(count, now_ms)
        self._bytes += count

    def should_throttle(self, tp: TopicPartition, in_sync: bool, now_ms: int) -> bool:
        """Return whether the partition must be held back now.

        If so, the caller holds it back. `in_sync` says whether the partition's follower is in sync.
        O(1) if the partition is not throttled, else O(samples).
        """
        if in_sync or not self.is_throttled(tp) or not self.is_quota_exceeded(now_ms):
            return False
        self._held_back_ms = now_ms
        if self._began_ms == NOT_THROTTLED:
            self._began_ms = now_ms
            self._bytes = 0
            if self._trace:
                self._trace(
                    ReplicationThrottleBegan(
                        side=self.side,
                        bound=self.bound,
                        rate=round(self._rate.measure(now_ms)),
                        topic=tp.topic,
                        partition=tp.partition,
                    )
                )
        return True

    def check(self, now_ms: int) -> None:
        """End the throttling, if nothing was held back for a whole window.

        A throttled copy alternates: a fetch exceeds the rate, the next fetches are held back, then
        the mean falls below the rate. So a short time without a held-back partition does not mean
        that the throttling is over.
        """
        if now_ms - self._held_back_ms >= self._whole_window_ms:
            self._end("nothing had to wait for a whole window", self._held_back_ms)

    def _end(self, reason: str, at_ms: int) -> None:
        if self._began_ms == NOT_THROTTLED:
            return
        lasted_ms, self._began_ms = at_ms - self._began_ms, NOT_THROTTLED
        if self._trace:
            self._trace(
                ReplicationThrottleEnded(
                    side=self.side,
                    bound=self.bound,
                    lasted_ms=lasted_ms,
                    bytes=self._bytes,
                    reason=reason,
                )
            )

    def sample(self, now_ms: int) -> ReplicationQuotaSampled:
        """Return an event with the present rate and its bound."""
        return ReplicationQuotaSampled(
            side=self.side, rate=round(self._rate.measure(now_ms)), bound=self.bound
        )


class ReplicationQuotas(NamedTuple):
    """The quotas of one broker (Kafka: QuotaFactory.QuotaManagers)."""

    leader: ReplicationQuotaManager
    follower: ReplicationQuotaManager
    log_dirs: ReplicationQuotaManager
    """Counts all moves between log dirs. No partition is marked as throttled here."""

    def check(self, now_ms: int) -> None:
        """End the throttling of each side that held nothing back for a whole window. Called once in
        each window.
        """
        for quota in self:
            quota.check(now_ms)

    def samples(self, now_ms: int) -> Iterator[Event]:
        """Yield a sample of each side that has throttled replicas."""
        for quota in self:
            if quota.active:
                yield quota.sample(now_ms)


def make_replication_quotas(
    config: ReplicationConfig, time: Time, trace: Tracer | None = None
) -> ReplicationQuotas:
    """Return a broker's quotas, without throttled replicas and without rates."""
    leader, follower = (
        ReplicationQuotaManager(
            side,
            config.replication_quota_window_num,
            config.replication_quota_window_size_seconds * 1000,
            trace,
        )
        for side in (Side.LEADER, Side.FOLLOWER)
    )
    log_dirs = ReplicationQuotaManager(
        Side.LOG_DIRS,
        config.alter_log_dirs_replication_quota_window_num,
        config.alter_log_dirs_replication_quota_window_size_seconds * 1000,
        trace,
    )
    quotas = ReplicationQuotas(leader, follower, log_dirs)
    if trace:
        trace.on_gauges(lambda: quotas.samples(time.hi_res_clock_ms()))
    return quotas
