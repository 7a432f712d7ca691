"""The waiting requests of one partition (Kafka: DelayedOperations in Partition.scala).

A Partition calls the methods of DelayedOperations when its log end, its high watermark or its role
has changed. Next hop: the purgatories, which then check the requests that wait for this partition.
"""

from collections.abc import Hashable
from typing import Final, Protocol

from kafka_edu.common.topic_partition import TopicPartition

_FEW: Final = 8
"""A partition removes closed sessions from its list when the list is longer than this number."""


class WaitingSession(Protocol):
    """The methods of a fetch session that a partition calls."""

    @property
    def key(self) -> str:
        """The key in the purgatory under which the session's fetches wait."""
        ...

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Return whether the session is open and still holds this partition."""
        ...

    def note_change(self, topic_partition: TopicPartition) -> None:
        """Record that this partition has changed since the session last listed its changes."""
        ...


class Wakes(Protocol):
    """The one method of a purgatory that a partition calls."""

    def check_and_complete(self, key: Hashable) -> int:
        """Try to complete the operations that wait for `key`. Returns how many completed."""
        ...


class DelayedOperations:
    """Wake the requests that wait for one partition.

    A produce waits for a higher HW, a consumer's fetch for a higher HW, a follower's fetch for a
    higher LEO, and a DeleteRecords for a higher low watermark.

    A fetch of a session waits under the session's key, because waiting under the keys of a thousand
    partitions would take too long. Each partition keeps a list of the sessions that have read it to
    its end, and wakes their fetches.
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
        """Wake the fetches of `session` at each change, until the session ends or drops the
        partition.

        O(1).
        """
        if session not in self.sessions:
            if len(self.sessions) >= _FEW:
                self._remove_ended()
            self.sessions[session] = None

    def _remove_ended(self) -> None:
        tp = self._topic_partition
        self.sessions = {session: None for session in self.sessions if session.reads(tp)}

    def wake_sessions(self) -> None:
        """Make the waiting fetches of all sessions check again. O(sessions)."""
        for session in list(self.sessions):
            if session.reads(self._topic_partition):
                session.note_change(self._topic_partition)
                self._fetch.check_and_complete(session.key)
            else:
                self.sessions.pop(session, None)

    def check_and_complete_fetch(self) -> None:
        """Wake waiting fetches because the log end has moved: there are new records for
        followers.
        """
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_sessions()

    def check_and_complete_all(self) -> None:
        """Wake all waiting requests because the high watermark or the leadership has changed."""
        self._fetch.check_and_complete(self._topic_partition)
        self.wake_sessions()
        self._produce.check_and_complete(self._topic_partition)
        self._delete_records.check_and_complete(self._topic_partition)

    def check_and_complete_delete_records(self) -> None:
        """Wake waiting DeleteRecords requests because the log start of a follower has moved."""
        self._delete_records.check_and_complete(self._topic_partition)
