"""Read segment files, and return records, batches, or entries of the sparse indexes as Arrow
columns.

A segment is a sequence of batches without gaps, so the length of a batch leads to the next batch.
The file is read in pieces of some megabytes, which end between two batches. `arrow_records` decodes
the records, like those of a fetch. The formats are described in `kafka_edu.record.record_batch` and
`kafka_edu.log.offset_index`, which the brokers use. Those modules need packages that a Spark worker
may not have.
"""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from kafka_edu.common.arrays import Int64s
from kafka_edu.log.log_file_names import INDEX_SUFFIX
from kafka_edu.spark.arrow_records import (
    BATCH,
    CODEC_BITS,
    CONTROL_BIT,
    CREATE_TIME,
    LEGACY,
    LOG_APPEND_TIME,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    NO_TIMESTAMP_TYPE,
    SCHEMA,
    SCHEMA_WITH_HEADERS,
    TRANSACTIONAL_BIT,
    Wanted,
    decode,
    entries,
)
from kafka_edu.spark.crc32c import crc32c
from kafka_edu.spark.file_options import SegmentFile
from kafka_edu.spark.notices import give_notice
from kafka_edu.spark.record_codecs import CodecError, codec_name, decompress
from kafka_edu.spark.source_errors import CorruptBatchError

_PIECE_BYTES: Final = 8 * 1024 * 1024
_LAST_OFFSET: Final = 2**63 - 1
_CRC_FROM: Final = 21
"""The position in a v2 batch from which its CRC is computed: the position of the attributes."""
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_FILE: Final = pa.field("file", pa.string())

RECORD_ROWS: Final = pa.schema([*SCHEMA, _FILE])
RECORD_ROWS_WITH_HEADERS: Final = pa.schema([*SCHEMA_WITH_HEADERS, _FILE])
BATCH_ROWS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("bytes", pa.int32()),
        ("magic", pa.int32()),
        ("codec", pa.string()),
        ("baseOffset", pa.int64()),
        ("lastOffset", pa.int64()),
        ("records", pa.int32()),
        ("leaderEpoch", pa.int32()),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int32()),
        ("baseSequence", pa.int32()),
        ("transactional", pa.bool_()),
        ("control", pa.bool_()),
        ("timestampType", pa.int32()),
        ("maxTimestamp", _TIMESTAMP),
        ("crc", pa.int64()),
        ("crcRight", pa.bool_()),
        ("uncompressedBytes", pa.int64()),
    ]
)
INDEX_ROWS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("index", pa.string()),
        ("entry", pa.int64()),
        ("offset", pa.int64()),
        ("position", pa.int64()),
        ("timestamp", _TIMESTAMP),
    ]
)


class _Damage:
    """The reaction to damaged data: raise an error at the first damage, or give the user a notice
    for each damage.
    """

    def __init__(self, file: SegmentFile, fail: bool) -> None:
        self._file = file
        self._fail = fail

    def found(self, text: str, *, advice: str = "") -> None:
        """Report a damage: raise CorruptBatchError, or show the user a notice and return."""
        if self._fail:
            advice = advice or "give failOnDamage=false to read the rest"
            raise CorruptBatchError(f"{self._file.path}: {text}: {advice}")
        give_notice(f"{self._file.path}: {text} (left out, because failOnDamage=false)")


def _pieces(stream: BinaryIO, damage: _Damage) -> Iterator[tuple[int, memoryview]]:
    """Yield pieces of a file that contain only whole batches, each with its position, up to the
    file's current end.
    """
    size = os.fstat(stream.fileno()).st_size
    position, left = 0, b""
    while True:
        block = stream.read(min(_PIECE_BYTES, size - position - len(left)))
        data = left + block
        end = 0
        wrong = ""
        try:
            for _, end in entries(memoryview(data)):  # noqa: B007 - the last one counts
                pass
        except CorruptBatchError as error:
            wrong = str(error)
        if end:
            yield position, memoryview(data)[:end]
        position, left = position + end, data[end:]
        if wrong:
            if any(left) or size - position > len(left):
                damage.found(f"no batch begins at position {position}, because {wrong}")
            return
        needed = MAGIC_AT + 1
        if len(left) >= needed:
            needed = 12 + int.from_bytes(left[8:12], "big")
        if position + needed > size:
            break
    if left:
        damage.found(
            f"the batch at position {position} is cut: it has {needed} bytes or more, and"
            f" {size - position} are there",
            advice="the file was cut, or a broker writes it now; give failOnDamage=false to read"
            " the entries before it",
        )


def record_batches(
    file: SegmentFile, *, check_crcs: bool, include_headers: bool, fail_on_damage: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a segment, including records of aborted transactions. Transaction
    markers are not included.

    A damaged batch raises CorruptBatchError, or is left out if `fail_on_damage` is false. O(bytes).
    """
    damage = _Damage(file, fail_on_damage)
    topic, number = file.partition
    wanted = Wanted(topic, number, 0, _LAST_OFFSET, check_crcs, include_headers)
    schema = RECORD_ROWS_WITH_HEADERS if include_headers else RECORD_ROWS
    with Path(file.path).open("rb") as stream:
        for _, piece in _pieces(stream, damage):
            for found in _decoded(piece, wanted, damage):
                name = pa.repeat(pa.scalar(file.name, pa.string()), found.num_rows)
                yield pa.RecordBatch.from_arrays([*found.columns, name], schema=schema)


def _decoded(piece: memoryview, wanted: Wanted, damage: _Damage) -> list[pa.RecordBatch]:
    """Decode a whole piece at once. If one of its batches is damaged, decode batch by batch."""
    try:
        return list(decode(piece, wanted))
    except CorruptBatchError:
        found = []
        for at, end in entries(piece):
            try:
                found += list(decode(piece[at:end], wanted))
            except CorruptBatchError as error:
                damage.found(str(error))
        return found


def batch_rows(
    file: SegmentFile, *, check_crcs: bool, decompressed: bool, fail_on_damage: bool
) -> Iterator[pa.RecordBatch]:
    """Yield a row for each batch of a segment. A wrong checksum does not count as damage here. The
    row says whether the checksum is right.

    Batches are decompressed only if `decompressed` is set. Raises CorruptBatchError if bytes are
    not a batch. O(batches), or O(bytes) with checksums or decompression.
    """
    damage = _Damage(file, fail_on_damage)
    with Path(file.path).open("rb") as stream:
        for position, piece in _pieces(stream, damage):
            rows = []
            for at, end in entries(piece):
                row = _batch_row(piece[at:end], position + at, file, check_crcs)
                if decompressed:
                    row["uncompressedBytes"] = _uncompressed(piece[at:end], damage)
                rows.append(row)
            yield pa.RecordBatch.from_pylist(rows, schema=BATCH_ROWS)


def _batch_row(
    entry: memoryview, position: int, file: SegmentFile, check_crcs: bool
) -> dict[str, object]:
    row: dict[str, object] = {
        "topic": file.partition.topic,
        "partition": file.partition.partition,
        "file": file.name,
        "position": position,
        "bytes": len(entry),
        "magic": entry[MAGIC_AT],
        "transactional": False,
        "control": False,
    }
    if entry[MAGIC_AT] < 2:
        offset, _, crc, magic, attributes = LEGACY.unpack_from(entry)
        codec = attributes & CODEC_BITS
        timestamp = int.from_bytes(entry[18:26], "big", signed=True) if magic else -1
        by_leader = attributes & LOG_APPEND_TIME_BIT
        row |= {
            # The offset of a compressed set is the offset of its last message, so the base offset
            # is unknown.
            "baseOffset": None if codec else offset,
            "lastOffset": offset,
            "records": None if codec else 1,
            "timestampType": _timestamp_type(bool(by_leader)) if magic else NO_TIMESTAMP_TYPE,
            "crcRight": zlib.crc32(entry[MAGIC_AT:]) == crc if check_crcs else None,
        }
    else:
        (base, _, epoch, _, crc, attributes, delta, _, timestamp, producer, producer_epoch,
         sequence, count) = BATCH.unpack_from(entry)  # fmt: skip
        codec = attributes & CODEC_BITS
        row |= {
            "baseOffset": base,
            "lastOffset": base + delta,
            "records": count,
            "leaderEpoch": None if epoch < 0 else epoch,
            "producerId": None if producer < 0 else producer,
            "producerEpoch": None if producer < 0 else producer_epoch,
            "baseSequence": None if sequence < 0 else sequence,
            "transactional": bool(attributes & TRANSACTIONAL_BIT),
            "control": bool(attributes & CONTROL_BIT),
            "timestampType": _timestamp_type(bool(attributes & LOG_APPEND_TIME_BIT)),
            "crcRight": crc32c(bytes(entry[_CRC_FROM:])) == crc if check_crcs else None,
        }
    return row | {
        "codec": codec_name(codec),
        "maxTimestamp": None if timestamp < 0 else timestamp * 1000,
        "crc": crc,
    }


def _timestamp_type(by_leader: bool) -> int:
    return LOG_APPEND_TIME if by_leader else CREATE_TIME


def _uncompressed(entry: memoryview, damage: _Damage) -> int | None:
    """Return the uncompressed size of a v2 batch in bytes. Return None for older formats, and for a
    batch that cannot be decompressed.
    """
    if entry[MAGIC_AT] < 2:
        return None
    codec = BATCH.unpack_from(entry)[5] & CODEC_BITS
    if not codec:
        return len(entry)
    try:
        return BATCH.size + len(decompress(codec, bytes(entry[BATCH.size :]), 2))
    except CodecError as error:
        damage.found(f"the batch at offset {BATCH.unpack_from(entry)[0]}: {error}")
        return None


def index_rows(file: SegmentFile, *, fail_on_damage: bool) -> Iterator[pa.RecordBatch]:
    """Yield a row for each entry of an offset index or time index. O(entries).

    The index file of an active segment is longer than its entries. The rest of it contains zeros.
    Raises CorruptBatchError if the file cannot be an index.
    """
    damage = _Damage(file, fail_on_damage)
    data = Path(file.path).read_bytes()
    by_offset = file.path.endswith(INDEX_SUFFIX)
    layout = np.dtype([("key", ">i4" if by_offset else ">i8"), ("value", ">i4")])
    if len(data) % layout.itemsize:
        damage.found(
            f"{len(data)} bytes are not a multiple of {layout.itemsize}, the size of an entry"
        )
    table = np.frombuffer(data, layout, len(data) // layout.itemsize)
    keys, values = table["key"].astype(np.int64), table["value"].astype(np.int64)
    falls = np.flatnonzero(keys[1:] <= keys[:-1])
    count = int(falls[0]) + 1 if len(falls) else len(keys)
    if count and not keys[:count].any() and not values[:count].any():
        count = 0
    if keys[count:].any() or values[count:].any():
        damage.found(f"entry {count} is not above the one before it")
    yield _index_batch(file, keys[:count], values[:count], by_offset)


def _index_batch(
    file: SegmentFile, keys: Int64s, values: Int64s, by_offset: bool
) -> pa.RecordBatch:
    count = len(keys)

    def same(text: str) -> pa.Array:
        return pa.repeat(pa.scalar(text, pa.string()), count)

    columns = [
        same(file.partition.topic),
        pa.repeat(pa.scalar(file.partition.partition, pa.int32()), count),
        same(file.name),
        same("offset" if by_offset else "time"),
        pa.array(np.arange(count, dtype=np.int64)),
        pa.array((keys if by_offset else values) + file.base_offset),
        pa.array(values) if by_offset else pa.nulls(count, pa.int64()),
        pa.nulls(count, _TIMESTAMP) if by_offset else pa.array(keys * 1000, _TIMESTAMP),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=INDEX_ROWS)
