"""What an append tells (Kafka: LogAppendInfo.scala)."""

from typing import Final, NamedTuple

UNKNOWN_OFFSET: Final = -1


class LogAppendInfo(NamedTuple):
    """Where the records are now. Both offsets are -1 if there was nothing to append. The answer to
    a duplicate names where the first copy lies.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    """The time the leader set, in ms; -1 if the producer's times were kept."""
    log_start_offset: int
    size_in_bytes: int = 0
    duplicate: bool = False
    """The producer sent this batch before; nothing was written."""


class RecordError(NamedTuple):
    """One record that the leader refused, by its place in the batch: Produce v8 and later answer
    them (KIP-467).
    """

    batch_index: int
    message: str
