"""Collect the repairs of a log's damaged files while a worker opens the log (Kafka logs a warning
for each).

The log manager emits them as events later, on the loop.
"""

from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_file_names import SNAPSHOT_SUFFIX, segment_file
from kafka_edu.log.producer_state_manager import DroppedSnapshot
from kafka_edu.trace.events.log import LogRepaired

TAIL_CUT: Final = "tail cut off"
SEGMENT_DROPPED: Final = "segment dropped"
SEGMENT_RENAMED: Final = "segment renamed"
RECORDS_MISSING: Final = "records missing"
INDEX_REBUILT: Final = "index built again"
SNAPSHOT_REMOVED: Final = "snapshot removed"
EPOCHS_REBUILT: Final = "leader epochs built again"


class LogRepairs:
    """The repairs of one log's files. The code that opens or truncates the log owns this object."""

    def __init__(self, topic_partition: TopicPartition, log_dir: str) -> None:
        self._topic_partition = topic_partition
        self._log_dir = log_dir
        self.found: list[LogRepaired] = []

    def add(
        self,
        what: str,
        path: str,
        reason: str,
        *,
        size: int = 0,
        from_offset: int = -1,
        to_offset: int = -1,
    ) -> None:
        """Add one repair of the file `path`. `size` is the number of bytes of batches that were
        lost.
        """
        topic, partition = self._topic_partition
        self.found.append(
            LogRepaired(
                topic=topic,
                partition=partition,
                log_dir=self._log_dir,
                what=what,
                file=path.rpartition("/")[2],
                reason=reason,
                bytes=size,
                from_offset=from_offset,
                to_offset=to_offset,
            )
        )

    def add_snapshots(self, dropped: list[DroppedSnapshot]) -> None:
        """Add the producer snapshots that could not be read, and empty the list `dropped`.

        The state of the producers is built again from an older snapshot and the batches after it.
        """
        for offset, reason in dropped:
            self.add(
                SNAPSHOT_REMOVED,
                segment_file("", offset, SNAPSHOT_SUFFIX),
                reason,
                to_offset=offset,
            )
        dropped.clear()

    @property
    def lost_records(self) -> bool:
        """Return whether records were lost in one of the repairs so far."""
        return any(
            repair.what in (TAIL_CUT, SEGMENT_DROPPED, RECORDS_MISSING) for repair in self.found
        )
