"""The leader's checks of a producer's records, and its changes to them (Kafka: LogValidator.scala;
analyzeAndValidateRecords in Log.scala).

In most cases a v2 batch is stored as it arrived. The leader changes only 12 bytes of the header:
the base offset and the leader epoch, which the CRC does not cover. The records stay unchanged. This
list has on the left the reasons for refusing a batch, and on the right the error that the producer
gets:

    size, magic, CRC-32C                                      CORRUPT_MESSAGE
    larger than max.message.bytes                             MESSAGE_TOO_LARGE
    base offset not 0, count 0 or not last offset delta + 1,
      control bit, more than one batch                        INVALID_RECORD
    timestamp type LogAppendTime                              INVALID_TIMESTAMP
    unknown codec, compressed data that cannot be unpacked    UNKNOWN_SERVER_ERROR
    a timestamp below -1, if the records are packed again     UNKNOWN_SERVER_ERROR

Kafka unpacks every compressed batch and checks every record. This broker unpacks compressed batches
too (in C), because data that cannot be unpacked would stop the consumers. But to check a record
takes 1 µs in Python. So the broker checks the records only in a small batch (WALK_LIMIT), or if the
topic's configuration requires the check. A compacted topic refuses a record without a key. With
message.timestamp.difference.max.ms a record with a wrong timestamp is refused.

This leads to one difference from Kafka. A large batch may have the right checksum, but records that
do not match its header. Kafka refuses such a batch, and the producer gets an error. This broker
stores the batch, and the consumer gets the error.

With LogAppendTime the leader sets the max timestamp and the timestamp bit. Then it must compute the
CRC again, which is a second pass over the bytes. In two cases the records are unpacked and packed
again into one new v2 batch: the topic has its own compression.type, or the producer sends messages
of format v0 or v1.

A topic with an older message.format.version stores v0 or v1 (`validate_for_old_format`). For such a
topic a v2 batch is unpacked. It is refused if older messages cannot hold its content: headers
(UNKNOWN_SERVER_ERROR, as in Kafka), or the numbers of an idempotent producer or a transaction
(UNSUPPORTED_FOR_MESSAGE_FORMAT).

Next hop: ProducerStateManager, then LogSegment.
"""

import struct
from typing import Final, NamedTuple

import google_crc32c

from kafka_edu.common.config_def import MAX_LONG
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log_append_info import RecordError
from kafka_edu.log.log_config import LogConfig
from kafka_edu.record.compression import CompressionType, decompress
from kafka_edu.record.legacy import OldProduce, encode_message, read_old_produce
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import InvalidRecordError, Record, decode_records
from kafka_edu.record.record_batch import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_MASK,
    CONTROL_BIT,
    CRC_OFFSET,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecordError,
    TimestampType,
    build_batch,
    check_crc,
    check_entry,
    iter_headers,
    parse_header,
    read_records,
)

WALK_LIMIT: Final = 32
"""In a batch of at most this many records each record is checked, which takes up to 30 µs."""
_NO_PRODUCER: Final = BatchHeader(
    0,
    0,
    NO_PARTITION_LEADER_EPOCH,
    MAGIC_V2,
    0,
    0,
    0,
    NO_TIMESTAMP,
    NO_TIMESTAMP,
    NO_PRODUCER_ID,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    0,
)
_SET_BY_PRODUCER: Final = (
    "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime."
)


class RecordValidationError(KafkaException):
    """The error for a batch with invalid records. The whole batch is refused, and `record_errors`
    lists the invalid records (KIP-467).
    """

    def __init__(self, error: Errors, message: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(error, message)
        self.record_errors = record_errors


class ValidBatch(NamedTuple):
    """A batch ready to be stored, except for its base offset and leader epoch."""

    header: BatchHeader
    """The header as it will be stored, but with the producer's `base_offset` and
    `partition_leader_epoch`.
    """
    head: bytearray
    """The bytes of the header (61). The log writes the base offset and the leader epoch into
    them.
    """
    rest: Buffer
    """The bytes after the header. If possible these are the producer's bytes, not copied."""
    max_timestamp: int
    rebuilt: bool = False
    """Whether this is a new batch with the producer's records, instead of the batch that the
    producer sent.
    """


def validate(
    records: Buffer,
    topic_partition: TopicPartition,
    config: LogConfig,
    now_ms: int,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> ValidBatch | None:
    """Check the records of a client or coordinator, and return the batch to be stored.

    Return None if `records` has no whole batch, which is not an error here. Raises KafkaException
    with an error from the list in the module's docstring. If the batch is stored as it arrived,
    this takes O(1), except for the CRC, and for unpacking or checking the records.
    """
    if len(records) <= MAGIC_OFFSET:
        return None
    if records[MAGIC_OFFSET] != MAGIC_V2:
        return _from_old_messages(records, topic_partition, config, now_ms)
    header = _checked_header(records, config, origin)
    if header is None:
        return None
    view = memoryview(records)
    rest = view[HEADER_BYTES : header.batch_length + LOG_OVERHEAD]
    latest = max(header.max_timestamp, NO_TIMESTAMP)
    if (
        header.attributes & COMPRESSION_MASK
        or header.records_count <= WALK_LIMIT
        or config.compact
        or config.message_timestamp_difference_max_ms != MAX_LONG
        or config.compression is not None
    ):
        found = _look_inside(header, rest, topic_partition, config, now_ms)
        if isinstance(found, ValidBatch):
            return found
        latest = found
    head = bytearray(view[:HEADER_BYTES])
    if config.log_append_time:
        return _with_times(header, head, rest, now_ms, TimestampType.LOG_APPEND_TIME)
    if latest != header.max_timestamp:
        return _with_times(header, head, rest, latest, TimestampType.CREATE_TIME)
    return ValidBatch(header, head, rest, latest)


def validate_for_old_format(
    records: Buffer,
    topic_partition: TopicPartition,
    config: LogConfig,
    now_ms: int,
    origin: AppendOrigin,
    next_offset: int,
) -> tuple[bytes, int] | None:
    """Check records for a log of format v0 or v1. Return (messages to be stored, number of
    records).

    The messages have the offsets from `next_offset` on. Always O(records): each record gets its
    offset, and compressed records are packed again, except for a v1 wrapper in a log of v1. In
    messages that are not packed again, a timestamp below -1 becomes -1, as in Kafka.
    """
    if len(records) <= MAGIC_OFFSET:
        return None
    old = (
        _old_produce(records, config)
        if records[MAGIC_OFFSET] != MAGIC_V2
        else _from_batch(records, config, origin)
    )
    if old is None:
        return None
    _check_records(old.records, topic_partition, config, now_ms)
    magic, codec = (
        config.record_version,
        old.compression if config.compression is None else config.compression,
    )
    time = now_ms if config.log_append_time else None
    numbered = [
        r._replace(
            offset=next_offset + r.offset,
            timestamp=max(r.timestamp, NO_TIMESTAMP) if time is None else time,
        )
        for r in old.records
    ]
    wrapper = old.wrapper
    if wrapper is not None and magic == wrapper.magic and codec is old.compression:
        attributes = codec | (LOG_APPEND_TIME_BIT if config.log_append_time else 0)
        latest = max(r.timestamp for r in numbered)
        stored = encode_message(
            numbered[-1].offset, magic, attributes, latest, wrapper.key, wrapper.value
        )
    else:
        if codec or old.compression or magic != old.magic:
            _refuse_negative_timestamps(old.records)
        if codec is CompressionType.ZSTD:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, f"zstd is not supported in messages of format v{magic}"
            )
        stored = build_records(numbered, magic, codec, timestamp_type=_timestamp_type(config))
    for _, header in iter_headers(stored):
        _check_size(header.size_in_bytes, config)
    return stored, len(numbered)


def check_leader_batches(records: memoryview, next_offset: int) -> list[tuple[int, BatchHeader]]:
    """Check the bytes that a follower got from its leader. Return (position, header) of each whole
    batch.

    O(bytes), for the CRCs. Raises CORRUPT_MESSAGE if a checksum is wrong, and OFFSET_OUT_OF_RANGE
    if the batches do not ascend from `next_offset`, the follower's LEO.
    """
    batches = list(iter_headers(records))
    for position, header in batches:
        check_crc(records[position : position + header.batch_length + LOG_OVERHEAD], header)
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE,
                f"a batch of offsets {header.base_offset} to {header.last_offset} where"
                f" {next_offset} is due",
            )
        next_offset = header.base_offset + header.last_offset_delta + 1
    return batches


def _refuse_second_batch(records: Buffer, size: int) -> None:
    """Raise InvalidRecordError if the first batch is followed by another whole batch.

    A partial batch after the first one is not an error, and is not stored.
    """
    left = len(records) - size
    if (
        left > MAGIC_OFFSET
        and left >= int.from_bytes(records[size + 8 : size + 12], "big", signed=True) + LOG_OVERHEAD
    ):
        raise InvalidRecordError("Compressed outer record has more than one batch")


def _checked_header(records: Buffer, config: LogConfig, origin: AppendOrigin) -> BatchHeader | None:
    """Return the header of the one v2 batch in `records`, after checking header and checksum.

    Return None if the end of the batch is missing.
    """
    if len(records) < HEADER_BYTES:
        check_entry(int.from_bytes(records[8:12], "big", signed=True), MAGIC_V2)
        return None
    header = BatchHeader._make(HEADER.unpack_from(records))
    size = header.batch_length + LOG_OVERHEAD
    check_entry(header.batch_length, MAGIC_V2)
    if size > len(records):
        return None
    _refuse_second_batch(records, size)
    _check_header(header, size, config, origin)
    crc = google_crc32c.value(bytes(memoryview(records)[ATTRIBUTES_OFFSET:size]))
    if crc != header.crc:
        raise CorruptRecordError(
            f"Record is corrupt (stored crc = {header.crc}, computed crc = {crc})"
        )
    if header.attributes & LOG_APPEND_TIME_BIT:
        raise _set_by_producer(header.records_count)
    return header


def _check_size(size: int, config: LogConfig) -> None:
    if size > config.max_message_bytes:
        raise KafkaException(
            Errors.MESSAGE_TOO_LARGE,
            f"The record batch size is {size} bytes which exceeds the maximum configured value of"
            f" {config.max_message_bytes}.",
        )


def _check_header(header: BatchHeader, size: int, config: LogConfig, origin: AppendOrigin) -> None:
    if header.base_offset != 0:
        raise _refused_header(
            f"The baseOffset of the record batch should be 0, but it is {header.base_offset}"
        )
    _check_size(size, config)
    count = header.records_count
    if header.last_offset_delta < 0:
        raise _refused_header(
            f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}]"
        )
    if count <= 0:
        raise _refused_header(f"Invalid reported count for record batch: {count}")
    if count != header.last_offset_delta + 1:
        raise _refused_header(
            f"Inconsistent batch offset range [0, {header.last_offset}] and count of records"
            f" {count}"
        )
    if origin is AppendOrigin.CLIENT:
        if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
            raise _refused_header(
                f"Invalid sequence number {header.base_sequence} in record batch with producerId"
                f" {header.producer_id}"
            )
        if header.attributes & CONTROL_BIT:
            raise _refused_header("Clients are not allowed to write control records")


def _refused_header(why: str) -> RecordValidationError:
    return RecordValidationError(Errors.INVALID_RECORD, why, ())


def _look_inside(
    header: BatchHeader,
    rest: memoryview,
    topic_partition: TopicPartition,
    config: LogConfig,
    now_ms: int,
) -> ValidBatch | int:
    """Unpack the batch, and check its records if that is necessary.

    Return a new batch if the topic has a different codec; otherwise return the latest timestamp of
    the records. If the records are not checked, the timestamp is that of the header. As in Kafka,
    timestamps below -1 do not count. Without a valid timestamp the result is -1.
    """
    codec = header.compression
    body = decompress(codec, rest) if codec else bytes(rest)
    wanted = config.compression
    other_codec = wanted is not None and wanted is not codec and not header.attributes & CONTROL_BIT
    checked = config.compact or config.message_timestamp_difference_max_ms != MAX_LONG
    if not (checked or other_codec or header.records_count <= WALK_LIMIT):
        return max(header.max_timestamp, NO_TIMESTAMP)
    records = decode_records(body, header.records_count, 0, header.base_timestamp)
    if checked:
        _check_records(records, topic_partition, config, now_ms)
    if not other_codec or wanted is None:
        if codec and any(record.offset != i for i, record in enumerate(records)):
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                "the records of a compressed batch are not numbered 0, 1, 2 …",
            )
        return max([NO_TIMESTAMP, *[record.timestamp for record in records]])
    return _rebuilt(
        [r._replace(offset=i) for i, r in enumerate(records)], wanted, header, config, now_ms
    )


def _check_records(
    records: list[Record], topic_partition: TopicPartition, config: LogConfig, now_ms: int
) -> None:
    if config.compact:
        without_key = [i for i, r in enumerate(records) if r.key is None]
        if without_key:
            why = (
                "Compacted topic cannot accept message without key in topic partition"
                f" {topic_partition}."
            )
            raise RecordValidationError(
                Errors.INVALID_RECORD,
                "One or more records have been rejected",
                tuple(RecordError(i, why) for i in without_key),
            )
    limit = config.message_timestamp_difference_max_ms
    if not config.log_append_time and limit != MAX_LONG:
        late = tuple(
            RecordError(
                i,
                f"Timestamp {r.timestamp} of message with offset {r.offset} is out of range. The"
                f" timestamp should be within [{now_ms - limit}, {now_ms + limit}]",
            )
            for i, r in enumerate(records)
            if r.timestamp != NO_TIMESTAMP and abs(r.timestamp - now_ms) > limit
        )
        if late:
            raise _refused_timestamps(late)


def _refuse_negative_timestamps(records: list[Record]) -> None:
    """Refuse a timestamp below -1 in records that the broker packs again, as Kafka does.

    Records that are stored as they came may have such timestamps.
    """
    for record in records:
        if record.timestamp < NO_TIMESTAMP:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, f"Invalid negative timestamp {record.timestamp}"
            )


def _set_by_producer(count: int) -> RecordValidationError:
    return _refused_timestamps(tuple(RecordError(i, _SET_BY_PRODUCER) for i in range(count)))


def _refused_timestamps(record_errors: tuple[RecordError, ...]) -> RecordValidationError:
    return RecordValidationError(
        Errors.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        record_errors,
    )


def _with_times(
    header: BatchHeader, head: bytearray, rest: Buffer, latest: int, timestamp_type: TimestampType
) -> ValidBatch:
    """Return the batch with the max timestamp `latest` and the timestamp type `timestamp_type`.

    `latest` is the leader's time, or the latest timestamp of the records. The CRC is computed
    again, because two header fields change.
    """
    by_broker = LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0
    stored = header._replace(attributes=header.attributes | by_broker, max_timestamp=latest)
    HEADER.pack_into(head, 0, *stored)
    crc = google_crc32c.extend(
        google_crc32c.value(bytes(memoryview(head)[ATTRIBUTES_OFFSET:])), bytes(rest)
    )
    struct.pack_into(">I", head, CRC_OFFSET, crc)
    return ValidBatch(stored._replace(crc=crc), head, rest, latest)


def _old_produce(records: Buffer, config: LogConfig) -> OldProduce | None:
    """Read and check the messages of a Produce v0–2, in format v0 or v1. The caller checks the
    records later.

    Return None if there is no whole message.
    """
    old = read_old_produce(records)
    _check_size(old.largest_message, config)
    if not old.records:
        return None
    if old.log_append_time:
        raise _set_by_producer(len(old.records))
    return old


def _from_batch(records: Buffer, config: LogConfig, origin: AppendOrigin) -> OldProduce | None:
    """Check a v2 batch and return its records, for a log of an older format.

    Return None if the end of the batch is missing.
    """
    header = _checked_header(records, config, origin)
    if header is None:
        return None
    if header.is_transactional or header.producer_id != NO_PRODUCER_ID:
        what = "Transactional" if header.is_transactional else "Idempotent"
        raise KafkaException(
            Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"{what} records cannot be used with magic version {config.record_version}",
        )
    found = read_records(memoryview(records)[: header.size_in_bytes])
    if any(record.headers for record in found):
        raise KafkaException(
            Errors.UNKNOWN_SERVER_ERROR,
            f"Magic v{config.record_version} does not support record headers",
        )
    return OldProduce(
        [r._replace(offset=i) for i, r in enumerate(found)],
        MAGIC_V2,
        header.compression,
        header.size_in_bytes,
        False,
    )


def _from_old_messages(
    records: Buffer, topic_partition: TopicPartition, config: LogConfig, now_ms: int
) -> ValidBatch | None:
    """Return one v2 batch with the records of a Produce v0–2 in format v0 or v1."""
    old = _old_produce(records, config)
    if old is None:
        return None
    _check_records(old.records, topic_partition, config, now_ms)
    codec = old.compression if config.compression is None else config.compression
    return _rebuilt(old.records, codec, _NO_PRODUCER, config, now_ms)


def _timestamp_type(config: LogConfig) -> TimestampType:
    return TimestampType.LOG_APPEND_TIME if config.log_append_time else TimestampType.CREATE_TIME


def _rebuilt(
    records: list[Record],
    codec: CompressionType,
    source: BatchHeader,
    config: LogConfig,
    now_ms: int,
) -> ValidBatch:
    """Return a new batch with these records, and with the producer id, epoch and sequence of
    `source`.

    The size of the new batch may differ from that of the producer's batch. With LogAppendTime only
    the new header has the leader's time. The records keep the producer's timestamps, which no
    reader uses, as in Kafka. Raises UNKNOWN_SERVER_ERROR for a timestamp below -1.
    """
    _refuse_negative_timestamps(records)
    batch = build_batch(
        records,
        compression=codec,
        timestamp_type=_timestamp_type(config),
        max_timestamp=now_ms if config.log_append_time else None,
        producer_id=source.producer_id,
        producer_epoch=source.producer_epoch,
        base_sequence=source.base_sequence,
        is_transactional=source.is_transactional,
    )
    _check_size(len(batch), config)
    header = parse_header(batch)
    return ValidBatch(
        header,
        bytearray(batch[:HEADER_BYTES]),
        memoryview(batch)[HEADER_BYTES:],
        header.max_timestamp,
        rebuilt=True,
    )
