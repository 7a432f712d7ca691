"""Exercise 05-2: let sessions expire in buckets. README.md describes the task.
`kafka-edu lab check 05-2` tests your code. `kafka-edu lab hint 05-2` gives a hint.
"""

Buckets = list[tuple[int, list[int]]]  # (bucket, its sessions)


class SessionTracker:
    """Keeps all live sessions in buckets, one bucket for each tick at which sessions can end."""

    def __init__(self, tick_ms: int, now_ms: int) -> None:
        """`tick_ms` is the length of a tick, `now_ms` the current time. There is no session yet."""
        self.tick_ms = tick_ms
        self.now_ms = now_ms

    def add(self, session: int, timeout_ms: int, now_ms: int) -> int:
        """Add a new session. Return its bucket: the time in ms at which it can end."""
        raise NotImplementedError("SessionTracker.add is not written yet: it returns a bucket")

    def touch(self, session: int, now_ms: int) -> bool:
        """A message of the session's client came: start the session's time-out again. Return False
        if there is no such session.
        """
        raise NotImplementedError(
            "SessionTracker.touch is not written yet: it returns True or False"
        )

    def remove(self, session: int) -> None:
        """Forget this session. An unknown session does no harm."""
        raise NotImplementedError("SessionTracker.remove is not written yet: it returns None")

    def poll(self, now_ms: int) -> list[int]:
        """Forget the sessions whose tick has ended, and return them, the oldest tick first."""
        raise NotImplementedError("SessionTracker.poll is not written yet: it returns sessions")

    def buckets(self) -> Buckets:
        """Return (bucket, its sessions) for each bucket that is not empty, the earliest first."""
        raise NotImplementedError("SessionTracker.buckets is not written yet: it returns a list")
