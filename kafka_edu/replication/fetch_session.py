"""One fetch session, as the broker that is fetched from keeps it (Kafka: FetchSession and CachedPartition in FetchSession.scala; KIP-227).

A follower of 1,000 partitions names, in each full fetch, 1,000 × 24 B ≈ 24 KB, although most are idle (book 000 §6.1). In a session the broker
remembers what it was asked: a fetch then names only what changed, and the answer only what is new. An idle fetch is some 60 bytes.
"""

from collections.abc import Iterable, Mapping

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import PartitionFetch
from kafka_edu.replication.log_read_result import LogReadResult


class CachedPartition:
    """What was asked of one partition, and what was last told of it."""

    __slots__ = ("high_watermark", "log_start_offset", "request", "told")

    def __init__(self, request: PartitionFetch, high_watermark: int = -1, log_start_offset: int = -1) -> None:
        self.request = request
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.told: LogReadResult | None = None
        """What was no news the last time is none if it comes again (ReaderAtEnd)."""

    def take_news(self, read: LogReadResult) -> bool:
        """Whether `read` must be told: it has records, or the HW or the log start moved, or an error, or a diverging epoch. Remembers it.

        An error is told each time, and what comes after it too, for the one who fetches may have forgotten what it knew.
        """
        if read is self.told:
            return False
        news = (
            read.size_in_bytes > 0
            or read.high_watermark != self.high_watermark
            or read.log_start_offset != self.log_start_offset
            or read.diverging_epoch is not None
            or read.error is not Errors.NONE
        )
        self.high_watermark = read.high_watermark if read.error is Errors.NONE else -1
        self.log_start_offset = read.log_start_offset
        self.told = None if news else read
        return news


class FetchSession:
    """Owned by the FetchSessionCache. Partitions are in the order in which they are read: who was answered last is read last, so that all get
    their share of a response that is too small for all."""

    __slots__ = (
        "created_ms",
        "epoch",
        "evictable_by_all",
        "evictable_by_privileged",
        "last_used_ms",
        "partitions",
        "privileged",
        "session_id",
    )

    def __init__(self, session_id: int, privileged: bool, partitions: dict[TopicPartition, CachedPartition], now_ms: int) -> None:
        self.session_id = session_id
        self.privileged = privileged
        """A follower's: not to be evicted for a consumer's."""
        self.partitions = partitions
        self.epoch = 1
        """That of the next fetch."""
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.evictable_by_all = False
        self.evictable_by_privileged = False

    def update(self, changed: Mapping[TopicPartition, PartitionFetch], to_forget: Iterable[TopicPartition]) -> None:
        """Door: what a fetch says anew. O(partitions named)."""
        for tp, request in changed.items():
            cached = self.partitions.get(tp)
            if cached is None:
                self.partitions[tp] = CachedPartition(request)
            else:
                cached.request = request
        for tp in to_forget:
            self.partitions.pop(tp, None)

    def take_news(self, reads: list[tuple[TopicPartition, LogReadResult]]) -> list[tuple[TopicPartition, LogReadResult]]:
        """Only what must be told; these partitions go to the end of the order."""
        news = []
        partitions = self.partitions
        for item in reads:
            tp = item[0]
            cached = partitions.get(tp)
            if cached is not None and cached.take_news(item[1]):
                del partitions[tp]
                partitions[tp] = cached
                news.append(item)
        return news
