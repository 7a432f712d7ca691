"""Events of logs: segments that come and go, recovery, truncation (spec S1–S5). `position` and
sizes are bytes, offsets are record offsets.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


class SegmentState(NamedTuple):
    """One segment of a log at one moment."""

    base_offset: int
    size: int
    index_entries: int
    """Entries of the offset index."""
    time_index_entries: int


@event()
class LogCreated(NamedTuple):
    """A new, empty log; its folder was made."""

    topic: str
    partition: int
    log_dir: str


@event()
class LogRecovered(NamedTuple):
    """The broker had not been stopped cleanly: everything from the recovery point on was read and
    checked, and what was torn was cut off.
    """

    topic: str
    partition: int
    recovery_point: int
    segments: int
    """How many segments were read again, because of the recovery point or a bad index."""
    truncated_bytes: int
    log_end_offset: int
    reason: str
    """Why something was cut off, or why an index was built again; empty if all was well."""


@event()
class LogRepaired(NamedTuple):
    """A file of a log was damaged, and the broker repaired it before it used it. What a replica
    lost so comes again from the leader; with one replica it is lost.
    """

    topic: str
    partition: int
    log_dir: str
    what: str
    """tail cut off, segment dropped, segment renamed, records missing, index built again, snapshot
    removed, or leader epochs built again."""
    file: str
    """The damaged file, by its name in the log's folder."""
    reason: str
    """What was found."""
    bytes: int
    """Bytes of batches that were cut off or dropped."""
    from_offset: int
    """The first offset that is concerned: the end of the log after a cut; -1: none is."""
    to_offset: int
    """The offset behind the last one that is concerned; -1 if it is not known."""


@event()
class CheckpointUnreadable(NamedTuple):
    """A checkpoint of a log dir could not be read at the start, and was left out of account."""

    log_dir: str
    file: str
    reason: str


@event(kind=Kind.SNAPSHOT)
class RepairsFound(NamedTuple):
    """What this broker has repaired in its logs since it was started."""

    logs: int
    """Logs with at least one repair."""
    repairs: int
    bytes: int
    """Bytes of batches that were cut off or dropped."""
    summary: str
    """One sentence; empty if nothing was repaired."""
    last: tuple[str, ...]
    """The last repairs, in words, the oldest first."""
    stuck: tuple[str, ...]
    """Followers that cannot follow, in words, with what to do."""


@event()
class LogLoaded(NamedTuple):
    """A log was found on disk and is ready."""

    topic: str
    partition: int
    log_dir: str
    log_start_offset: int
    log_end_offset: int
    segments: int
    size: int
    producers: int
    clean: bool
    """The broker had been stopped cleanly, so nothing was read again."""


@event()
class SegmentRolled(NamedTuple):
    """The active segment was closed, and a new one begun at `base_offset`."""

    topic: str
    partition: int
    base_offset: int
    reason: str
    """size, time, index full, offset range; or why else."""
    closed_base_offset: int
    closed_bytes: int


@event()
class SegmentDeleted(NamedTuple):
    """A segment left the log. Its files get the suffix `.deleted`, and are removed after
    file.delete.delay.ms.
    """

    topic: str
    partition: int
    base_offset: int
    size: int
    reason: str


@event()
class SegmentsCleaned(NamedTuple):
    """Compaction made one segment of neighbouring ones. It has the first one's base offset."""

    topic: str
    partition: int
    base_offset: int
    segments: int
    bytes_before: int
    bytes_after: int
    records_before: int
    superseded: int
    """Records that are gone because a later one has the same key."""
    tombstones: int
    """Gone, because delete.retention.ms is over."""
    aborted: int
    """Gone with their aborted transaction."""
    markers: int
    """Gone, because nothing is left of their transaction."""
    without_key: int
    """Gone, because a compacted topic has no use for them."""


@event()
class LogCleaned(NamedTuple):
    """A pass of compaction over a log has ended. Below `to_offset` the log is clean."""

    topic: str
    partition: int
    from_offset: int
    """Where the dirty part began."""
    to_offset: int
    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int
    keys: int
    """The keys of the dirty part."""
    took_ms: int


@event()
class LogNotCleanable(NamedTuple):
    """Compaction has met a batch that it cannot read. It leaves the log alone until the broker
    starts again.
    """

    topic: str
    partition: int
    reason: str


@event()
class SegmentFilesRemoved(NamedTuple):
    """The files of a deleted segment are gone from the disk."""

    topic: str
    partition: int
    base_offset: int


@event()
class LogTruncated(NamedTuple):
    """The end of the log was cut off: a follower had what its leader does not have."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    bytes: int
    fully: bool
    """All was dropped, and the log begins again at `to_offset`."""


@event()
class LogStartOffsetIncremented(NamedTuple):
    """Records below the new start can no longer be read: deleted by retention, by DeleteRecords, or
    because the leader's are.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int


@event()
class LeaderEpochAssigned(NamedTuple):
    """The log learnt with which offset a leader's epoch begins."""

    topic: str
    partition: int
    leader_epoch: int
    start_offset: int


@event()
class LogFlushed(NamedTuple):
    """The log was forced to the disk up to `recovery_point`: after a power failure nothing below it
    needs to be read again.
    """

    topic: str
    partition: int
    recovery_point: int


@event()
class DuplicateBatch(NamedTuple):
    """A producer sent a batch again; it was answered with the offsets of the first copy, and not
    written.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    first_offset: int


@event()
class ProducersExpired(NamedTuple):
    """Producers that have not written for long were forgotten."""

    topic: str
    partition: int
    producer_ids: tuple[int, ...]


@event()
class LogDeleted(NamedTuple):
    """A log was given up; its folder was renamed and will be removed."""

    topic: str
    partition: int
    folder: str


@event()
class LogDirLocked(NamedTuple):
    """The broker holds the lock of a log dir: no other broker can use that dir until this one
    ends.
    """

    log_dir: str


@event()
class LogDirFailed(NamedTuple):
    """The disk below a log dir failed; its logs are offline, those in other dirs are not."""

    log_dir: str
    reason: str


@event()
class CheckpointWritten(NamedTuple):
    """Offsets of all logs in a dir were written: recovery-point or log-start-offset checkpoint."""

    log_dir: str
    file: str
    entries: int


@event(level=Level.HOPS)
class BatchValidated(NamedTuple):
    """Hop: the log validator took a producer's batch. `rebuilt`: it had to be converted or
    compressed again. Next: SegmentAppended.
    """

    topic: str
    partition: int
    records: int
    size: int
    rebuilt: bool


@event(level=Level.HOPS)
class SegmentAppended(NamedTuple):
    """Hop: batches were written to the active segment. `indexed`: an index entry was added. Next:
    the HW moves, or a follower fetches.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    segment_base_offset: int
    position: int
    size: int
    indexed: bool


@event(level=Level.HOPS)
class SegmentRead(NamedTuple):
    """Hop: a piece of a segment was found for a reader; its bytes were not read, the socket takes
    them from the file.
    """

    topic: str
    partition: int
    start_offset: int
    segment_base_offset: int
    position: int
    size: int


@event(kind=Kind.SNAPSHOT)
class LogState(NamedTuple):
    """One log as it stands: its segments, and its leader epochs as (epoch, start offset)."""

    topic: str
    partition: int
    log_dir: str
    log_start_offset: int
    recovery_point: int
    log_end_offset: int
    segments: tuple[SegmentState, ...]
    leader_epochs: tuple[tuple[int, int], ...]
    producers: int


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class ActiveSegment(NamedTuple):
    """A log that has grown since the last sample: its end, and its active segment."""

    topic: str
    partition: int
    log_end_offset: int
    segment: SegmentState
