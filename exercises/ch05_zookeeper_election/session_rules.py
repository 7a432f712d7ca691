"""Compute the right answers of exercise 05-2 with the embedded ZooKeeper's session tracker."""

from collections.abc import Iterable

from kafka_edu.zk.embedded.session_tracker import SessionTracker


class RightTracker:
    """The reference for the learner's SessionTracker. It gives the right answers."""

    def __init__(self, tick_ms: int, now_ms: int) -> None:
        self._tracker = SessionTracker(tick_ms, now_ms)

    def add(self, session: int, timeout_ms: int, now_ms: int) -> int:
        return self._tracker.add(session, timeout_ms, now_ms).expires_at

    def touch(self, session: int, now_ms: int) -> bool:
        return self._tracker.touch(session, now_ms)

    def remove(self, session: int) -> None:
        self._tracker.remove(session)

    def poll(self, now_ms: int) -> tuple[int, ...]:
        expired = tuple(self._tracker.poll(now_ms))
        for session in expired:
            self._tracker.remove(session)
        return expired

    def buckets(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        found: dict[int, list[int]] = {}
        for session in self._by_expiry():
            found.setdefault(self._tracker.sessions[session].expires_at, []).append(session)
        return tuple((bucket, tuple(sessions)) for bucket, sessions in found.items())

    @property
    def sessions(self) -> Iterable[int]:
        """The ids of the live sessions."""
        return self._tracker.sessions

    def _by_expiry(self) -> list[int]:
        return [one.id for one in self._tracker.first_to_expire(len(self._tracker.sessions))]
