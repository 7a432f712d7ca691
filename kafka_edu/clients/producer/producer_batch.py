"""A batch of records for one partition, from its first record to its outcome.

(Kafka: ProducerBatch.java, MemoryRecordsBuilder.java.) Each record is encoded once, at the end of
the batch's buffer. When the batch is closed, all records are compressed together, and the header
and checksum are made. The outcome of the batch is the outcome of all its records.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.compression import CompressionType, compress
from kafka_edu.record.record import encode_record
from kafka_edu.record.record_batch import (
    HEADER_BYTES,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    assemble_batch,
    increment_sequence,
    parse_header,
    read_records,
)

Headers = Sequence[tuple[str, bytes | None]]
MAX_RECORD_OVERHEAD: Final = 36
"""The maximum number of bytes that a record needs in addition to its key, value and headers. These
are five bytes for each length or count, ten for the timestamp, and one for the attributes. (Kafka:
DefaultRecord.MAX_RECORD_OVERHEAD, which is 21 because it does not count the lengths.)
"""


def largest_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the maximum size in bytes of an uncompressed batch with only this record."""
    size = HEADER_BYTES + MAX_RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += 10 + len(name.encode()) + len(content or b"")
    return size


class RecordMetadata(NamedTuple):
    """The place where a record is stored (Kafka: RecordMetadata.java)."""

    topic: str
    partition: int
    offset: int
    """The record's offset. -1 if it is unknown, for example with acks=0."""
    timestamp: int
    """The record's timestamp in ms since 1970. With log-append time, it is the time of the
    leader.
    """
    serialized_key_size: int
    """The key's size in bytes, or -1 without a key."""
    serialized_value_size: int


Callback = Callable[[RecordMetadata | None, KafkaException | None], None]


class Thunk(NamedTuple):
    """A record's callback, and the values of the record that its metadata needs."""

    callback: Callback
    at: int
    """The record's place in its batch, from 0."""
    timestamp: int
    key_size: int
    value_size: int


class Outcome(NamedTuple):
    """The end of a batch: the offset of its first record, or an error."""

    base_offset: int
    log_append_time: int
    error: KafkaException | None


class ProducerBatch:
    """The records for one partition that are sent together. `RecordAccumulator` owns it."""

    __slots__ = (
        "attempts",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "cause",
        "children",
        "count",
        "created_ms",
        "data",
        "drained_ms",
        "in_retry",
        "last_attempt_ms",
        "last_error",
        "leader_epoch",
        "limit",
        "listeners",
        "max_timestamp",
        "number",
        "outcome",
        "producer_epoch",
        "producer_id",
        "reserved",
        "sequence_reset",
        "thunks",
        "tp",
        "transactional",
    )

    def __init__(
        self, number: int, tp: TopicPartition, limit: int, reserved: int, now: float
    ) -> None:
        self.number = number
        """The batch's number within its producer, from 1. Events contain it."""
        self.tp = tp
        self.limit = limit
        """The maximum number of bytes of the batch before compression. A single record may be
        larger.
        """
        self.reserved = reserved
        """The bytes of buffer.memory that the batch holds."""
        self.created_ms = now
        self.last_attempt_ms = now
        self.drained_ms = now
        self.attempts = 0
        self.last_error = Errors.NONE
        """The error after which the batch was last put back into the queue."""
        self.in_retry = False
        self.buffer = bytearray(HEADER_BYTES)
        self.data: bytes | None = None
        """The bytes that are sent. None before `close`."""
        self.count = 0
        self.base_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.sequence_reset = False
        self.transactional = False
        """Whether the batch belongs to a transaction."""
        self.leader_epoch = -1
        self.thunks: list[Thunk] = []
        self.children: list[tuple[int, ProducerBatch]] = []
        """After a split: the index of each new batch's first record, and the new batch."""
        self.outcome: Outcome | None = None
        self.listeners: list[Callable[[], None]] = []
        """Each is called once, when the batch has its outcome or is split."""
        self.cause = 0
        """The number of the batch's last event, which causes the next one."""

    def try_append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> int:
        """Append a record and return its index in the batch. O(bytes of the record).

        Return -1 if there is no room. The first record always has room.
        """
        count = self.count
        buffer = self.buffer
        if not count:
            self.base_timestamp = self.max_timestamp = timestamp
        record = encode_record(timestamp - self.base_timestamp, count, key, value, headers)
        if count:
            if len(buffer) + len(record) > self.limit:
                return -1
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
        buffer += record
        self.count = count + 1
        return count

    @property
    def is_full(self) -> bool:
        return self.data is not None or len(self.buffer) >= self.limit

    @property
    def size(self) -> int:
        """The batch's size in bytes: compressed if the batch is closed, otherwise uncompressed."""
        return len(self.buffer) if self.data is None else len(self.data)

    @property
    def done(self) -> bool:
        return self.outcome is not None

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return increment_sequence(self.base_sequence, self.count - 1)

    def set_producer_state(
        self, producer_id: int, epoch: int, sequence: int, reset: bool = False
    ) -> None:
        """Give the batch its producer's id and epoch, and the sequence number of its first record.

        If the batch is closed already, its header and checksum are made again.
        """
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, epoch, sequence
        self.sequence_reset = reset
        if self.data is not None:
            header = parse_header(self.data)._replace(
                producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
            )
            self.data = assemble_batch(memoryview(self.data)[HEADER_BYTES:], header)

    def close(self, compression: CompressionType) -> None:
        """Make the bytes to send: compress the records, and write the header. O(bytes).

        A closed batch takes no more records. Closing it again does nothing.
        """
        if self.data is not None:
            return
        records = memoryview(self.buffer)[HEADER_BYTES:]
        self.data = assemble_batch(
            compress(compression, records) if compression else records,
            BatchHeader(
                0,
                0,
                NO_PARTITION_LEADER_EPOCH,
                MAGIC_V2,
                0,
                compression | (TRANSACTIONAL_BIT if self.transactional else 0),
                self.count - 1,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.count,
            ),
        )
        self.buffer = bytearray()

    def metadata(self, thunk: Thunk, outcome: Outcome) -> RecordMetadata:
        """Return the metadata of a record of this batch."""
        base = outcome.base_offset
        return RecordMetadata(
            self.tp.topic,
            self.tp.partition,
            base + thunk.at if base >= 0 else -1,
            outcome.log_append_time if outcome.log_append_time >= 0 else thunk.timestamp,
            thunk.key_size,
            thunk.value_size,
        )

    def finish(self, outcome: Outcome, on_bug: Callable[[Exception], None]) -> bool:
        """Set the outcome, call the records' callbacks in order, and wake the futures.

        Return False, and do nothing, if the batch has an outcome already. If a callback raises an
        exception, `on_bug` is called with it. The other callbacks and the producer continue.
        """
        if self.outcome is not None:
            return False
        self.outcome = outcome
        self.buffer = bytearray()
        self.data = None if self.data is None else b""
        for thunk in self.thunks:
            try:
                if outcome.error is None:
                    thunk.callback(self.metadata(thunk, outcome), None)
                else:
                    thunk.callback(None, outcome.error)
            except Exception as error:
                on_bug(error)
        self.thunks = []
        self._wake()
        return True

    def _wake(self) -> None:
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()

    def split(self, first_number: int, now: float) -> "list[ProducerBatch]":
        """Divide a closed batch into two or more batches of about half the size, and return the new
        batches.

        The futures and callbacks belong to the new batches. The new batches share the memory of
        this batch, and keep its sequence numbers.
        """
        records = read_records(self.data or b"")
        total = sum(
            len(encode_record(r.timestamp - self.base_timestamp, i, r.key, r.value, r.headers))
            for i, r in enumerate(records)
        )
        limit = HEADER_BYTES + (total + 1) // 2
        parts: list[ProducerBatch] = []
        starts: list[int] = []
        for index, record in enumerate(records):
            if (
                not parts
                or parts[-1].try_append(record.timestamp, record.key, record.value, record.headers)
                < 0
            ):
                part = ProducerBatch(first_number + len(parts), self.tp, limit, 0, now)
                part.created_ms = self.created_ms
                part.cause = self.cause
                part.transactional = self.transactional
                part.try_append(record.timestamp, record.key, record.value, record.headers)
                parts.append(part)
                starts.append(index)
        for part, start in zip(parts, starts, strict=True):
            part.reserved = self.reserved // len(parts)
            part.thunks = [
                thunk._replace(at=thunk.at - start)
                for thunk in self.thunks
                if start <= thunk.at < start + part.count
            ]
            if self.has_sequence:
                part.set_producer_state(
                    self.producer_id,
                    self.producer_epoch,
                    increment_sequence(self.base_sequence, start),
                )
        parts[0].reserved += self.reserved - sum(part.reserved for part in parts)
        self.reserved = 0
        self.children = list(zip(starts, parts, strict=True))
        self.thunks = []
        self._wake()
        return parts

    def locate(self, index: int) -> "tuple[ProducerBatch, int]":
        """Return the batch that contains record `index` now, and the record's index in it."""
        batch = self
        while batch.children:
            start, batch = next(
                (start, child) for start, child in reversed(batch.children) if start <= index
            )
            index -= start
        return batch, index
