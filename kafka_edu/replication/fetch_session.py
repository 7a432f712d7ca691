"""One fetch session, as the broker that is fetched from keeps it (Kafka: FetchSession and
CachedPartition in FetchSession.scala; KIP-227).

A follower of 1,000 partitions names, in each full fetch, 1,000 × 24 B ≈ 24 KB, although most are
idle (book 000 §6.1). In a session the broker remembers what it was asked: a fetch then names only
what changed, and the answer only what is new. An idle fetch is some 60 bytes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import PartitionFetch
from kafka_edu.replication.log_read_result import LogReadResult

LOOK_AT_ALL_MS: Final = 250
"""Resting partitions too are looked at in a fetch that comes so long after the last that did: so a
follower counts as behind on them for that much longer than it is, of replica.lag.time.max.ms.
"""


class CachedPartition:
    """What was asked of one partition, and what was last told of it."""

    __slots__ = ("high_watermark", "log_start_offset", "request", "told")

    def __init__(
        self, request: PartitionFetch, high_watermark: int = -1, log_start_offset: int = -1
    ) -> None:
        self.request = request
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.told: LogReadResult | None = None
        """What was no news the last time is none if it comes again (ReaderAtEnd)."""

    def take_news(self, read: LogReadResult) -> bool:
        """Whether `read` must be told: it has records, or the HW or the log start moved, or an
        error, or a diverging epoch. Remembers it.

        An error is told each time, and what comes after it too, for the one who fetches may have
        forgotten what it knew.
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
    """Owned by the FetchSessionCache. Partitions are in the order in which they are read: who was
    answered last is read last, so that all get their share of a response that is too small for all.

    In a large session, partitions of which there is no news come to rest (ReaderAtEnd), and a fetch
    looks only at those that are awake: a follower of a thousand partitions of which twenty are
    written to costs what twenty cost. In a small one looking at all is cheaper than the books, and
    all stay awake.
    """

    REST_FROM = 100
    """Partitions that make a session large."""

    __slots__ = (
        "_looked_at_all_ms",
        "awake",
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
        """A follower's: not to be evicted for a consumer's."""
        self.partitions = partitions
        self.awake = dict(partitions)
        """Those that a fetch looks at, in the order in which they are read."""
        self.key = f"fetch session {session_id}"
        """Under which a fetch that waits is woken by the partitions that rest."""
        self.closed = False
        self._looked_at_all_ms = now_ms
        self.epoch = 1
        """That of the next fetch."""
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.evictable_by_all = False
        self.evictable_by_privileged = False

    def update(
        self, changed: Mapping[TopicPartition, PartitionFetch], to_forget: Iterable[TopicPartition]
    ) -> None:
        """Door: what a fetch says anew. O(partitions named)."""
        for tp, request in changed.items():
            cached = self.partitions.get(tp)
            if cached is None:
                cached = self.partitions[tp] = CachedPartition(request)
            else:
                cached.request = request
            self.awake[tp] = cached
        for tp in to_forget:
            self.partitions.pop(tp, None)
            self.awake.pop(tp, None)

    @property
    def has_resting(self) -> bool:
        """Whether some of its partitions are left to wake it."""
        return len(self.awake) < len(self.partitions)

    def begin_fetch(self, now_ms: int) -> None:
        """A fetch has come: if it is time to, look at all again."""
        if self.has_resting and now_ms - self._looked_at_all_ms >= LOOK_AT_ALL_MS:
            self.awake = dict(self.partitions)
            self._looked_at_all_ms = now_ms

    def infos(self) -> list[tuple[TopicPartition, PartitionFetch]]:
        """What is to be read now, in order."""
        return [(tp, cached.request) for tp, cached in self.awake.items()]

    def wake(self, topic_partition: TopicPartition) -> None:
        """A partition has changed: look at it, if it is still wanted."""
        cached = self.partitions.get(topic_partition)
        if cached is not None:
            self.awake[topic_partition] = cached

    def take_news(
        self, reads: list[tuple[TopicPartition, LogReadResult]]
    ) -> list[tuple[TopicPartition, LogReadResult]]:
        """Only what must be told; these partitions go to the end of the order. Of a large session
        the others come to rest.
        """
        news = []
        partitions, awake = self.partitions, self.awake
        may_rest = len(partitions) >= self.REST_FROM
        for item in reads:
            tp = item[0]
            cached = partitions.get(tp)
            if cached is None:
                continue
            if cached.take_news(item[1]):
                del partitions[tp]
                partitions[tp] = cached
                awake.pop(tp, None)
                awake[tp] = cached
                news.append(item)
            elif (
                may_rest and cached.request.at_end is not None and cached.request.at_end.rest(self)
            ):
                awake.pop(tp, None)
        return news
