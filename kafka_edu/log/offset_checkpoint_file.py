"""Store offsets by partition in files (Kafka: OffsetCheckpointFile.scala).

Every log dir has one file for each kind: recovery points, log starts, high watermarks, and the
offsets at which the cleaner continues.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.common.files import FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.checkpoint_file import CheckpointFile

RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE: Final = "log-start-offset-checkpoint"
CLEANER_OFFSET_FILE: Final = "cleaner-offset-checkpoint"


class OffsetCheckpointFile:
    """A file whose lines have the form `topic partition offset`. Reading and writing may block."""

    def __init__(self, path: str, file_system: FileSystem) -> None:
        self._file: CheckpointFile[tuple[TopicPartition, int]] = CheckpointFile(
            path, file_system, _to_line, _from_fields
        )
        self.path = path

    def read(self) -> dict[TopicPartition, int]:
        """Return the last written offset of each partition; empty if there is no file.

        Raises CorruptCheckpointError. O(partitions).
        """
        return dict(self._file.read())

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file and force it to the disk. O(partitions)."""
        self._file.write(offsets.items())


def _to_line(entry: tuple[TopicPartition, int]) -> str:
    (topic, partition), offset = entry
    return f"{topic} {partition} {offset}"


def _from_fields(fields: list[str]) -> tuple[TopicPartition, int]:
    topic, partition, offset = fields
    return TopicPartition(topic, int(partition)), int(offset)
