"""One fetch session on the side of the leader (Kafka: FetchSession and CachedPartition in
FetchSession.scala; KIP-227).

In each full fetch a follower of 1,000 partitions names 1,000 × 24 B ≈ 24 KB, although most of them
are idle (book 000 §6.1). With a session the leader remembers the request. Then a fetch names only
the partitions that changed, and the response only those with news. An idle fetch is some 60 bytes.
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
    """One partition of a session: the request, the last answer, and the version it was made by."""

    __slots__ = ("answered", "follower", "high_watermark", "log_start_offset", "request", "version")

    def __init__(
        self, request: PartitionFetch, high_watermark: int = -1, log_start_offset: int = -1
    ) -> None:
        self.request = request
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.version = VersionCounter()
        """The partition's own counter, once the partition was read to its end."""
        self.answered = NO_VERSION
        """The last answered version. While it equals the partition's version, a read gives no news.
        """
        self.follower: Replica | None = None

    def take_news(self, read: LogReadResult, clock: FetchClock) -> bool:
        """Return whether `read` must be answered, and remember it. It must if it has records, an
        error, a diverging epoch or another replica to read from, or if the HW or the log start
        moved.

        An error is answered each time, and so is the first read after it, because the client may
        have forgotten its state.
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
        """Have the next fetch read the partition. Its follower is counted by its own reads."""
        self.answered = NO_VERSION
        if self.follower is not None:
            self.follower.settle()
            self.follower = None


class FetchSession:
    """Owned by the FetchSessionCache. The partitions are in the order in which they are read: one
    that was answered goes to the end, so that all get a share of a response that is too small.

    A fetch reads only the partitions whose version differs from the one last answered
    (VersionCounter). An idle follower still counts as caught up: its replicas go by the session's
    clock.
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
        """It is a follower's session, which no consumer's session may push out."""
        self.partitions = partitions
        self.key = f"fetch session {session_id}"
        """The key under which a partition that was left out wakes a waiting fetch."""
        self.changed: set[TopicPartition] = set()
        """The partitions that have changed since a fetch arrived."""
        self.clock = FetchClock()
        self.closed = False
        self.epoch = 1
        """The epoch of the next fetch."""
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.evictable_by_all = False
        self.evictable_by_privileged = False

    def update(
        self, changed: Mapping[TopicPartition, PartitionFetch], to_forget: Iterable[TopicPartition]
    ) -> None:
        """Take the changes that a fetch names. O(partitions named)."""
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
        """Note a change: a list of `infos()` that lacks this partition is out of date. O(1)."""
        self.changed.add(topic_partition)

    def begins_with(self, infos: FetchInfos) -> bool:
        """Return whether `infos` begin with the session's first partition: it is not left out."""
        return bool(infos) and next(iter(self.partitions), None) == infos[0][0]

    def infos(self) -> list[tuple[TopicPartition, PartitionFetch]]:
        """Return the partitions to read now, in order. O(partitions), some 30 ns each."""
        return [
            (tp, cached.request)
            for tp, cached in self.partitions.items()
            if cached.version.value != cached.answered
        ]

    def follow(
        self, topic_partition: TopicPartition, version: VersionCounter, follower: Replica | None
    ) -> None:
        """Compare with this version from now on. `follower` is the reader, if it is a follower.
        O(1).
        """
        cached = self.partitions.get(topic_partition)
        if cached is not None:
            cached.version = version
            cached.follower = follower

    def take_news(
        self, reads: list[tuple[TopicPartition, LogReadResult]]
    ) -> list[tuple[TopicPartition, LogReadResult]]:
        """Return only the reads that must be answered. Their partitions go to the end."""
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
