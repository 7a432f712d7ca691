"""A reader of a session that found nothing new, and so need not be looked at until something
changes.

A follower fetches all its partitions of one leader in one session, and most of them are idle most
of the time: of the 50 partitions of `__consumer_offsets` all but a few. Kafka reads each of them in
every fetch, which costs the JVM little. Here the first read that ends at the log's end leaves a
note of what it saw; as long as the note holds, the next fetches take its result as theirs: a few
comparisons in place of a read. The values are compared, not announced, so no door of the partition
can forget to tell.

In a session of hundreds of partitions even the comparing is most of the work: a thousand notes are
a millisecond or two, for one record that is new. There a reader may *rest*: the partition keeps its
note, as ZooKeeper keeps a watch, and wakes it once, at the doors that wake waiting fetches anyway
(`DelayedOperations`). What moves without passing them is seen when all are looked at again
(`FetchSession`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_edu.replication.log_read_result import LogReadResult

if TYPE_CHECKING:
    from kafka_edu.log.log import Log
    from kafka_edu.replication.fetch_session import FetchSession
    from kafka_edu.replication.partition import Partition
    from kafka_edu.replication.replica import Replica


class ReaderAtEnd:
    """What the reader saw. Made by `local_reads`, kept with what the reader wants
    (PartitionFetch).
    """

    __slots__ = ("_follower", "_leader_epoch", "_log", "_partition", "_session", "counted", "read")

    def __init__(
        self, partition: Partition, log: Log, read: LogReadResult, follower: Replica | None
    ) -> None:
        """`follower`: the reader, if it is one."""
        self._partition = partition
        self._log = log
        self._leader_epoch = partition.leader_epoch
        self._follower = follower
        self.read = read
        """Without records; one object, the result of every fetch for which the note holds."""
        self.counted = False
        """Whether the partition has learned from a fetch that its follower is here
        (`update_follower_fetch_state`).
        """
        self._session: FetchSession | None = None

    def holds(self) -> bool:
        """Whether a read would give the same again. A follower must be in the ISR too: one that is
        not may join by any fetch. O(1).
        """
        partition, log, read, follower = self._partition, self._log, self.read, self._follower
        return (
            log.log_end_offset == read.log_end_offset
            and partition.high_watermark.message_offset == read.high_watermark
            and log.last_stable_offset == read.last_stable_offset
            and log.log_start_offset == read.log_start_offset
            and partition.log is log
            and partition.leader_epoch == self._leader_epoch
            and (follower is None or follower.broker_id in partition.isr_state.expected)
        )

    def fetched_again(self, now_ms: int) -> None:
        """The reader has fetched, and the note holds: a follower has caught up by it, as by any
        fetch from the end.
        """
        if self._follower is not None:
            self._follower.fetched_from_end(now_ms)

    @property
    def rests(self) -> bool:
        """Whether a session leaves it to the partition to wake this reader."""
        return self._session is not None and not self._session.closed

    def rest(self, session: FetchSession) -> bool:
        """Have the session woken by the partition's next change; False if the reader must be looked
        at: the note does not hold, or the partition does not know yet that its follower is here.
        """
        if not self.holds() or (self._follower is not None and not self.counted):
            return False
        if self._session is None:
            self._session = session
            self._partition.let_rest(self)
        return True

    def wake(self) -> str:
        """The partition has changed: the session's next fetch, or the one that waits, looks at it.
        Returns that one's key in the purgatory.
        """
        session, self._session = self._session, None
        if session is None:
            return ""
        session.wake(self._partition.topic_partition)
        return session.key
