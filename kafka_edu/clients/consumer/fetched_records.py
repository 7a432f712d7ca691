"""The records of one partition in one response, until `poll()` has returned them all.

(Kafka: Fetcher.CompletedFetch.) The batches are decoded when they are needed. Small batches without
compression are decoded together, several at a time, because that is faster (`read_fields`). With
read_committed, records of aborted transactions are skipped. The response lists these transactions:
producer and first offset. From that offset on, the producer's records are skipped, up to its abort
marker:

    offset   0     1     2        3     4          5
    record   A1    B1    A2       B2    A: abort   B: commit      aborted: (A, 0)
    result         B1             B2
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Final

from kafka_edu.clients.client_errors import ClientException, SerializationException
from kafka_edu.clients.consumer.consumer_config import Deserializer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.fetch import AbortedTransaction
from kafka_edu.record.compression_type import CompressionType
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record_batch import MAGIC_V2, BatchHeader, check_crc, iter_headers
from kafka_edu.record.record_fields import read_fields

_RUN_BYTES: Final = 1 << 19
"""Batches are read together until they have this size (bytes). For example, 250 records of 1 KiB
share numpy's fixed cost.
"""


class RecordUnreadableException(ClientException):
    """A batch is corrupt, or cannot be decompressed."""

    def __init__(self, tp: TopicPartition, offset: int, error: KafkaException) -> None:
        super().__init__(
            error.error,
            f"Received exception when fetching the next record from {tp} at offset {offset}:"
            f" {error.message}",
            "Check the broker's disk, or seek past the record.",
        )
        self.topic_partition = tp
        self.offset = offset


class FetchedRecords:
    """The rest of a response for one partition. The next `take` begins at `offset`."""

    def __init__(
        self,
        tp: TopicPartition,
        offset: int,
        data: memoryview,
        aborted: list[AbortedTransaction],
        *,
        read_committed: bool,
        check_crcs: bool,
        event: int = 0,
    ) -> None:
        self.tp = tp
        self.event = event
        """The number of the event RecordsFetched, or 0."""
        self.offset = self._began = offset
        self.epoch = -1
        """The leader epoch of the last record that was taken."""
        self.exhausted = False
        self._data = data
        self._batches: Iterator[tuple[int, BatchHeader]] = iter_headers(data)
        self._put_back: list[tuple[int, BatchHeader]] = []
        """Batches that were taken from `_batches` and not read yet. The last one comes first."""
        self._one_by_one = False
        """A batch cannot be read, so the batches are not read together any more."""
        self._aborted = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._skipped_producers: set[int] = set()
        self._read_committed = read_committed
        self._check_crcs = check_crcs
        self._records: list[ConsumerRecord] = []
        """The records of the current batches, with keys and values as bytes."""
        self._at = 0
        self._header: BatchHeader | None = None
        """The last of the current batches."""

    def take(
        self, most: int, key: Deserializer | None, value: Deserializer | None
    ) -> list[ConsumerRecord]:
        """Return at most `most` records, and move `offset` after them. O(records).

        If a record cannot be read, the records before it are returned first. Each later call raises
        RecordUnreadableException or SerializationException.
        """
        taken: list[ConsumerRecord] = []
        try:
            while len(taken) < most and self._next_batches():
                header = self._header
                assert header is not None
                self.epoch = header.partition_leader_epoch
                end = min(self._at + most - len(taken), len(self._records))
                batch = self._records[self._at : end]
                if key is None and value is None:
                    taken += batch
                    self._at = end
                    self.offset = batch[-1].offset + 1
                else:
                    for record in batch:
                        taken.append(self._deserialized(record, key, value))
                        self._at += 1
                        self.offset = record.offset + 1
                if self._at == len(self._records):
                    self._leave_batches(header)
        except ClientException:
            if not taken:
                raise
        return taken

    def _leave_batches(self, last: BatchHeader) -> None:
        """Set `offset` to the end of the decoded batches. The last records of a batch may be
        missing, because compaction has removed them.
        """
        self.offset = max(self.offset, last.next_offset)
        self._records, self._at, self._header = [], 0, None

    def _next_batches(self) -> bool:
        """Decode the next batches, until one of them has records for the program. Return False if
        there are no more batches.
        """
        while self._header is None:
            run = self._run()
            if not run:
                if self.offset == self._began:
                    raise _not_whole(self.tp, self.offset)
                self.exhausted = True
                return False
            try:
                records = self._read(run)
            except KafkaException as error:
                self._put_back += reversed(run)  # the next call finds them again
                if len(run) > 1:
                    self._one_by_one = True  # up to the one that cannot be read
                    continue
                raise RecordUnreadableException(self.tp, self.offset, error) from error
            if records and records[0].offset < self.offset:
                records = [record for record in records if record.offset >= self.offset]
            self._records = records
            self._header = run[-1][1]
            if not self._records:
                self._leave_batches(self._header)
        return True

    def _run(self) -> list[tuple[int, BatchHeader]]:
        """Return the next batch, and the following batches that can be decoded together with it."""
        run: list[tuple[int, BatchHeader]] = []
        size = 0
        while (found := self._next_header()) is not None:
            header = found[1]
            alone = self._is_read_alone(header)
            if run and (alone or _differ(run[-1][1], header)):
                self._put_back.append(found)
                break
            run.append(found)
            size += header.size_in_bytes
            if alone or size >= _RUN_BYTES:
                break
        return run

    def _next_header(self) -> tuple[int, BatchHeader] | None:
        return self._put_back.pop() if self._put_back else next(self._batches, None)

    def _is_read_alone(self, header: BatchHeader) -> bool:
        """Return whether a batch must be decoded alone. This is so if it may be skipped, for
        example a marker, or if its records need extra memory, for example when they are compressed.
        """
        return (
            self._one_by_one
            or header.magic != MAGIC_V2
            or header.compression != CompressionType.NONE
            or header.is_control
            or (self._read_committed and header.is_transactional)
        )

    def _is_skipped(self, batch: Buffer, header: BatchHeader) -> bool:
        """Return whether the batch is skipped: it is a marker, or it is aborted and the consumer
        reads with read_committed.
        """
        if self._read_committed:
            while self._aborted and self._aborted[-1].first_offset <= header.last_offset:
                self._skipped_producers.add(self._aborted.pop().producer_id)
            if header.is_control:
                marker = read_end_transaction_marker(batch)
                if marker is not None and marker.type is ControlRecordType.ABORT:
                    self._skipped_producers.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in self._skipped_producers:
                return True
        return header.is_control

    def _read(self, run: list[tuple[int, BatchHeader]]) -> list[ConsumerRecord]:
        """Return the records of the batches with keys and values as bytes. O(bytes).

        The lists of the fields are combined without a Python call for each record. So each record
        takes 0.1 µs. A call of ConsumerRecord for each record would take 0.6 µs.
        """
        data = self._data
        entries = [(data[at : at + header.size_in_bytes], header) for at, header in run]
        if self._check_crcs:
            for batch, header in entries:
                check_crc(batch, header)
        batch, header = entries[0]
        if self._is_skipped(batch, header):
            return []
        offsets, timestamps, keys, values, headers = read_fields(entries)
        rows = zip(
            repeat(self.tp.topic),
            repeat(self.tp.partition),
            offsets,
            timestamps,
            repeat(header.timestamp_type),
            keys,
            values,
            headers,
            repeat(header.partition_leader_epoch),
            strict=False,  # some of them never end
        )
        return list(map(tuple.__new__, repeat(ConsumerRecord), rows))

    def _deserialized(
        self, record: ConsumerRecord, key: Deserializer | None, value: Deserializer | None
    ) -> ConsumerRecord:
        topic, partition, offset, timestamp, kind, key_bytes, value_bytes, headers, epoch = record
        assert key_bytes is None or isinstance(key_bytes, bytes)
        assert value_bytes is None or isinstance(value_bytes, bytes)
        try:
            return ConsumerRecord(
                topic,
                partition,
                offset,
                timestamp,
                kind,
                key_bytes if key is None else key(key_bytes),
                value_bytes if value is None else value(value_bytes),
                headers,
                epoch,
            )
        except Exception as error:
            raise SerializationException(
                f"Error deserializing key or value for partition {self.tp} at offset {offset}:"
                f" {error}",
                "Correct the deserializer, or seek past the record.",
            ) from error


def _differ(one: BatchHeader, other: BatchHeader) -> bool:
    """Return whether two batches differ in a field that all records of a batch share: the leader
    epoch or the timestamp type.
    """
    return (
        one.partition_leader_epoch != other.partition_leader_epoch
        or one.timestamp_type != other.timestamp_type
    )


def _not_whole(tp: TopicPartition, offset: int) -> ClientException:
    """Return the error for a response whose first batch is incomplete."""
    return ClientException(
        Errors.MESSAGE_TOO_LARGE,
        f"The batch of {tp} at offset {offset} is not complete.",
        "Raise max.partition.fetch.bytes.",
    )
