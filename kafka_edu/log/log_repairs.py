"""The repairs of damaged files of a log, collected while a worker opens it (Kafka warns of each).

The log manager emits them when it is back on the loop.
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
    """The repairs of one log. Owned by whoever opens or truncates it."""

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
        """Note one repair of the file `path`. `size` is the number of bytes of batches that are
        gone.
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
        """Note the snapshots of producers that could not be read, and empty the list. The state is
        made again from an older snapshot and the batches behind it.
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
        """Return whether a repair so far says that records are gone."""
        return any(
            repair.what in (TAIL_CUT, SEGMENT_DROPPED, RECORDS_MISSING) for repair in self.found
        )
