"""The result of an append (Kafka: LogAppendInfo.scala)."""

from typing import Final, NamedTuple

UNKNOWN_OFFSET: Final = -1


class LogAppendInfo(NamedTuple):
    """Where the records are now. Both offsets are -1 if there was nothing to append. For a
    duplicate they are those of the first copy.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    """The time the leader set, in ms; -1 if the producer's times were kept."""
    log_start_offset: int
    size_in_bytes: int = 0
    duplicate: bool = False
    """The producer had sent this batch before, so nothing was written."""


class RecordError(NamedTuple):
    """One record that the leader refused, by its place in the batch. Produce v8 and later return
    these (KIP-467).
    """

    batch_index: int
    message: str
