"""Which sessions live, and until when (ZooKeeper: SessionTrackerImpl.java, ExpiryQueue.java).

A session that nothing is heard of for its time-out expires. Nobody looks at sessions one by one:
time is cut into ticks, and a session lies in the bucket of the tick in which it would expire,
rounded up. Hearing of it moves it to a later bucket; when a tick is over, the whole bucket expires.

    tick 500 ms, time-out 1200 ms, heard at 10 100: 11 300 → bucket 11 500.  Heard again at 11 000:
    12 200 → bucket 12 500.

Touch is O(1), a tick O(sessions that expire). A session therefore lives up to one tick longer than
its time-out, never shorter.
"""

from typing import Final

TICK_TIME_MS: Final = 500
"""The usual tick. Sessions of 1 to 10 s suit brokers on one machine, whose
zookeeper.session.timeout.ms is 6000. ZooKeeper's sample file has 2000.
"""
MIN_TICKS: Final = 2
MAX_TICKS: Final = 20
_MASK: Final = (1 << 64) - 1


def first_session_id(server_id: int, now_ms: int) -> int:
    """Where a server's session ids begin: its id in the top byte, then five bytes of the clock,
    then two to count.

    A restarted server begins above all its old ids, without having to remember them
    (SessionTrackerImpl.initializeNextSessionId).
    """
    first = (((now_ms << 24) & _MASK) >> 8 & 0x00FF_FFFF_FFFF_FFFF) | (server_id & 0x7F) << 56
    return max(first, 1)  # 0 is no session


def password_for(session_id: int) -> bytes:
    """16 bytes that a client must show to take up its session again.

    A pure function of the id, as in ZooKeeper, so that it need not be kept: it keeps strangers out
    by accident, not by intent.
    """
    words = []
    state = (session_id ^ 0xB3415C00) & _MASK
    for _ in range(2):  # splitmix64
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        word = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _MASK
        words.append(word ^ word >> 31)
    return b"".join(word.to_bytes(8, "big") for word in words)


class Session:
    """One session: its time-out and the tick at which it expires unless it is heard of. `cnxn` is
    its connection's number, -1 without one.
    """

    __slots__ = ("cnxn", "expires_at", "id", "timeout_ms")

    def __init__(self, session_id: int, timeout_ms: int, expires_at: int) -> None:
        self.id = session_id
        self.timeout_ms = timeout_ms
        self.expires_at = expires_at
        self.cnxn = -1


class SessionTracker:
    """All live sessions in buckets by tick. `now_ms` is monotonic time. Owned by the
    ZooKeeperServer.
    """

    def __init__(self, tick_time_ms: int, now_ms: int) -> None:
        if tick_time_ms < 1:
            raise ValueError(f"a tick of {tick_time_ms} ms")
        self.tick_time_ms = tick_time_ms
        self.min_timeout_ms = MIN_TICKS * tick_time_ms
        self.max_timeout_ms = MAX_TICKS * tick_time_ms
        self.sessions: dict[int, Session] = {}
        self.next_expiration_ms = self._round(now_ms)
        """The end of the current tick: when `poll` has something to look at."""
        self._buckets: dict[int, dict[int, None]] = {}

    def negotiate(self, asked_ms: int) -> int:
        """The time-out a client gets: what it asked for, within 2 to 20 ticks."""
        return min(max(asked_ms, self.min_timeout_ms), self.max_timeout_ms)

    def add(self, session_id: int, timeout_ms: int, now_ms: int) -> Session:
        session = self.sessions[session_id] = Session(
            session_id, timeout_ms, self._round(now_ms + timeout_ms)
        )
        self._buckets.setdefault(session.expires_at, {})[session_id] = None
        return session

    def touch(self, session_id: int, now_ms: int) -> bool:
        """Something was heard of the session; False if there is none."""
        session = self.sessions.get(session_id)
        if session is None:
            return False
        expires_at = self._round(now_ms + session.timeout_ms)
        if expires_at > session.expires_at:
            self._leave_bucket(session)
            session.expires_at = expires_at
            self._buckets.setdefault(expires_at, {})[session_id] = None
        return True

    def set_timeout(self, session_id: int, timeout_ms: int, now_ms: int) -> None:
        """The client came back and negotiated anew."""
        self.sessions[session_id].timeout_ms = timeout_ms
        self.touch(session_id, now_ms)

    def remove(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            self._leave_bucket(session)

    def poll(self, now_ms: int) -> list[int]:
        """The sessions whose tick is over, oldest first; they stay tracked until they are
        removed.
        """
        expired: list[int] = []
        while now_ms >= self.next_expiration_ms:
            expired.extend(self._buckets.get(self.next_expiration_ms, ()))
            self.next_expiration_ms += self.tick_time_ms
        return expired

    def _round(self, ms: int) -> int:
        return (ms // self.tick_time_ms + 1) * self.tick_time_ms

    def _leave_bucket(self, session: Session) -> None:
        bucket = self._buckets.get(session.expires_at)
        if bucket is not None:
            bucket.pop(session.id, None)
            if not bucket:
                del self._buckets[session.expires_at]
