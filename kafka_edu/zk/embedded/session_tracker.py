"""The live sessions and their expiry times (ZooKeeper: SessionTrackerImpl.java, ExpiryQueue.java).

A session expires if its client sends nothing during its time-out. The tracker never scans all
sessions. It divides time into ticks, and each tick has a bucket: the set of sessions that expire at
the tick's end. A session's expiry time is rounded up to the end of a tick. Each message from the
client moves the session to a later bucket. When a tick ends, all sessions in its bucket expire.

    tick 500 ms, time-out 1200 ms
    message at 10 100:   10 100 + 1200 = 11 300 → bucket 11 500
    message at 11 000:   11 000 + 1200 = 12 200 → bucket 12 500

A message costs O(1), and a tick costs O(sessions that expire). Because of the rounding, a session
can last up to one tick longer than its time-out, but never ends earlier.

On the way from a broker's death to the new leader, `poll` returns the id of the dead broker's
session. The next step is `ZooKeeperServer.tick` (zookeeper_server.py), which ends that session.
"""

from itertools import islice
from typing import Final

TICK_TIME_MS: Final = 500
"""The default length of a tick in ms. The shortest session is two ticks, so sessions of 1 s are
possible. This is enough for brokers on one machine, whose zookeeper.session.timeout.ms is 6000. The
tick in ZooKeeper's sample file is 2000 ms.
"""
LONGEST_SESSION_MS: Final = 60_000
"""The longest session time-out in our clusters, in ms. A broker may request a long time-out.
ZooKeeper's default limit, 20 ticks, would be only 10 s.
"""
MIN_TICKS: Final = 2
MAX_TICKS: Final = 20
_MASK: Final = (1 << 64) - 1


def first_session_id(server_id: int, now_ms: int) -> int:
    """Return the first session id of a server: one byte with the server's id, five bytes with the
    time, and two bytes for counting.

    After a restart the time is later, so new ids are above all old ids. The server does not have to
    store the ids that it has used (SessionTrackerImpl.initializeNextSessionId).
    """
    first = (((now_ms << 24) & _MASK) >> 8 & 0x00FF_FFFF_FFFF_FFFF) | (server_id & 0x7F) << 56
    return max(first, 1)  # 0 means no session


def password_for(session_id: int) -> bytes:
    """Return the 16 bytes that a client must show to resume its session.

    As in ZooKeeper, the bytes are computed from the id, so the server does not have to store them.
    They keep a client from resuming another client's session by mistake. They do not stop an
    attacker.
    """
    words = []
    state = (session_id ^ 0xB3415C00) & _MASK
    for _ in range(2):  # two steps of the generator splitmix64
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        word = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _MASK
        words.append(word ^ word >> 31)
    return b"".join(word.to_bytes(8, "big") for word in words)


class Session:
    """One session: its time-out, and the time at which it expires if no message comes.

    `cnxn` is the number of its connection, or -1 if it has no connection. `heard_at` is the time of
    the client's last message. All times are in ms.
    """

    __slots__ = ("cnxn", "expires_at", "heard_at", "id", "timeout_ms")

    def __init__(self, session_id: int, timeout_ms: int, expires_at: int, heard_at: int) -> None:
        self.id = session_id
        self.timeout_ms = timeout_ms
        self.expires_at = expires_at
        self.heard_at = heard_at
        self.cnxn = -1


class SessionTracker:
    """All live sessions, in buckets by tick. The ZooKeeperServer owns it. `now_ms` is monotonic
    time in all methods.
    """

    def __init__(self, tick_time_ms: int, now_ms: int, max_timeout_ms: int | None = None) -> None:
        """Make a tracker without sessions. `max_timeout_ms` is the longest time-out that a client
        can get (ZooKeeper: maxSessionTimeout). If it is None, the longest is 20 ticks.
        """
        if tick_time_ms < 1:
            raise ValueError(f"a tick of {tick_time_ms} ms")
        self.tick_time_ms = tick_time_ms
        self.min_timeout_ms = MIN_TICKS * tick_time_ms
        self.max_timeout_ms = MAX_TICKS * tick_time_ms if max_timeout_ms is None else max_timeout_ms
        if self.max_timeout_ms < self.min_timeout_ms:
            raise ValueError(f"sessions of {self.min_timeout_ms} to {self.max_timeout_ms} ms")
        self.sessions: dict[int, Session] = {}
        self.next_expiration_ms = self._round(now_ms)
        """The end of the current tick in ms. `poll` finds nothing before this time."""
        self._buckets: dict[int, dict[int, None]] = {}

    def negotiate(self, requested_ms: int) -> int:
        """Return the time-out that a client gets, in ms: the requested time-out, raised or lowered
        to the allowed range.
        """
        return min(max(requested_ms, self.min_timeout_ms), self.max_timeout_ms)

    def add(self, session_id: int, timeout_ms: int, now_ms: int) -> Session:
        session = self.sessions[session_id] = Session(
            session_id, timeout_ms, self._round(now_ms + timeout_ms), now_ms
        )
        self._buckets.setdefault(session.expires_at, {})[session_id] = None
        return session

    def touch(self, session_id: int, now_ms: int) -> bool:
        """Postpone the expiry of a session, because a message from its client has arrived. Return
        False if there is no such session.
        """
        session = self.sessions.get(session_id)
        if session is None:
            return False
        session.heard_at = now_ms
        expires_at = self._round(now_ms + session.timeout_ms)
        if expires_at > session.expires_at:
            self._leave_bucket(session)
            session.expires_at = expires_at
            self._buckets.setdefault(expires_at, {})[session_id] = None
        return True

    def set_timeout(self, session_id: int, timeout_ms: int, now_ms: int) -> None:
        """Change a session's time-out, because its client has reconnected and requested another
        one.
        """
        self.sessions[session_id].timeout_ms = timeout_ms
        self.touch(session_id, now_ms)

    def remove(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            self._leave_bucket(session)

    def first_to_expire(self, most: int) -> list[Session]:
        """Return the `most` sessions that expire first, or all if there are fewer. O(buckets +
        most).
        """
        ids = (
            session_id
            for expires_at in sorted(self._buckets)
            for session_id in self._buckets[expires_at]
        )
        return [self.sessions[session_id] for session_id in islice(ids, most)]

    def poll(self, now_ms: int) -> list[int]:
        """Return the ids of the sessions whose tick has ended, the earliest tick first. The
        sessions stay in the tracker until `remove`.
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
