"""The operations that wait for one partition (Kafka: DelayedOperations in Partition.scala).

Partition calls it when its log end, its high watermark or its role has changed. Next hop: the
purgatories, which look at the operations that wait under that key.
"""

from collections.abc import Hashable
from typing import Final, Protocol

from kafka_edu.common.topic_partition import TopicPartition

_FEW: Final = 8
"""Number of sessions above which those that have ended are removed."""


class WaitingSession(Protocol):
    """The part of a fetch session that a partition needs."""

    @property
    def key(self) -> str:
        """The key in the purgatory under which its fetches wait."""
        ...

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Return whether the session is open and still holds this partition."""
        ...

    def note_change(self, topic_partition: TopicPartition) -> None:
        """Note that this partition has changed since the session was looked through."""
        ...


class Wakes(Protocol):
    """The method of a purgatory that a partition calls to complete waiting operations."""

    def check_and_complete(self, key: Hashable) -> int:
        """Try to complete the operations that wait for `key`. Returns how many completed."""
        ...


class DelayedOperations:
    """Wakes the operations that wait for one partition: produce by a higher HW; fetch by a higher
    HW (consumers) or LEO (followers); DeleteRecords by a higher low watermark.

    A fetch of a session waits under the session's key, because it would cost too much to watch it
    under a thousand partitions. Each partition knows the sessions that have read it to its end.
    """

    __slots__ = ("_delete_records", "_fetch", "_produce", "_topic_partition", "sessions")

    def __init__(
        self, topic_partition: TopicPartition, produce: Wakes, fetch: Wakes, delete_records: Wakes
    ) -> None:
        self._topic_partition = topic_partition
        self._produce = produce
        self._fetch = fetch
        self._delete_records = delete_records
        self.sessions: dict[WaitingSession, None] = {}

    def add_session(self, session: WaitingSession) -> None:
        """Wake fetches of `session` from now on, until it ends or forgets the partition. O(1)."""
        if session not in self.sessions:
            if len(self.sessions) >= _FEW:
                self._remove_ended()
            self.sessions[session] = None

    def _remove_ended(self) -> None:
        tp = self._topic_partition
        self.sessions = {session: None for session in self.sessions if session.reads(tp)}

    def wake_sessions(self) -> None:
        """Let the fetches of sessions look again. O(sessions)."""
        for session in list(self.sessions):
            if session.reads(self._topic_partition):
                session.note_change(self._topic_partition)
                self._fetch.check_and_complete(session.key)
            else:
                self.sessions.pop(session, None)

    def check_and_complete_fetch(self) -> None:
        """The log end has moved: followers may have something to read."""
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_sessions()

    def check_and_complete_all(self) -> None:
        """The high watermark or the leadership has moved."""
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_sessions()
        self._produce.check_and_complete(self._topic_partition)
        self._delete_records.check_and_complete(self._topic_partition)

    def check_and_complete_delete_records(self) -> None:
        """A follower's log starts later than before."""
        self._delete_records.check_and_complete(self._topic_partition)
