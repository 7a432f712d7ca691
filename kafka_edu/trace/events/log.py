"""Events of logs: new and removed segments, recovery, truncation, compaction (spec S1–S5).
`position` and all sizes are in bytes. Offsets are record offsets.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


class SegmentState(NamedTuple):
    """One segment of a log at one moment. Events have this value as a field."""

    base_offset: int
    size: int
    index_entries: int
    """The number of entries in the segment's offset index."""
    time_index_entries: int


@event()
class LogCreated(NamedTuple):
    """The broker created a new, empty log and its folder."""

    topic: str
    partition: int
    log_dir: str


@event()
class LogRecovered(NamedTuple):
    """The broker recovered a log, because the broker had not been stopped cleanly. It read and
    checked everything after the recovery point, and cut off incomplete batches at the end.
    """

    topic: str
    partition: int
    recovery_point: int
    segments: int
    """How many segments were read again, because they are after the recovery point or have a bad
    index.
    """
    truncated_bytes: int
    log_end_offset: int
    reason: str
    """Why batches were cut off, or why an index was rebuilt. Empty if the log was in order."""


@event()
class LogRepaired(NamedTuple):
    """The broker found a damaged file of a log and repaired it before using it. If records were
    lost, the replica fetches them again from its leader. Without another replica, they are lost for
    good.
    """

    topic: str
    partition: int
    log_dir: str
    what: str
    """tail cut off, segment dropped, segment renamed, records missing, index built again, snapshot
    removed, or leader epochs built again."""
    file: str
    """The name of the damaged file in the log's folder."""
    reason: str
    """The fault of the file."""
    bytes: int
    """The size of the batches that were cut off or dropped, in bytes."""
    from_offset: int
    """The first offset that was lost. After a cut, this is the log's new end. -1 if no offset was
    lost.
    """
    to_offset: int
    """The offset after the last lost offset, or -1 if it is unknown."""


@event()
class CheckpointUnreadable(NamedTuple):
    """At its start the broker could not read a checkpoint file of a log dir. It continues without
    this file.
    """

    log_dir: str
    file: str
    reason: str


@event(kind=Kind.SNAPSHOT)
class RepairsFound(NamedTuple):
    """A summary of all repairs that this broker has made in its logs since its start."""

    logs: int
    """The number of logs with at least one repair."""
    repairs: int
    bytes: int
    """The size of all batches that were cut off or dropped, in bytes."""
    summary: str
    """All repairs in one sentence. Empty if nothing was repaired."""
    last: tuple[str, ...]
    """Descriptions of the last repairs, the oldest first."""
    stuck: tuple[str, ...]
    """Descriptions of the followers that cannot follow their leaders, each with advice for the
    user.
    """


@event()
class LogLoaded(NamedTuple):
    """The broker found a log on disk and loaded it."""

    topic: str
    partition: int
    log_dir: str
    log_start_offset: int
    log_end_offset: int
    segments: int
    size: int
    producers: int
    clean: bool
    """Whether the broker had been stopped cleanly. Then no segment had to be read again."""


@event()
class SegmentRolled(NamedTuple):
    """The active segment was closed, and a new segment was begun at `base_offset`."""

    topic: str
    partition: int
    base_offset: int
    reason: str
    """Why: `size`, `time`, `index full`, `offset range`, or another reason in words."""
    closed_base_offset: int
    closed_bytes: int


@event()
class SegmentDeleted(NamedTuple):
    """A segment was removed from its log. Its files get the suffix `.deleted`, and are deleted
    after file.delete.delay.ms.
    """

    topic: str
    partition: int
    base_offset: int
    size: int
    reason: str


@event()
class CleaningStarted(NamedTuple):
    """A cleaner thread begins to compact a log. It has chosen the log with the largest share of
    dirty bytes. Next: SegmentsCleaned and LogCleaned, or CleaningGivenUp.
    """

    topic: str
    partition: int
    from_offset: int
    """The first offset that is not compacted yet (dirty)."""
    to_offset: int
    """The first offset that may not be compacted yet."""
    segments: int
    """The number of segments that the cleaner will read, clean segments included."""
    clean_bytes: int
    dirty_bytes: int


@event()
class CleaningGivenUp(NamedTuple):
    """The cleaner stopped compacting a log without a result. The log keeps its old segments, and
    the cleaner tries again later.
    """

    topic: str
    partition: int
    reason: str


@event()
class SegmentsCleaned(NamedTuple):
    """The cleaner has compacted several neighbouring segments into one. The new segment has the
    base offset of the first one.
    """

    topic: str
    partition: int
    base_offset: int
    segments: int
    bytes_before: int
    bytes_after: int
    records_before: int
    superseded: int
    """The number of records that were removed because a later record has the same key."""
    tombstones: int
    """The number of tombstones that were removed because delete.retention.ms has passed."""
    aborted: int
    """The number of records that were removed because their transaction was aborted."""
    markers: int
    """The number of transaction markers that were removed because no record of their transaction is
    left.
    """
    without_key: int
    """The number of records that were removed because they have no key, which a compacted topic
    requires.
    """


@event()
class LogCleaned(NamedTuple):
    """The cleaner has finished compacting a log. All records below `to_offset` are clean."""

    topic: str
    partition: int
    from_offset: int
    """The offset at which the dirty part began."""
    to_offset: int
    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int
    keys: int
    """The number of different keys in the dirty part."""
    took_ms: int


@event()
class LogNotCleanable(NamedTuple):
    """The cleaner found a batch that it cannot read. It does not compact this log again until the
    broker is restarted.
    """

    topic: str
    partition: int
    reason: str


@event()
class SegmentFilesRemoved(NamedTuple):
    """The files of a deleted segment were removed from the disk."""

    topic: str
    partition: int
    base_offset: int


@event()
class LogTruncated(NamedTuple):
    """A follower cut off the end of its log, because its leader does not have these records."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    bytes: int
    fully: bool
    """Whether all records were dropped. The log then begins again at `to_offset`."""


@event()
class LogStartOffsetIncremented(NamedTuple):
    """The log's start offset was raised. Records below it can no longer be read: they were deleted
    by retention or by DeleteRecords, or the leader's log starts at this offset.
    """

    topic: str
    partition: int
    from_offset: int
    to_offset: int


@event()
class LeaderEpochAssigned(NamedTuple):
    """The log has stored the offset with which a leader's epoch begins."""

    topic: str
    partition: int
    leader_epoch: int
    start_offset: int


@event()
class LogFlushed(NamedTuple):
    """The log was forced to disk up to `recovery_point`. After a power failure, the part below this
    offset does not have to be read again.
    """

    topic: str
    partition: int
    recovery_point: int


@event()
class DuplicateBatch(NamedTuple):
    """A producer sent a batch a second time. The broker did not write it again, and answered with
    the offsets of the first copy.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    first_offset: int


@event()
class ProducersExpired(NamedTuple):
    """The log dropped its state of producers that have not written for a long time."""

    topic: str
    partition: int
    producer_ids: tuple[int, ...]


@event()
class LogDeleted(NamedTuple):
    """A log was deleted. Its folder was renamed, and will be removed later."""

    topic: str
    partition: int
    folder: str


@event()
class LogDirLocked(NamedTuple):
    """The broker locked a log dir. No other broker can use this dir until this broker ends."""

    log_dir: str


@event()
class LogDirFailed(NamedTuple):
    """The disk of a log dir failed. The logs in this dir are offline. Logs in other dirs are not
    affected.
    """

    log_dir: str
    reason: str


@event()
class CheckpointWritten(NamedTuple):
    """The broker wrote a checkpoint file with the offsets of all logs in a dir: the recovery points
    or the log start offsets.
    """

    log_dir: str
    file: str
    entries: int


@event(level=Level.HOPS)
class BatchValidated(NamedTuple):
    """Hop: the log validator accepted a producer's batch. `rebuilt` says whether the batch had to
    be converted or compressed again. Next: SegmentAppended.
    """

    topic: str
    partition: int
    records: int
    size: int
    rebuilt: bool


@event(level=Level.HOPS)
class SegmentAppended(NamedTuple):
    """Hop: batches were written to the active segment. `indexed` says whether an index entry was
    added. Next: the HW moves, or a follower fetches.
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
    """Hop: the broker found the part of a segment that a reader will get. The broker has not read
    the bytes. They are sent directly from the file to the socket.
    """

    topic: str
    partition: int
    start_offset: int
    segment_base_offset: int
    position: int
    size: int


@event(kind=Kind.SNAPSHOT)
class LogState(NamedTuple):
    """The current state of a log: its segments, its offsets, and its leader epochs as pairs (epoch,
    start offset).
    """

    topic: str
    partition: int
    log_dir: str
    log_start_offset: int
    recovery_point: int
    log_end_offset: int
    segments: tuple[SegmentState, ...]
    leader_epochs: tuple[tuple[int, int], ...]
    producers: int


class DoomedSegment(NamedTuple):
    """A segment that was removed from its log, but whose files still exist with the suffix
    `.deleted`.
    """

    base_offset: int
    size: int
    """The size of the segment's batches in bytes."""
    at_ms: int
    """When the segment's files will be removed, in ms since 1970."""


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class LogForecast(NamedTuple):
    """The limits of a log, and what will happen to it next if nothing is appended. Times are in ms
    since 1970. A time of -1 means never or unknown.
    """

    topic: str
    partition: int
    high_watermark: int
    """The high watermark. As far as this broker knows, all replicas in the ISR have the records
    below it.
    """
    last_stable_offset: int
    """The last stable offset. Below it there are no records of open transactions."""
    policy: str
    """The topic's cleanup.policy: delete, compact, or both."""
    oldest_base: int
    """The base offset of the oldest segment, which retention would delete first."""
    newest_record_ms: int
    """The time of the latest record in the oldest segment."""
    deletes_at_ms: int
    """When retention may delete the oldest segment. 0 means at the next check."""
    reason: str
    """Why the oldest segment may be deleted: `retention by time`, `retention by size` or
    `log start offset`. Empty if the segment stays.
    """
    retention_bytes: int
    """The topic's retention.bytes. -1 means that the size of the log is not limited."""
    roll_bytes: int
    """The topic's segment.bytes. A new segment is begun before the active segment becomes larger
    than this.
    """
    rolls_at_ms: int
    """A record with this time or a later one makes the log begin a new segment."""
    doomed: tuple[DoomedSegment, ...]


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class CleanerForecast(NamedTuple):
    """The next step of the cleaner for a compacted log (docs/compaction.md)."""

    topic: str
    partition: int
    first_dirty: int
    """The first offset that is not compacted yet. Below it the log is clean."""
    first_uncleanable: int
    """The first offset that may not be compacted yet."""
    clean_bytes: int
    dirty_bytes: int
    due_above_bytes: int
    """With more dirty bytes than this, the log is due for compaction. The value is
    min.cleanable.dirty.ratio of all bytes that may be compacted.
    """
    state: str
    """`being cleaned`, `due` (waits for a free cleaner thread), `not dirty enough`, `nothing to
    clean`, `left alone` (LogNotCleanable says why) or `cleaner is off`.
    """


@event(kind=Kind.GAUGE, thing=("topic", "partition"))
class ActiveSegment(NamedTuple):
    """A log that has grown since the last sample: its end offset and its active segment."""

    topic: str
    partition: int
    log_end_offset: int
    segment: SegmentState
