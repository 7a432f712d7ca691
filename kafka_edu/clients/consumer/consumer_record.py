"""One record as a program gets it (Kafka: ConsumerRecord.java)."""

from typing import NamedTuple

from kafka_edu.record.record_batch import TimestampType

Headers = tuple[tuple[str, bytes | None], ...]


class ConsumerRecord(NamedTuple):
    """A record with its place, its time and its content."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """In ms since 1970; -1 if there is none."""
    timestamp_type: TimestampType
    key: object
    value: object
    headers: Headers
    leader_epoch: int
    """The epoch of the leader that stored the record; -1 if unknown."""
