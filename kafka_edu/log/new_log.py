"""Create the files of new logs, for the log manager (Kafka: getOrCreateLog in LogManager.scala).

To create a log takes a dozen calls to the file system: to make the folder, the segment, and two
indexes of full length, and to list the folder. On a busy disk each of these calls may have to wait,
so a worker makes them. The log is not used before all files are made.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log


class NewLog(NamedTuple):
    """A log to be created.

    `is_new` is False if the replica has existed before. In that case a failed log dir may contain
    the replica's records.
    """

    topic_partition: TopicPartition
    config: LogConfig
    is_new: bool


class Place(NamedTuple):
    """A new log, and the log dirs in which to try to create it, in this order."""

    new: NewLog
    log_dirs: Sequence[str]
    folder: str = ""
    """The name of the log's folder. "" stands for the usual name, `topic-partition`."""


class MadeLog(NamedTuple):
    """The result for one new log: the log, or None if it could not be created in any dir."""

    place: Place
    log: Log | None
    failures: Sequence[tuple[str, OSError]]
    """The log dirs in which the creation failed, each with the error."""


def make_log(
    place: Place, file_system: FileSystem, now_ms: int, max_producer_id_expiration_ms: int
) -> MadeLog:
    """Create the files of one log, and return it. Blocks.

    If its folder cannot be made in one dir, the next dir is tried, as in Kafka.
    """
    failures: list[tuple[str, OSError]] = []
    tp = place.new.topic_partition
    for log_dir in place.log_dirs:
        directory = f"{log_dir}/{place.folder or tp}"
        try:
            file_system.make_dirs(directory)
        except OSError as error:
            failures.append((log_dir, error))
            continue
        try:
            log, _ = load_log(
                tp,
                log_dir,
                directory,
                file_system,
                place.new.config,
                now_ms=now_ms,
                max_producer_id_expiration_ms=max_producer_id_expiration_ms,
            )
        except OSError as error:
            failures.append((log_dir, error))
            break
        return MadeLog(place, log, failures)
    return MadeLog(place, None, failures)


def make_logs(places: Sequence[Place], make: Callable[[Place], MadeLog]) -> list[MadeLog]:
    """Create several logs. If the creation of one log fails in a dir, this dir is not tried again.

    A worker does all this in one call.
    """
    made: list[MadeLog] = []
    failed: set[str] = set()
    for place in places:
        left = [log_dir for log_dir in place.log_dirs if log_dir not in failed]
        made.append(make(place._replace(log_dirs=left)))
        failed.update(log_dir for log_dir, _ in made[-1].failures)
    return made
