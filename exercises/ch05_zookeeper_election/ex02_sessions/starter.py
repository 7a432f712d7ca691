"""Exercise 05-2: let sessions expire in buckets. README.md describes the task.
`kafka-edu lab check 05-2` tests your code. `kafka-edu lab hint 05-2` gives a hint.
"""

Buckets = list[tuple[int, list[int]]]  # (bucket, its sessions)


class SessionTracker:
    """All live sessions, in buckets by tick."""

    def __init__(self, tick_ms: int, now_ms: int) -> None:
        """There are no sessions yet."""
        self.tick_ms = tick_ms
        self.now_ms = now_ms

    def add(self, session: int, timeout_ms: int, now_ms: int) -> int:
        """Add a new session, and return its bucket."""
        raise NotImplementedError("SessionTracker.add is not written yet: it returns a bucket")

    def touch(self, session: int, now_ms: int) -> bool:
        """Let the session's time-out start again. Return False if there is no such session."""
        raise NotImplementedError(
            "SessionTracker.touch is not written yet: it returns True or False"
        )

    def remove(self, session: int) -> None:
        """Forget a session."""
        raise NotImplementedError("SessionTracker.remove is not written yet: it returns None")

    def poll(self, now_ms: int) -> list[int]:
        """Return the sessions whose tick has ended, the oldest tick first, and forget them."""
        raise NotImplementedError("SessionTracker.poll is not written yet: it returns sessions")

    def buckets(self) -> Buckets:
        """Return a (bucket, sessions) for each bucket that is not empty, the earliest first."""
        raise NotImplementedError("SessionTracker.buckets is not written yet: it returns a list")
