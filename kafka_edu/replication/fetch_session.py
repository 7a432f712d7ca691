"""The leader's side of one fetch session (Kafka: FetchSession and CachedPartition in
FetchSession.scala; KIP-227).

In a full fetch a follower of 1,000 partitions names all of them (1,000 × 24 B ≈ 24 KB), although
most are idle (book 000 §6.1). In a session the leader remembers the partitions. Then each fetch
names only the partitions that have changed, and the response lists only those with news. A fetch of
idle partitions has about 60 bytes.
"""

from collections.abc import Iterable, Mapping

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.version_counter import VersionCounter
from kafka_edu.replication.fetch_params import FetchInfos, PartitionFetch
from kafka_edu.replication.log_read_result import (
    NO_PREFERRED_REPLICA,
    NO_VERSION,
    LogReadResult,
)
from kafka_edu.replication.replica import FetchClock, Replica


class CachedPartition:
    """One partition of a session: the reader's request, the last answer, and the version of the
    partition at that answer.
    """

    __slots__ = ("answered", "follower", "high_watermark", "log_start_offset", "request", "version")

    def __init__(
        self, request: PartitionFetch, high_watermark: int = -1, log_start_offset: int = -1
    ) -> None:
        self.request = request
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.version = VersionCounter()
        """The Partition's own version counter if the reader has read the partition to its end;
        before that, a counter that belongs to this object alone.
        """
        self.answered = NO_VERSION
        """The partition's version at the last answer. While the partition still has this version, a
        read finds nothing new.
        """
        self.follower: Replica | None = None

    def take_news(self, read: LogReadResult, clock: FetchClock) -> bool:
        """Return whether the response must list `read`, and remember its offsets.

        The response must list a read that has records, an error, a diverging epoch or another
        replica to read from. It must also list a read whose HW or log start has changed since the
        last answer. An error is listed each time. The first read after an error is listed too,
        because the client may have dropped its knowledge of the partition.
        """
        news = (
            read.size_in_bytes > 0
            or read.high_watermark != self.high_watermark
            or read.log_start_offset != self.log_start_offset
            or read.diverging_epoch is not None
            or read.error is not Errors.NONE
            or read.preferred_read_replica != NO_PREFERRED_REPLICA
        )
        self.high_watermark = read.high_watermark if read.error is Errors.NONE else -1
        self.log_start_offset = read.log_start_offset
        if read.version == NO_VERSION:
            self.forget_answer()
        else:
            self.answered = read.version
            if self.follower is not None:
                self.follower.go_by(clock)
        return news

    def forget_answer(self) -> None:
        """Make the next fetch read the partition, even if nothing has changed.

        From now on the follower's own reads show whether it is caught up. The session's clock does
        not count any more.
        """
        self.answered = NO_VERSION
        if self.follower is not None:
            self.follower.settle()
            self.follower = None


class FetchSession:
    """The partitions of one fetcher, which the leader remembers. Owned by the FetchSessionCache.

    The session is a list of partitions, which are read in this order. A partition that was answered
    with news goes to the end, so every partition gets its turn even if one response is too small
    for all.

    A fetch reads only the partitions whose version has changed since their last answer
    (VersionCounter). A follower that gets no news still counts as caught up: each fetch of the
    session sets the session's clock, and the follower's Replicas use that clock.
    """

    __slots__ = (
        "changed",
        "clock",
        "closed",
        "created_ms",
        "epoch",
        "evictable_by_all",
        "evictable_by_privileged",
        "key",
        "last_used_ms",
        "partitions",
        "privileged",
        "session_id",
    )

    def __init__(
        self,
        session_id: int,
        privileged: bool,
        partitions: dict[TopicPartition, CachedPartition],
        now_ms: int,
    ) -> None:
        self.session_id = session_id
        self.privileged = privileged
        """Whether this is a follower's session. A new session of a consumer cannot take its
        slot.
        """
        self.partitions = partitions
        self.key = f"fetch session {session_id}"
        """The key in the purgatory under which the session's fetches wait for the partitions that
        they do not name.
        """
        self.changed: set[TopicPartition] = set()
        """The partitions that have changed since the session's last fetch arrived."""
        self.clock = FetchClock()
        self.closed = False
        self.epoch = 1
        """The epoch that the next fetch must have."""
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.evictable_by_all = False
        self.evictable_by_privileged = False

    def update(
        self, changed: Mapping[TopicPartition, PartitionFetch], to_forget: Iterable[TopicPartition]
    ) -> None:
        """Take over the changes that a fetch names: new or changed partitions, and removed ones.

        O(partitions named).
        """
        for tp, request in changed.items():
            cached = self.partitions.get(tp)
            if cached is None:
                self.partitions[tp] = CachedPartition(request)
            else:
                cached.request = request
                cached.forget_answer()
        for tp in to_forget:
            cached = self.partitions.pop(tp, None)
            if cached is not None:
                cached.forget_answer()

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Return whether the session is open and holds the partition. O(1)."""
        return not self.closed and topic_partition in self.partitions

    def lacks_high_watermark(self, topic_partition: TopicPartition, high_watermark: int) -> bool:
        """Return whether the reader's last response had a lower high watermark. O(1)."""
        cached = self.partitions.get(topic_partition)
        return cached is not None and cached.high_watermark < high_watermark

    def note_change(self, topic_partition: TopicPartition) -> None:
        """Record that the partition has changed, so a waiting fetch calls `infos` again. O(1)."""
        self.changed.add(topic_partition)

    def begins_with(self, infos: FetchInfos) -> bool:
        """Return whether the first partition of `infos` is also the first one of the session."""
        return bool(infos) and next(iter(self.partitions), None) == infos[0][0]

    def infos(self) -> list[tuple[TopicPartition, PartitionFetch]]:
        """Return the partitions that have changed, in the order in which they are read.

        O(partitions), about 30 ns each.
        """
        return [
            (tp, cached.request)
            for tp, cached in self.partitions.items()
            if cached.version.value != cached.answered
        ]

    def follow(
        self, topic_partition: TopicPartition, version: VersionCounter, follower: Replica | None
    ) -> None:
        """From now on read the partition only when `version` has changed.

        `follower` is the reader's Replica at the leader, or None if the reader is a consumer. O(1).
        """
        cached = self.partitions.get(topic_partition)
        if cached is not None:
            cached.version = version
            cached.follower = follower

    def take_news(
        self, reads: list[tuple[TopicPartition, LogReadResult]]
    ) -> list[tuple[TopicPartition, LogReadResult]]:
        """Return only the reads that the response must list. Their partitions go to the session's
        end.
        """
        news = []
        partitions = self.partitions
        for item in reads:
            tp = item[0]
            cached = partitions.get(tp)
            if cached is not None and cached.take_news(item[1], self.clock):
                del partitions[tp]
                partitions[tp] = cached
                news.append(item)
        return news
