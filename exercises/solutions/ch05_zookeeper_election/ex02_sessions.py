"""Exercise 05-2: the reference solution (ZooKeeper: SessionTrackerImpl, ExpiryQueue)."""

Buckets = list[tuple[int, list[int]]]  # (bucket, its sessions)


class SessionTracker:
    """Keeps all live sessions in buckets. The sessions of a bucket expire at the same tick."""

    def __init__(self, tick_ms: int, now_ms: int) -> None:
        """Begin without sessions, at the time `now_ms`."""
        self.tick_ms = tick_ms
        self.next_end = self.rounded(now_ms)
        self.timeouts: dict[int, int] = {}
        self.bucket_of: dict[int, int] = {}
        self.in_bucket: dict[int, dict[int, None]] = {}

    def rounded(self, ms: int) -> int:
        """Return the end (in ms) of the tick in which the moment `ms` lies."""
        return (ms // self.tick_ms + 1) * self.tick_ms

    def add(self, session: int, timeout_ms: int, now_ms: int) -> int:
        """Add a new session. Return the time in ms at which its bucket expires."""
        self.timeouts[session] = timeout_ms
        return self.put(session, self.rounded(now_ms + timeout_ms))

    def put(self, session: int, bucket: int) -> int:
        """Put a session into a bucket, and return the bucket."""
        self.bucket_of[session] = bucket
        self.in_bucket.setdefault(bucket, {})[session] = None
        return bucket

    def take(self, session: int) -> None:
        """Take a session out of its bucket."""
        bucket = self.bucket_of.pop(session)
        del self.in_bucket[bucket][session]
        if not self.in_bucket[bucket]:
            del self.in_bucket[bucket]

    def touch(self, session: int, now_ms: int) -> bool:
        """Start the session's time-out again. Return False if there is no such session."""
        if session not in self.timeouts:
            return False
        bucket = self.rounded(now_ms + self.timeouts[session])
        if bucket > self.bucket_of[session]:
            self.take(session)
            self.put(session, bucket)
        return True

    def remove(self, session: int) -> None:
        """Remove a session, if there is one with this id."""
        if session in self.timeouts:
            del self.timeouts[session]
            self.take(session)

    def poll(self, now_ms: int) -> list[int]:
        """Remove the sessions whose tick has ended, and return them, the oldest tick first."""
        expired: list[int] = []
        while self.next_end <= now_ms:
            expired += self.in_bucket.get(self.next_end, ())
            self.next_end += self.tick_ms
        for session in expired:
            self.remove(session)
        return expired

    def buckets(self) -> Buckets:
        """Return a (bucket, sessions) for each bucket that is not empty, the earliest first."""
        return [(bucket, list(self.in_bucket[bucket])) for bucket in sorted(self.in_bucket)]
