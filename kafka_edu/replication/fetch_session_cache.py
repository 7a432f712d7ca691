"""All fetch sessions of a broker, in a bounded number of slots (Kafka: FetchSessionCache in
FetchSession.scala; KIP-227).
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_session import CachedPartition, FetchSession
from kafka_edu.replication.fetch_session_handler import MAX_EPOCH, NO_SESSION
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.replication import (
    FetchSessionClosed,
    FetchSessionOpened,
    FetchSessionsSampled,
)
from kafka_edu.trace.tracer import Tracer

#: A session that was not used for longer than this many ms may lose its slot to any new session
#: (Kafka: MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS).
EVICTION_MS: Final = 120_000


class FetchSessionCache:
    """The fetch sessions of a broker. `max_entries` is max.incremental.fetch.session.cache.slots
    (1,000). When all slots are taken, a new session may take the slot of an old one:

    1. The session that was unused for the longest time ends, if that time exceeds two minutes.
    2. Otherwise the least valuable session ends: consumers' before followers', small before large.
       A follower may end a consumer's session at any time. All other sessions last two minutes.
    3. Otherwise the client gets no session, and must name all its partitions in each fetch.

    A follower's fetcher has one session. If the follower was killed and started again, its fetcher
    opens a new session. The old session then ends at once, because no fetcher can use it any more.
    Kafka keeps the old session until its slot is needed. Here an old session with many partitions
    would occupy about 100 KB.

    Session ids are random. So a client that still uses an id from before this broker's restart will
    hardly ever hit another client's session. `touch` is O(1), an eviction O(sessions).
    """

    def __init__(
        self,
        max_entries: int,
        random: Random,
        trace: Tracer | None = None,
        eviction_ms: int = EVICTION_MS,
    ) -> None:
        self._max_entries = max_entries
        self._random = random
        self._trace = trace
        self._eviction_ms = eviction_ms
        self._sessions: dict[int, FetchSession] = {}  # in the order of last use
        self._of_follower: dict[str, FetchSession] = {}
        self.evictions = 0
        if trace:
            trace.on_gauges(self._gauges)

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    @property
    def total_partitions(self) -> int:
        """Return the number of partitions in all sessions. O(sessions)."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def maybe_create_session(
        self,
        now_ms: int,
        follower: str,
        size: int,
        create_partitions: Callable[[], dict[TopicPartition, CachedPartition]],
    ) -> int:
        """Open a session if a slot is free or can be freed. Return the session id, or 0.

        `follower` is the unique name of the follower's fetcher; it is empty for a consumer. `size`
        is the number of partitions.
        """
        privileged = bool(follower)
        before = self._of_follower.pop(follower, None)
        if before is not None and not before.closed:
            self.remove(before.session_id, "its follower has begun another")
        if len(self._sessions) >= self._max_entries and not self._try_evict(
            privileged, size, now_ms
        ):
            return NO_SESSION
        session_id = self._new_session_id()
        session = self._sessions[session_id] = FetchSession(
            session_id, privileged, create_partitions(), now_ms
        )
        self.touch(session, now_ms)
        if follower:
            self._of_follower[follower] = session
        if self._trace:
            self._trace(
                FetchSessionOpened(session_id=session_id, privileged=privileged, partitions=size)
            )
        return session_id

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """Record that the session is being used now."""
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        session.last_used_ms = now_ms
        old = now_ms - session.created_ms > self._eviction_ms
        session.evictable_by_all = old
        session.evictable_by_privileged = old or not session.privileged

    def remove(self, session_id: int, reason: str) -> bool:
        """End a session. Return False if no session has this id."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        session.closed = True
        if self._trace:
            self._trace(FetchSessionClosed(session_id=session_id, reason=reason))
        return True

    def _new_session_id(self) -> int:
        while True:
            session_id = self._random.randint(1, MAX_EPOCH)
            if session_id not in self._sessions:
                return session_id

    def _try_evict(self, privileged: bool, size: int, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > self._eviction_ms:
            self.evictions += 1
            return self.remove(oldest.session_id, "evicted: unused")
        worth = [
            (session.privileged, len(session.partitions), session.session_id)
            for session in self._sessions.values()
            if (session.evictable_by_privileged if privileged else session.evictable_by_all)
        ]
        least = min(worth, default=None)
        if least is None or (privileged, size, 0) < least:
            return False
        self.evictions += 1
        return self.remove(least[2], "evicted: for a more valuable one")

    def _gauges(self) -> Iterable[Event]:
        return [
            FetchSessionsSampled(
                sessions=len(self._sessions),
                partitions=self.total_partitions,
                evictions=self.evictions,
            )
        ]
