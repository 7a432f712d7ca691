"""What a leader asks of a producer's records, and what it changes (Kafka: LogValidator.scala; analyzeAndValidateRecords in Log.scala).

A v2 batch is stored as it came. Only its header is looked at, and only 12 bytes of it change, base offset and leader epoch, which the CRC leaves
out; records are neither unpacked nor copied. What is checked, and what a producer is told:

    size, magic, CRC-32C                                      CORRUPT_MESSAGE
    larger than max.message.bytes                             MESSAGE_TOO_LARGE
    base offset not 0, count not last offset delta + 1 or 0,
      control bit, more than one batch                        INVALID_RECORD
    timestamp type LogAppendTime                              INVALID_TIMESTAMP
    unknown codec, compressed data that cannot be unpacked    UNKNOWN_SERVER_ERROR

Kafka unpacks every compressed batch and walks every record. Here a compressed batch is unpacked, in C, for what cannot be unpacked would stop its
consumers; but the records are walked, at 1 µs each, only where they are few (WALK_LIMIT) or the topic's configuration asks for it: a compacted
topic refuses a record without a key, and message.timestamp.difference.max.ms one whose time is off. So of a large batch with a right checksum
whose records are not what its header says, Kafka tells the producer, and this broker lets the consumer find out.

With LogAppendTime the leader sets max timestamp and the timestamp bit, and so the CRC: a second pass over the bytes. A topic with a
compression.type of its own, and messages of formats v0 and v1, cost unpacking and packing: they become one new v2 batch.

Next hop: ProducerStateManager, then LogSegment.
"""

import struct
from typing import Final, NamedTuple

import google_crc32c

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log_append_info import RecordError
from kafka_edu.log.log_config import LogConfig
from kafka_edu.record.compression import CompressionType, compress, decompress
from kafka_edu.record.legacy import up_convert
from kafka_edu.record.record import InvalidRecordError, Record, decode_records, encode_records
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
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecordError,
    assemble_batch,
    build_batch,
    check_crc,
    check_entry,
    iter_headers,
    parse_header,
)

WALK_LIMIT: Final = 32
"""Batches of at most so many records are walked record by record: up to 30 µs."""
_FIRST_VERSION_WITH_ZSTD: Final = 7
_FIRST_VERSION_OF_V2: Final = 3
_MAX_LONG: Final = 2**63 - 1


class RecordValidationError(KafkaException):
    """Some records of a batch are refused, and with them the batch; says which (KIP-467)."""

    def __init__(self, error: Errors, message: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(error, message)
        self.record_errors = record_errors


class ValidBatch(NamedTuple):
    """A batch as it may be stored, but for its base offset and leader epoch."""

    header: BatchHeader
    """As it will be stored; `base_offset` and `partition_leader_epoch` are still the producer's."""
    head: bytearray
    """The first 61 bytes, in which the log writes these two."""
    rest: Buffer
    """What follows them: the producer's own bytes, not copied."""
    max_timestamp: int
    rebuilt: bool = False
    """It is not what the producer sent, but a new batch with the same records."""


def validate(records: Buffer, config: LogConfig, now_ms: int, api_version: int, origin: AppendOrigin = AppendOrigin.CLIENT) -> ValidBatch | None:
    """What a client (or a coordinator) sent, checked and made ready to be stored. None if there is not one whole record in it, which is no error here.

    Raises KafkaException as told above. O(1) but for the CRC, when the batch is stored as it came.
    """
    if len(records) <= MAGIC_OFFSET:
        return None
    if records[MAGIC_OFFSET] != MAGIC_V2:
        return _from_old_messages(records, config, now_ms)
    if len(records) < HEADER_BYTES:
        check_entry(int.from_bytes(records[8:12], "big", signed=True), MAGIC_V2)
        return None
    header = BatchHeader._make(HEADER.unpack_from(records))
    size = header.batch_length + LOG_OVERHEAD
    check_entry(header.batch_length, MAGIC_V2)
    if size > len(records):
        return None
    _refuse_second_batch(records, size)
    _check_header(header, size, config, api_version, origin)
    view = memoryview(records)
    body = view[ATTRIBUTES_OFFSET:size]
    crc = google_crc32c.value(bytes(body))
    if crc != header.crc:
        raise CorruptRecordError(f"Record is corrupt (stored crc = {header.crc}, computed crc = {crc})")
    attributes = header.attributes
    if attributes & LOG_APPEND_TIME_BIT:
        raise _refused_timestamps(
            "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.", range(header.records_count)
        )
    rest = view[HEADER_BYTES:size]
    if (
        attributes & COMPRESSION_MASK
        or header.records_count <= WALK_LIMIT
        or config.compact
        or config.message_timestamp_difference_max_ms != _MAX_LONG
        or config.compression is not None
    ):
        recompressed = _look_inside(header, rest, config, now_ms)
        if recompressed is not None:
            return recompressed
    head = bytearray(view[:HEADER_BYTES])
    if config.log_append_time:
        return _with_log_append_time(header, head, rest, now_ms)
    return ValidBatch(header, head, rest, header.max_timestamp)


def check_leader_batches(records: memoryview, next_offset: int) -> list[tuple[int, BatchHeader]]:
    """What a leader gave its follower, checked: position and header of each whole batch. O(bytes), for the CRCs.

    Raises CORRUPT_MESSAGE for a wrong checksum, OFFSET_OUT_OF_RANGE for batches that do not ascend from `next_offset`, the follower's LEO.
    """
    batches = list(iter_headers(records))
    for position, header in batches:
        check_crc(records[position : position + header.batch_length + LOG_OVERHEAD], header)
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE, f"a batch of offsets {header.base_offset} to {header.last_offset} where {next_offset} is due"
            )
        next_offset = header.base_offset + header.last_offset_delta + 1
    return batches


def _refuse_second_batch(records: Buffer, size: int) -> None:
    """A partial batch behind a whole one is left out; a second whole one is refused."""
    left = len(records) - size
    if left > MAGIC_OFFSET and left >= int.from_bytes(records[size + 8 : size + 12], "big", signed=True) + LOG_OVERHEAD:
        raise InvalidRecordError("Compressed outer record has more than one batch")


def _check_header(header: BatchHeader, size: int, config: LogConfig, api_version: int, origin: AppendOrigin) -> None:
    if header.base_offset != 0:
        raise InvalidRecordError(f"The baseOffset of the record batch should be 0, but it is {header.base_offset}")
    if size > config.max_message_bytes:
        raise KafkaException(
            Errors.MESSAGE_TOO_LARGE,
            f"The record batch size is {size} bytes which exceeds the maximum configured value of {config.max_message_bytes}.",
        )
    count = header.records_count
    if header.last_offset_delta < 0:
        raise InvalidRecordError(f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}]")
    if count <= 0:
        raise InvalidRecordError(f"Invalid reported count for record batch: {count}")
    if count != header.last_offset_delta + 1:
        raise InvalidRecordError(f"Inconsistent batch offset range [0, {header.last_offset}] and count of records {count}")
    if header.attributes & CONTROL_BIT and origin is AppendOrigin.CLIENT:
        raise InvalidRecordError("Clients are not allowed to write control records")
    if header.attributes & COMPRESSION_MASK == CompressionType.ZSTD and api_version < _FIRST_VERSION_WITH_ZSTD:
        if api_version < _FIRST_VERSION_OF_V2:
            raise InvalidRecordError("zstd needs Produce v7 or later")
        raise KafkaException(Errors.UNSUPPORTED_COMPRESSION_TYPE, "Produce requests with version < 7 are not allowed to use ZStandard compression")


def _look_inside(header: BatchHeader, rest: memoryview, config: LogConfig, now_ms: int) -> ValidBatch | None:
    """Unpack, and walk the records if there is reason to; a new batch if the topic wants another codec, else None."""
    codec = header.compression
    body = decompress(codec, rest) if codec else bytes(rest)
    wanted = config.compression
    other_codec = wanted is not None and wanted is not codec and not header.attributes & CONTROL_BIT
    checked = config.compact or config.message_timestamp_difference_max_ms != _MAX_LONG
    if not (checked or other_codec or header.records_count <= WALK_LIMIT):
        return None
    records = decode_records(body, header.records_count, 0, header.base_timestamp)
    if checked:
        _check_records(records, config, now_ms)
    if not other_codec or wanted is None:
        return None
    records = [r._replace(offset=i) for i, r in enumerate(records)]
    attributes = header.attributes & ~COMPRESSION_MASK | wanted
    return _rebuilt(
        assemble_batch(compress(wanted, encode_records(records, 0, header.base_timestamp)), header._replace(attributes=attributes)), config, now_ms
    )


def _check_records(records: list[Record], config: LogConfig, now_ms: int) -> None:
    if config.compact:
        errors = tuple(
            RecordError(i, "Compacted topic cannot accept message without key in topic partition.") for i, r in enumerate(records) if r.key is None
        )
        if errors:
            raise RecordValidationError(Errors.INVALID_RECORD, "One or more records have been rejected", errors)
    limit = config.message_timestamp_difference_max_ms
    if not config.log_append_time and limit != _MAX_LONG:
        late = [i for i, r in enumerate(records) if r.timestamp != NO_TIMESTAMP and abs(r.timestamp - now_ms) > limit]
        if late:
            raise _refused_timestamps(f"Timestamp of message is more than {limit} ms from the broker's time {now_ms}", late)


def _refused_timestamps(why: str, indexes: range | list[int]) -> RecordValidationError:
    return RecordValidationError(
        Errors.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", tuple(RecordError(i, why) for i in indexes)
    )


def _with_log_append_time(header: BatchHeader, head: bytearray, rest: Buffer, now_ms: int) -> ValidBatch:
    """The leader's time as that of all records: two fields of the header, and the CRC over all."""
    stored = header._replace(attributes=header.attributes | LOG_APPEND_TIME_BIT, max_timestamp=now_ms)
    HEADER.pack_into(head, 0, *stored)
    crc = google_crc32c.extend(google_crc32c.value(bytes(memoryview(head)[ATTRIBUTES_OFFSET:])), bytes(rest))
    struct.pack_into(">I", head, CRC_OFFSET, crc)
    return ValidBatch(stored._replace(crc=crc), head, rest, now_ms)


def _from_old_messages(records: Buffer, config: LogConfig, now_ms: int) -> ValidBatch | None:
    """One v2 batch of what a Produce v0–2 sent in format v0 or v1."""
    old = up_convert(records)
    if old.largest_message > config.max_message_bytes:
        raise KafkaException(
            Errors.MESSAGE_TOO_LARGE,
            f"The record size is {old.largest_message} bytes which exceeds the maximum configured value of {config.max_message_bytes}.",
        )
    if not old.records:
        return None
    if old.log_append_time:
        raise _refused_timestamps(
            "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.", range(len(old.records))
        )
    _check_records(old.records, config, now_ms)
    codec = old.compression if config.compression is None else config.compression
    return _rebuilt(build_batch(old.records, compression=codec), config, now_ms)


def _rebuilt(batch: bytes, config: LogConfig, now_ms: int) -> ValidBatch:
    """A batch that was made anew; its size may have changed."""
    if len(batch) > config.max_message_bytes:
        raise KafkaException(
            Errors.MESSAGE_TOO_LARGE,
            f"The record batch size is {len(batch)} bytes which exceeds the maximum configured value of {config.max_message_bytes}.",
        )
    header = parse_header(batch)
    head, rest = bytearray(batch[:HEADER_BYTES]), memoryview(batch)[HEADER_BYTES:]
    if config.log_append_time:
        return _with_log_append_time(header, head, rest, now_ms)._replace(rebuilt=True)
    return ValidBatch(header, head, rest, header.max_timestamp, rebuilt=True)
