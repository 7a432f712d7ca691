"""The names of the files and folders of logs (Kafka: the companion object of Log.scala; seed 004).

    web-0/00000000000000368769.log          batches from offset 368769 on
    web-0/00000000000000368769.index        offset → position
    web-0/00000000000000368769.timeindex    timestamp → offset
    web-0/00000000000000368769.snapshot     state of the producers at offset 368769
    web-0/leader-epoch-checkpoint           the leader epochs of the log
    web-0.<32 hex digits>-delete/           the folder of a deleted log, until it is removed
    web-0.<32 hex digits>-future/           the copy of a replica that moves to this log dir

A file of a deleted segment has the suffix `.deleted`.
"""

import re
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition, TopicPartitionError

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TXN_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
DELETE_DIR_SUFFIX: Final = "-delete"
FUTURE_DIR_SUFFIX: Final = "-future"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
MOVING_TO_FILE: Final = "edu-moving-to"
"""The name of a file in the folder of a replica that moves.

The file contains the log dir to which the replica moves. Kafka has no such file, and ignores it.
"""

_MAX_FILE_NAME: Final = 255
_OFFSET: Final = re.compile(r"\d{20}")
_STRAY: Final = re.compile(r"\.[0-9a-f]{32}-(delete|future)$")
_FUTURE: Final = re.compile(r"\.[0-9a-f]{32}-future$")


def segment_file(directory: str, base_offset: int, suffix: str) -> str:
    """Return the path of a segment's file.

    The base offset is written with 20 digits, so file names sort like offsets.
    """
    return f"{directory}/{base_offset:020d}{suffix}"


def offset_of(file_name: str) -> int | None:
    """Return the offset at the beginning of a file's name; None if the name does not begin with an
    offset.
    """
    return int(file_name[:20]) if _OFFSET.match(file_name) else None


def parse_topic_partition(folder: str) -> TopicPartition | None:
    """Turn a folder's name such as `web-0` into (web, 0).

    Return None for a folder that is not a log, or that is being deleted or moved.
    """
    if _STRAY.search(folder):
        return None
    try:
        return TopicPartition.parse(folder)
    except TopicPartitionError:
        return None


def parse_future_dir(folder: str) -> TopicPartition | None:
    """Turn `web-0.<32 hex digits>-future` into (web, 0). Return None for any other folder."""
    found = _FUTURE.search(folder)
    return parse_topic_partition(folder[: found.start()]) if found is not None else None


def future_dir_name(topic_partition: TopicPartition, unique_id: int) -> str:
    """Return the name of the folder in which the copy of a moving replica grows."""
    return f"{topic_partition}.{unique_id:032x}{FUTURE_DIR_SUFFIX}"


def is_too_long_to_move(topic_partition: TopicPartition) -> bool:
    """Return whether the name of the future folder would be too long for a file system
    (KAFKA-4893).
    """
    return len(future_dir_name(topic_partition, 0)) > _MAX_FILE_NAME


def is_delete_dir(folder: str) -> bool:
    """Return whether the folder belongs to a deleted log."""
    return folder.endswith(DELETE_DIR_SUFFIX) and _STRAY.search(folder) is not None


def delete_dir_name(topic_partition: TopicPartition, unique_id: int) -> str:
    """Return the name that the folder of a deleted log gets before it is removed.

    The topic's name is shortened if the whole name is too long for a file system.
    """
    suffix = f"-{topic_partition.partition}.{unique_id:032x}{DELETE_DIR_SUFFIX}"
    return topic_partition.topic[: _MAX_FILE_NAME - len(suffix)] + suffix
