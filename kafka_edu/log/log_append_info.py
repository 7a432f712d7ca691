"""The result of an append (Kafka: LogAppendInfo.scala)."""

from typing import Final, NamedTuple

UNKNOWN_OFFSET: Final = -1


class LogAppendInfo(NamedTuple):
    """The place of the records that an append has written.

    The first and the last offset are -1 if there was nothing to append. For a duplicate, the
    offsets are those of the batch that was written before.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    """The wall-clock ms that the leader wrote into the batch; -1 if the producer's timestamps were
    kept.
    """
    log_start_offset: int
    size_in_bytes: int = 0
    duplicate: bool = False
    """Whether the producer had already sent this batch, so that nothing was written now."""


class RecordError(NamedTuple):
    """An invalid record, named by its place in the batch. The responses to Produce v8 and later
    contain these records (KIP-467).
    """

    batch_index: int
    message: str
