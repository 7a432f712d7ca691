"""Write repairs of damaged log files to broker.log, and keep a summary for clients that connect
later.

Kafka logs a warning for each damaged file when it opens a log. A client that receives the broker's
events but connects after the start does not get the events of these repairs. So the broker's
snapshot contains a summary. The commands `cluster up`, `cluster start` and `why` show it.
"""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from kafka_edu.log.log_repairs import (
    EPOCHS_REBUILT,
    INDEX_REBUILT,
    RECORDS_MISSING,
    SEGMENT_DROPPED,
    SEGMENT_RENAMED,
    SNAPSHOT_REMOVED,
    TAIL_CUT,
)
from kafka_edu.log.offset_checkpoint_file import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
)
from kafka_edu.trace.event import Envelope, Event, Level
from kafka_edu.trace.events.log import CheckpointUnreadable, LogRepaired, RepairsFound
from kafka_edu.trace.events.replication import BecameFollower, BecameLeader, FollowerStuck

log = logging.getLogger(__name__)

REPAIRS_KEPT: Final = 20
"""The maximum number of repairs that the snapshot describes as text. broker.log contains all of
them.
"""
WORDS: Final = {
    TAIL_CUT: "{reason}; {bytes:,} bytes are cut off, and the log ends at offset {from_offset:,}",
    SEGMENT_DROPPED: (
        "the segment with {bytes:,} bytes from offset {from_offset:,} on is dropped, because"
        " {reason}"
    ),
    SEGMENT_RENAMED: "{reason}; the file gets the name of the segment that it is",
    RECORDS_MISSING: "the records from offset {from_offset:,} to {last:,} are missing: {reason}",
    INDEX_REBUILT: "{reason}; the index is built again from the batches",
    SNAPSHOT_REMOVED: "{reason}; it is removed, and the producers' state is read from the batches",
    EPOCHS_REBUILT: "{reason}; it is made again from the batches",
}
UNREADABLE: Final = {
    RECOVERY_POINT_FILE: "after a crash the logs of this dir are read from their beginning",
    LOG_START_OFFSET_FILE: "records that DeleteRecords gave up may be readable again",
    CLEANER_OFFSET_FILE: "the first pass over each compacted log begins at its start",
}
"""The name of a checkpoint file → a text about the consequence if the file cannot be read."""


class Repairs:
    """Receives the broker's events, and keeps those about repairs. It keeps the last repairs, and
    one entry for each repaired log and for each stuck follower.
    """

    level = Level.STATE

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=REPAIRS_KEPT)
        self._repairs = 0
        self._bytes = 0
        self._lost = False
        self._logs: dict[tuple[str, int], None] = {}
        self._stuck: dict[tuple[str, int], str] = {}

    def accept(self, envelope: Envelope) -> None:
        event = envelope.event
        if self._stuck and isinstance(event, BecameFollower | BecameLeader):
            self._stuck.pop((event.topic, event.partition), None)
        text = repair_text(event)
        if not text:
            return
        log.warning("%s", text)
        match event:
            case FollowerStuck(topic=topic, partition=partition):
                self._stuck[topic, partition] = text
                return
            case LogRepaired(topic=topic, partition=partition):
                self._logs[topic, partition] = None
                self._bytes += event.bytes
                self._lost |= event.what in (TAIL_CUT, SEGMENT_DROPPED, RECORDS_MISSING)
        self._repairs += 1
        self._last.append(text)

    def snapshot(self) -> Iterable[Event]:
        """Yield one event with a summary of all repairs."""
        yield RepairsFound(
            logs=len(self._logs),
            repairs=self._repairs,
            bytes=self._bytes,
            summary=self._summary(),
            last=tuple(self._last),
            stuck=tuple(self._stuck.values()),
        )

    def _summary(self) -> str:
        if not self._repairs:
            return ""
        files = "1 damaged file" if self._repairs == 1 else f"{self._repairs:,} damaged files"
        logs = "1 log" if len(self._logs) == 1 else f"{len(self._logs):,} logs"
        where = f" of {logs}" if self._logs else ""
        if not self._lost:
            return f"it repaired {files}{where}; no record is lost"
        return (
            f"it repaired {files}{where} and lost {self._bytes:,} bytes of records; they come again"
            " from the leaders, where there are other replicas"
        )


def repair_text(event: Event) -> str:
    """Return a line for broker.log about a repair, or about a fault that cannot be repaired. Return
    "" for all other events.
    """
    match event:
        case LogRepaired():
            what = WORDS[event.what].format(**event._asdict(), last=event.to_offset - 1)
            return f"{event.topic}-{event.partition} in {event.log_dir}: {event.file}: {what}"
        case CheckpointUnreadable(log_dir=log_dir, file=file, reason=reason):
            return f"{log_dir}/{file}: {reason}; it does not count, so {UNREADABLE[file]}"
        case FollowerStuck():
            return (
                f"{event.topic}-{event.partition} cannot follow broker {event.leader} and stays out"
                f" of the ISR. The leader has offset {event.log_end_offset:,}, where this log ends,"
                f" but does not know the leader epoch {event.latest_epoch} before it. The logs or"
                " their leader-epoch-checkpoint files contradict each other. To repair it, stop"
                " this"
                f" broker, remove {event.directory}, and start it again: then it copies the log"
                " from its leader"
            )
        case _:
            return ""
