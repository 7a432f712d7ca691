"""Find what a log dir contains, before any log in it is opened (Kafka: the first part of loadLogs
in LogManager.scala): the folders of logs, the checkpoints, and the folders to be removed.

All functions block. The log manager calls them in workers, for all log dirs at the same time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.log_file_names import (
    CLEAN_SHUTDOWN_FILE,
    is_delete_dir,
    parse_future_dir,
    parse_topic_partition,
)
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.trace.events.log import CheckpointUnreadable


class LogDirScan(NamedTuple):
    """The content of a log dir. `logs` and `future_logs` have the path of each folder."""

    log_dir: str
    clean: bool
    """Whether the broker was stopped cleanly."""
    recovery_points: Mapping[TopicPartition, int]
    start_offsets: Mapping[TopicPartition, int]
    logs: Mapping[TopicPartition, str]
    future_logs: Mapping[TopicPartition, str]
    doomed: Sequence[str]
    """The names of folders of deleted logs."""
    unreadable: Sequence[CheckpointUnreadable]


def scan_log_dir(
    log_dir: str,
    file_system: FileSystem,
    recovery_points: OffsetCheckpointFile,
    start_offsets: OffsetCheckpointFile,
) -> LogDirScan:
    """Return what the dir contains; create it if it is missing. Raises OSError."""
    file_system.make_dirs(log_dir)
    clean = file_system.exists(f"{log_dir}/{CLEAN_SHUTDOWN_FILE}")
    unreadable: list[CheckpointUnreadable] = []
    points = _read(log_dir, recovery_points, unreadable)
    starts = _read(log_dir, start_offsets, unreadable)
    names = file_system.list(log_dir)

    def folders(parse: Callable[[str], TopicPartition | None]) -> Mapping[TopicPartition, str]:
        return {
            tp: path
            for name in names
            if (tp := parse(name)) is not None and file_system.is_dir(path := f"{log_dir}/{name}")
        }

    return LogDirScan(
        log_dir=log_dir,
        clean=clean,
        recovery_points=points,
        start_offsets=starts,
        logs=folders(parse_topic_partition),
        future_logs=folders(parse_future_dir),
        doomed=[name for name in names if is_delete_dir(name)],
        unreadable=unreadable,
    )


def _read(
    log_dir: str, file: OffsetCheckpointFile, found: list[CheckpointUnreadable]
) -> Mapping[TopicPartition, int]:
    """Read a checkpoint. If it cannot be read, return an empty result, and add an event to `found`.

    Without a checkpoint more segments must be recovered, but nothing is lost.
    """
    try:
        return file.read()
    except CorruptCheckpointError as error:
        found.append(checkpoint_unreadable(log_dir, file, error))
        return {}


def checkpoint_unreadable(
    log_dir: str, file: OffsetCheckpointFile, error: Exception
) -> CheckpointUnreadable:
    """Return the event that reports why a checkpoint could not be read."""
    name = file.path.rpartition("/")[2]
    reason = f"it {str(error).removeprefix(file.path).lstrip()}"
    return CheckpointUnreadable(log_dir=log_dir, file=name, reason=reason)
