"""Exercise 05-2 in a live ZooKeeper: a learner's SessionTracker decides when sessions expire.

The shipped tracker keeps the sessions too: the server looks up sessions and their time-outs in it.
The learner's code is notified of each new session, of each message and of each end of a session. It
says which sessions expire. A session that expires too early removes its broker from the cluster. If
an answer names a session that is not alive, that is an error in the learner's code. After that only
the shipped tracker decides, because the learner's tracker no longer knows all sessions.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.zk.embedded.session_tracker import Session, SessionTracker


class LearnerSessionTracker(SessionTracker):
    """The shipped tracker, in which the learner's code decides which sessions expire."""

    def __init__(
        self, code: LearnerCode, tick_time_ms: int, now_ms: int, max_timeout_ms: int | None = None
    ) -> None:
        super().__init__(tick_time_ms, now_ms, max_timeout_ms)
        self._code = code
        self._part = LearnerPart(code, tick_time_ms, now_ms)

    def add(self, session_id: int, timeout_ms: int, now_ms: int) -> Session:
        session = super().add(session_id, timeout_ms, now_ms)
        bucket = self._ask("add", session_id, timeout_ms, now_ms)
        if bucket is not None and type(bucket) is not int:
            self._part.fail(self._code.blame(f"add() answered {bucket!r}; expected a bucket"))
        return session

    def touch(self, session_id: int, now_ms: int) -> bool:
        alive = super().touch(session_id, now_ms)
        came = self._ask("touch", session_id, now_ms)
        if came is not None and came is not alive:
            words = "there is such a session" if alive else "there is none"
            self._part.fail(self._code.blame(f"touch({session_id}) answered {came!r}: {words}"))
        return alive

    def set_timeout(self, session_id: int, timeout_ms: int, now_ms: int) -> None:
        """Change a session's time-out. The learner's code gets this as an end and a new session."""
        self.sessions[session_id].timeout_ms = timeout_ms
        super().touch(session_id, now_ms)
        self._ask("remove", session_id)
        self._ask("add", session_id, timeout_ms, now_ms)

    def remove(self, session_id: int) -> None:
        super().remove(session_id)
        self._ask("remove", session_id)

    def poll(self, now_ms: int) -> list[int]:
        """Return the ids of the sessions that the learner's code lets expire now."""
        ours = super().poll(now_ms)
        theirs = self._ask("poll", now_ms)
        match theirs:
            case tuple(expired) if all(one in self.sessions for one in expired):
                return [int(one) for one in expired]
            case None:
                return ours
            case _:
                self._part.fail(
                    self._code.blame(f"poll({now_ms}) answered {theirs!r}, not only live sessions")
                )
                return ours

    def _ask(self, method: str, *arguments: object) -> object:
        """Return the learner's answer, or None if the learner's code is not called any more."""
        if self._part.is_out:
            return None
        try:
            return self._part.ask(method, *arguments)
        except LearnerError as error:
            self._part.fail(error)
            return None


def adapt(code: LearnerCode) -> Callable[..., SessionTracker]:
    """Return the function that replaces SessionTracker in the ZooKeeper server."""
    tracker: Callable[..., Any] = partial(LearnerSessionTracker, code)
    return tracker
