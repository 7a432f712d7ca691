"""Sentences for the events of logs."""

from kafka_edu.common.words import joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import offsets, quiet
from kafka_edu.trace.events import log


@sentence.register
def log_created(e: log.LogCreated) -> Sentence:
    return quiet(
        "makes the log of",
        f"{e.topic}-{e.partition}",
        exact=f"makes an empty log of {e.topic}-{e.partition}",
    )


@sentence.register
def log_recovered(e: log.LogRecovered) -> Sentence:
    tp = f"{e.topic}-{e.partition}"
    if not e.truncated_bytes and not e.segments:
        return quiet(
            "has checked",
            tp,
            exact=f"has checked {tp} after an unclean stop: complete up to {e.log_end_offset:,}",
        )
    cut = f", cut off {e.truncated_bytes:,} incomplete bytes" if e.truncated_bytes else ""
    return Sentence("recovered", tp, f"after an unclean stop{cut}", e.reason)


@sentence.register
def log_repaired(e: log.LogRepaired) -> Sentence:
    gone = f", {e.bytes:,} bytes" if e.bytes else ""
    offset = f", from offset {e.from_offset:,} on" if e.from_offset >= 0 else ""
    return Sentence(
        "⚠ repaired",
        f"{e.topic}-{e.partition}",
        f"({e.file}): {e.what}{gone}{offset}",
        e.reason,
    )


@sentence.register
def checkpoint_unreadable(e: log.CheckpointUnreadable) -> Sentence:
    return Sentence("⚠ cannot use", f"{e.log_dir}/{e.file}", reason=e.reason)


@sentence.register
def log_loaded(e: log.LogLoaded) -> Sentence:
    how = "closed cleanly" if e.clean else "not closed cleanly"
    return quiet(
        "has loaded",
        f"{e.topic}-{e.partition}",
        f"up to {e.log_end_offset:,}",
        exact=(
            f"opens the log of {e.topic}-{e.partition}: offsets {e.log_start_offset:,} to"
            f" {e.log_end_offset:,}, {how}"
        ),
    )


@sentence.register
def segment_rolled(e: log.SegmentRolled) -> Sentence:
    return Sentence("new segment of", f"{e.topic}-{e.partition}", f"at {e.base_offset:,}", e.reason)


@sentence.register
def segment_deleted(e: log.SegmentDeleted) -> Sentence:
    return Sentence(
        "drops a segment of",
        f"{e.topic}-{e.partition}",
        f"from offset {e.base_offset:,}, {e.size:,} bytes",
        e.reason,
        loud=False,
    )


@sentence.register
def cleaning_started(e: log.CleaningStarted) -> Sentence:
    return quiet(
        "begins to compact",
        f"{e.topic}-{e.partition}: {e.dirty_bytes:,} bytes from offset"
        f" {e.from_offset:,} to {e.to_offset:,} are dirty, {e.clean_bytes:,} bytes are clean",
    )


@sentence.register
def cleaning_given_up(e: log.CleaningGivenUp) -> Sentence:
    return Sentence("gives up compacting", f"{e.topic}-{e.partition}", "", e.reason, loud=False)


@sentence.register
def segments_cleaned(e: log.SegmentsCleaned) -> Sentence:
    lost = [
        plural(count, what)
        for count, what in (
            (e.superseded, "superseded record"),
            (e.tombstones, "old tombstone"),
            (e.aborted, "aborted record"),
            (e.markers, "old marker"),
            (e.without_key, "record without a key"),
        )
        if count
    ]
    gone = f"; gone: {joined(lost)}" if lost else "; nothing is gone"
    return quiet(
        "compacts",
        f"{plural(e.segments, 'segment')} of {e.topic}-{e.partition} from offset"
        f" {e.base_offset:,}: {e.bytes_before:,} → {e.bytes_after:,} bytes{gone}",
    )


@sentence.register
def log_cleaned(e: log.LogCleaned) -> Sentence:
    return Sentence(
        "has compacted",
        f"{e.topic}-{e.partition}",
        f"up to offset {e.to_offset:,}: {e.bytes_before:,} → {e.bytes_after:,} bytes",
    )


@sentence.register
def log_not_cleanable(e: log.LogNotCleanable) -> Sentence:
    return Sentence("⚠ cannot compact", f"{e.topic}-{e.partition}", "", e.reason)


@sentence.register
def segment_files_removed(e: log.SegmentFilesRemoved) -> Sentence:
    return quiet(
        "has removed the files of a segment of",
        f"{e.topic}-{e.partition}",
        f"from offset {e.base_offset:,}",
    )


@sentence.register
def log_truncated(e: log.LogTruncated) -> Sentence:
    tp = f"{e.topic}-{e.partition}"
    if e.fully:
        return Sentence(
            "empties the log of",
            tp,
            f"({e.bytes:,} bytes); it begins again at {e.to_offset:,}",
            because=f"the log of {tp} was emptied",
            loud=False,
        )
    return Sentence(
        "cuts the log of",
        tp,
        f"back {e.from_offset:,} → {e.to_offset:,}, {e.bytes:,} bytes",
        because=f"the log of {tp} was cut back",
        loud=False,
    )


@sentence.register
def log_start_offset_incremented(e: log.LogStartOffsetIncremented) -> Sentence:
    return quiet(
        "log of",
        f"{e.topic}-{e.partition}",
        f"begins later, {e.from_offset:,} → {e.to_offset:,}: older records can no longer be read",
    )


@sentence.register
def leader_epoch_assigned(e: log.LeaderEpochAssigned) -> Sentence:
    return quiet(
        "log of",
        f"{e.topic}-{e.partition}",
        f"begins epoch {e.leader_epoch} at {e.start_offset:,}",
        exact=(
            f"{e.topic}-{e.partition}: leader epoch {e.leader_epoch} begins at offset"
            f" {e.start_offset:,}"
        ),
    )


@sentence.register
def log_flushed(e: log.LogFlushed) -> Sentence:
    return quiet(
        "has forced to the disk",
        f"{e.topic}-{e.partition}",
        f"up to {e.recovery_point:,}",
    )


@sentence.register
def duplicate_batch(e: log.DuplicateBatch) -> Sentence:
    return Sentence(
        "does not write a batch again in",
        f"{e.topic}-{e.partition}",
        f"it has been at {e.first_offset:,} since the first time",
        f"producer {e.producer_id} (epoch {e.producer_epoch}) sent sequence"
        f" {e.base_sequence:,} twice",
        loud=False,
    )


@sentence.register
def producers_expired(e: log.ProducersExpired) -> Sentence:
    return Sentence(
        "forgets in",
        f"{e.topic}-{e.partition}",
        f"{plural(len(e.producer_ids), 'producer')} of ids {joined(e.producer_ids) or 'unknown'}",
        "they have not written for a long time",
        loud=False,
    )


@sentence.register
def log_deleted(e: log.LogDeleted) -> Sentence:
    return quiet(
        "gives up the log of",
        f"{e.topic}-{e.partition}",
        exact=(
            f"gives up the log of {e.topic}-{e.partition}: its folder is {e.folder} until it is"
            " removed"
        ),
    )


@sentence.register
def log_dir_locked(e: log.LogDirLocked) -> Sentence:
    return quiet("holds the lock of log dir", e.log_dir)


@sentence.register
def log_dir_failed(e: log.LogDirFailed) -> Sentence:
    return Sentence("✕ log dir failed", after=e.log_dir, reason=e.reason)


@sentence.register
def checkpoint_written(e: log.CheckpointWritten) -> Sentence:
    what = "recovery points" if e.file.startswith("recovery") else "log start offsets"
    return quiet(
        f"writes the {what}",
        after=f"of {plural(e.entries, 'partition')} to its checkpoint",
    )


@sentence.register
def batch_validated(e: log.BatchValidated) -> Sentence:
    again = ", rebuilt" if e.rebuilt else ""
    return quiet(
        "validates a batch for",
        f"{e.topic}-{e.partition}",
        exact=f"{e.topic}-{e.partition}: batch of {e.records:,} records is valid{again}",
    )


@sentence.register
def segment_appended(e: log.SegmentAppended) -> Sentence:
    return quiet(
        "writes to the segment of",
        f"{e.topic}-{e.partition}",
        f"up to {e.last_offset + 1:,}",
        exact=(
            f"{e.topic}-{e.partition}: {offsets(e.first_offset, e.last_offset + 1)}"
            f" written to segment {e.segment_base_offset:,} at byte {e.position:,}"
        ),
    )


@sentence.register
def segment_read(e: log.SegmentRead) -> Sentence:
    return quiet(
        "reads from",
        f"{e.topic}-{e.partition}",
        f"from {e.start_offset:,}",
        exact=(
            f"{e.topic}-{e.partition}: finds {e.size:,} bytes from offset"
            f" {e.start_offset:,} for a reader"
        ),
    )
