"""A fetch that waits until there is enough to send (Kafka: DelayedFetch.scala; book 000 §6.3,
figure 6-13).
"""

from collections.abc import Callable, Hashable
from typing import ClassVar, Final

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.replication.delayed_produce import ERRORS_IN_WORDS
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams, PartitionFetch
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.replication.local_reads import read_from_local_log
from kafka_edu.replication.log_read_result import FetchResults
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.events.purgatory import Requirement

ENOUGH: Final = "bytes arrived"
LEADS_MORE: Final = "its leader leads more partitions"


class DelayedFetch(DelayedOperation):
    """A fetch that waits until at least `min_bytes` can be sent.

    The bytes are counted without reading: from each fetch offset to the end that the reader may
    see. That end is the LEO for a follower, the HW for a consumer, and the LSO with read_committed.
    Each segment knows the byte position of these offsets, so one partition costs one subtraction.

    The fetch also ends when one of its partitions (A) is no longer led by this broker, (B) is
    unknown by now, (C) has its fetch offset on another segment than its end, because the reader is
    far behind or the log was truncated, or (E) has a new leader epoch. A follower's fetch also ends
    when its leader becomes leader of more of that follower's partitions (`end_for_new_partitions`).
    When `max_wait_ms` is over, the fetch sends the records that there are; this is no error. On
    completion the log is read a second time.

    The fetch is watched under each of its partitions, and under its session, because a partition
    that the session has left out may change too. Listing a session's changed partitions costs some
    18 ns a partition, so each list is used twice: the list made on arrival also serves the first
    `try_complete`, and the list of a `try_complete` also serves the read after it. Next hop:
    FetchApi._respond.
    """

    __slots__ = (
        "_ended_by",
        "_infos",
        "_params",
        "_partitions",
        "_respond",
        "_session",
        "_starts",
        "_up_to_date",
    )

    patient: ClassVar[bool] = True

    def __init__(
        self,
        params: FetchParams,
        infos: FetchInfos,
        first_read: FetchResults,
        partitions: Partitions,
        respond: Callable[[FetchResults], None],
        session: FetchSession | None = None,
    ) -> None:
        super().__init__(params.max_wait_ms)
        self._params = params
        self._infos = infos
        self._session = session
        self._starts = {tp: read.fetch_offset_metadata for tp, read in first_read}
        self._up_to_date = session is None or session.changed <= self._starts.keys()
        """Whether `_infos` lists every partition of the session that has changed."""
        self._partitions = partitions
        self._respond = respond
        self._ended_by = ENOUGH
        """What completed the fetch, in words for the trace."""

    @property
    def label(self) -> str:
        what = joined([tp for tp, _ in self._wanted()]) or "of a session"
        return f"fetch {what} for {self._reader}"

    def _wanted(self) -> FetchInfos:
        """Return the partitions of the fetch; in a session, those that have changed by now."""
        if self._session is None or self._up_to_date:
            return self._infos
        return self._session.infos()

    def _start_of(
        self, topic_partition: TopicPartition, wanted: PartitionFetch
    ) -> LogOffsetMetadata | None:
        """Return the place of the fetch offset in the segments, as the first read found it.

        If the session had left out the partition, an earlier fetch found the place.
        """
        return self._starts.get(topic_partition) or wanted.place

    @property
    def follower_id(self) -> int:
        """Return the broker id of the follower that fetches; negative for a consumer or a tool."""
        return self._params.replica_id

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Return whether the fetch or its session names the partition. O(1) with a session."""
        if self._session is not None:
            return self._session.reads(topic_partition)
        return any(tp == topic_partition for tp, _ in self._infos)

    def end_for_new_partitions(self) -> None:
        """Make the next `try_complete` complete the fetch. The follower's next fetch can then name
        the partitions that this leader newly leads.
        """
        self._ended_by = LEADS_MORE

    @property
    def _reader(self) -> str:
        return f"follower {self._params.replica_id}" if self._params.from_follower else "a consumer"

    def try_complete(self) -> bool:
        """Complete the fetch if enough bytes can be read, or if waiting is of no use any more.

        O(partitions of the request) in the worst case. It looks at the last partitions first. A
        session keeps the partitions that had news most recently at its end, and these will most
        likely have news again.
        """
        if self._ended_by is not ENOUGH:
            return self.force_complete()
        params = self._params
        only_from_leader, isolation, min_bytes = (
            params.only_from_leader,
            params.isolation,
            params.min_bytes,
        )
        get_or_raise = self._partitions.get_or_raise
        available = 0
        self._infos = self._wanted()
        self._up_to_date = True
        for tp, wanted in reversed(self._infos):
            start = self._start_of(tp, wanted)
            if (
                start is None
                # another fetch of the session has changed its partitions, so this fetch must be
                # answered
            ):
                self._ended_by = "the fetch session changed"
                return self.force_complete()
            try:
                readable = get_or_raise(tp).readable_bytes(
                    start, wanted.current_leader_epoch, only_from_leader, isolation
                )
            except KafkaException as failure:
                self._ended_by = ERRORS_IN_WORDS.get(failure.error, failure.error.name)
                return self.force_complete()
            if readable is None:
                self._ended_by = "another segment: far behind, or truncated"
                return self.force_complete()
            if readable:
                available += min(readable, wanted.max_bytes)
                if available >= min_bytes:
                    return self.force_complete()
        if available >= min_bytes:
            return self.force_complete()
        self._up_to_date = False
        return False

    def on_complete(self) -> None:
        """Read the log a second time, and respond. The follower's position was recorded on
        arrival.
        """
        self._respond(
            read_from_local_log(self._partitions, self._params, self._wanted(), self._session)
        )

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return in words why the wait ended: enough bytes, a time-out, an error or another
        change.
        """
        if by is CompletedBy.TIMEOUT:
            return f"time-out, {self._reader}"
        if by is CompletedBy.FORCED or self._ended_by is not ENOUGH:
            return by.value if by is CompletedBy.FORCED else self._ended_by
        return f"bytes for {self._reader}"

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return how many bytes the fetch waits for, and the end up to which it may read each
        partition (spec D3).
        """
        params = self._params
        holders = []
        available = 0
        for tp, wanted in self._wanted():
            partition = self._partitions.get(tp)
            start = self._start_of(tp, wanted)
            if partition is not None and partition.log is not None and start is not None:
                end = partition.end_for(params.isolation)
                holders.append((str(tp), end.message_offset))
                if start.message_offset < end.message_offset and not start.on_older_segment(end):
                    available += min(end.position_diff(start), wanted.max_bytes)
        return (
            Requirement(
                self._reader,
                f"bytes up to the {params.isolation}",
                params.min_bytes,
                available,
                tuple(holders),
            ),
        )
