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
from kafka_edu.replication.partition_reads import end_for, reaches, readable_bytes
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.read_rules import ReadRules
from kafka_edu.trace.events.purgatory import Requirement

ENOUGH: Final = "bytes arrived"
HIGH_WATERMARK_MOVED: Final = "the high watermark moved, and the follower serves consumers"
LEADS_MORE: Final = "its leader leads more partitions"


class DelayedFetch(DelayedOperation):
    """A fetch that waits until at least `min_bytes` can be sent.

    A follower may read to the LEO, a consumer to the HW (with read_committed to the LSO). The sizes
    come from positions in the segment, so each partition needs only one subtraction. A partition
    that is throttled for this follower does not count.

    The fetch also completes in these cases:

    - (A) This broker no longer leads a partition.
    - (B) This broker no longer has a partition.
    - (C) The fetch offset and the end lie on different segments, because the reader is far behind
      or the log was truncated.
    - (E) The reader is fenced by its epoch.
    - The leader has become leader of more partitions of this follower (`end_for_new_partitions`).
    - Consumers may read from followers, and the HW is above the HW in this follower's last response
      (KIP-392).

    When max_wait_ms is over, the leader sends the bytes available then, without an error. On
    completion the log is read a second time.

    The fetch is watched under every partition of the request. It is also watched under its session,
    because a partition that this request does not name may change too. Listing the session's
    partitions takes about 18 ns for each, so each list is used twice. The list made on arrival also
    serves the first `try_complete`, and the list of a `try_complete` also serves the read that
    follows. Next hop: FetchApi._respond.
    """

    __slots__ = (
        "_ended_by",
        "_infos",
        "_params",
        "_partitions",
        "_respond",
        "_rules",
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
        rules: ReadRules | None = None,
    ) -> None:
        super().__init__(params.max_wait_ms)
        self._rules = rules
        self._params = params
        self._infos = infos
        self._session = session
        self._starts = {tp: read.fetch_offset_metadata for tp, read in first_read}
        self._up_to_date = session is None or session.changed <= self._starts.keys()
        """Whether `_infos` lists every partition of the session that has changed."""
        self._partitions = partitions
        self._respond = respond
        self._ended_by = ENOUGH
        """The cause that completed the fetch, in words for the trace."""

    @property
    def label(self) -> str:
        what = joined([tp for tp, _ in self._wanted()]) or "of a session"
        return f"fetch {what} for {self._reader}"

    def _wanted(self) -> FetchInfos:
        """Return the partitions to read: all partitions of the fetch, or in a session those that
        have changed by now.
        """
        if self._session is None or self._up_to_date:
            return self._infos
        return self._session.infos()

    def _start_of(
        self, topic_partition: TopicPartition, wanted: PartitionFetch
    ) -> LogOffsetMetadata | None:
        """Return where the fetch offset lies in the log's segments, as the first read found it.

        For a partition that the first read skipped, an earlier fetch of the session found the
        place.
        """
        return self._starts.get(topic_partition) or wanted.place

    @property
    def follower_id(self) -> int:
        """Return the broker id of the follower that fetches; negative for a consumer or a tool."""
        return self._params.replica_id

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Return whether the fetch or its session includes the partition. O(1) with a session."""
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
        """Complete the fetch if enough bytes can be read, or if it cannot usefully wait any longer.

        O(partitions of the request) in the worst case. The loop begins with the last partitions. A
        session keeps the partitions with the latest news at the end of its list, and these will
        most likely have news again.
        """
        if self._ended_by is not ENOUGH:
            return self.force_complete()
        params = self._params
        only_from_leader, isolation, min_bytes = (
            params.only_from_leader,
            params.isolation,
            params.min_bytes,
        )
        get_or_raise, rules = self._partitions.get_or_raise, self._rules
        tells_high_watermark = (
            self._session
            if rules is not None and rules.sends_to_followers and params.from_follower
            else None
        )
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
                partition = get_or_raise(tp)
                readable = readable_bytes(
                    partition, start, wanted.current_leader_epoch, only_from_leader, isolation
                )
            except KafkaException as failure:
                self._ended_by = ERRORS_IN_WORDS.get(failure.error, failure.error.name)
                return self.force_complete()
            if (
                readable != 0
                and rules is not None
                and reaches(partition, start)
                and rules.should_leader_throttle(partition, params.replica_id)
            ):
                continue
            if readable is None:
                self._ended_by = "another segment: far behind, or truncated"
                return self.force_complete()
            if tells_high_watermark is not None and tells_high_watermark.lacks_high_watermark(
                tp, partition.high_watermark.offset
            ):
                self._ended_by = HIGH_WATERMARK_MOVED
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
        """Read the log a second time, and respond. The follower's position was recorded when the
        fetch arrived.
        """
        self._respond(
            read_from_local_log(
                self._partitions, self._params, self._wanted(), self._session, self._rules
            )
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
                end = end_for(partition, params.isolation)
                if self._rules is not None and self._rules.leader_throttles(
                    partition, params.replica_id
                ):
                    holders.append((f"{tp}, throttled", end.message_offset))
                    continue
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
