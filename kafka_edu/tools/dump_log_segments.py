"""Print the contents of a log's files line by line (Kafka: DumpLogSegments.scala).

The lines have the form of Kafka 2.0.1. The checks are those of 2.8.2. The reason: an index entry
has the offset of the last record of its batch. But 2.0.1 compares it with the first record, so it
reports a mismatch for every batch of two records. No file is opened for writing. The file is mapped
into memory, and one entry at a time is decompressed.
"""

import bisect
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from kafka_edu.log.log_file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
)
from kafka_edu.log.producer_state_manager import CorruptSnapshotError, decode_snapshot
from kafka_edu.log.transaction_index import decode_aborted
from kafka_edu.record.control_record import read_end_transaction_marker
from kafka_edu.record.legacy import inner_messages, iter_messages
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    MAGIC_V2,
    NO_SEQUENCE,
    BatchHeader,
    CorruptRecordError,
    TimestampType,
    check_crc,
    increment_sequence,
    iter_headers,
    read_records,
)

DEFAULT_MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_TIMESTAMP_TYPES: Final = {
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}

ParseRecord = Callable[[Record], tuple[str | None, str | None]]
"""A function that returns a record's key and payload as text. None means that it is not shown."""


class DumpError(Exception):
    """A file cannot be shown. The message says why."""


class DumpOptions(NamedTuple):
    """The tool's options without the names of the files."""

    print_contents: bool = False
    deep: bool = False
    verify_only: bool = False
    index_sanity_only: bool = False
    skip_record_metadata: bool = False
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES


class DumpLogSegments:
    """Prints one file after another. Afterwards, `errors` returns the mismatches of all files."""

    def __init__(self, options: DumpOptions, parse: ParseRecord) -> None:
        self._options = options
        self._parse = parse
        self._index_mismatches: dict[str, list[tuple[int, int]]] = {}
        self._time_mismatches: dict[str, list[tuple[int, int]]] = {}
        self._out_of_order_times: dict[str, list[tuple[int, int]]] = {}
        self._offsets_not_found: dict[str, list[tuple[int, int]]] = {}
        self._non_consecutive: dict[str, list[tuple[int, int]]] = {}

    def dump(self, path: str) -> Iterator[str]:
        """Yield the lines that show one file.

        Raises DumpError, OSError, KafkaException and CorruptSnapshotError if it cannot continue.
        """
        yield f"Dumping {path}"
        dumpers: dict[str, Callable[[str], Iterator[str]]] = {
            LOG_SUFFIX: self._dump_log,
            INDEX_SUFFIX: self._dump_index,
            TIME_INDEX_SUFFIX: self._dump_time_index,
            SNAPSHOT_SUFFIX: _dump_snapshot,
            TXN_INDEX_SUFFIX: _dump_txn_index,
        }
        dumper = dumpers.get(os.path.splitext(path)[1])
        if dumper is None:
            raise CannotDump(f"Ignoring unknown file {path}")
        yield from dumper(path)

    def errors(self) -> Iterator[str]:
        """Yield the lines about mismatches that were found in all files."""
        for path, found in self._index_mismatches.items():
            yield f"Mismatches in :{path}"
            for index_offset, log_offset in reversed(found):
                yield f"  Index offset: {index_offset}, log offset: {log_offset}"
        for path, found in self._time_mismatches.items():
            yield f"Found timestamp mismatch in :{path}"
            for index_time, log_time in found:
                yield f"  Index timestamp: {index_time}, log timestamp: {log_time}"
        for path, found in self._out_of_order_times.items():
            yield f"Found out of order timestamp in :{path}"
            for index_time, previous in found:
                yield f"  Index timestamp: {index_time}, Previously indexed timestamp: {previous}"
        for found in self._offsets_not_found.values():
            yield "The following indexed offsets are not found in the log."
            for index_offset, log_offset in found:
                yield f"Indexed offset: {index_offset}, found log offset: {log_offset}"
        for path, found in self._non_consecutive.items():
            yield f"Non-consecutive offsets in :{path}"
            for first, second in reversed(found):
                yield f"  {first} is followed by {second}"

    def _dump_log(self, path: str) -> Iterator[str]:
        yield f"Starting offset: {_base_offset(path)}"
        with mapped(path) as data:
            valid_bytes, last_offset = 0, -1
            for position, header, entry in _entries(path, data):
                if not self._options.deep:
                    yield _entry_line(header, entry, position)
                else:
                    for offset, line in self._record_lines(header, entry, position):
                        if last_offset not in (-1, offset - 1):
                            self._non_consecutive.setdefault(os.path.abspath(path), []).append(
                                (last_offset, offset)
                            )
                        last_offset = offset
                        yield line
                valid_bytes = position + header.size_in_bytes
            if len(data) > valid_bytes:
                yield (
                    f"Found {len(data) - valid_bytes} invalid bytes at the end of"
                    f" {os.path.basename(path)}"
                )

    def _record_lines(
        self, header: BatchHeader, entry: memoryview, position: int
    ) -> Iterator[tuple[int, str]]:
        """Yield the offset and the line of each record in a batch."""
        for record, valid, own in _records(header, entry):
            line = "|"
            if not self._options.skip_record_metadata:
                line = (
                    f"offset: {record.offset} position: {position}"
                    f" {_time(header, record.timestamp)} isvalid: {_bool(valid)} keysize:"
                    f" {_size(record.key)} valuesize: {_size(record.value)} magic: {header.magic}"
                    f" compresscodec: {header.compression.name} {own}"
                )
            if header.is_control:
                line += _control_text(entry, record)
            elif self._options.print_contents:
                key, payload = self._parse(record)
                line += (f" key: {key}" if key is not None else "") + (
                    f" payload: {payload}" if payload is not None else ""
                )
            yield record.offset, line

    def _dump_index(self, path: str) -> Iterator[str]:
        base, data = _base_offset(path), _read(path)
        entries = _index_entries(data, base)
        if not entries:
            yield f"{path} is empty."
            return
        if self._options.index_sanity_only:
            _check_size(path, data, _OFFSET_ENTRY.size, "Index file")
            last = entries[-1][0]
            if last < base:
                raise DumpError(
                    f"Corrupt index found, index file ({os.path.abspath(path)}) has non-zero size"
                    f" but the last offset is {last}, below {base}."
                )
            yield f"{path} passed sanity check."
            return
        log = _sibling(path, LOG_SUFFIX)
        with mapped(log) as records:
            for n, (offset, position) in enumerate(entries):
                if n and offset == base:  # after a crash zeros follow the last entry
                    return
                if not 0 <= position < len(records):
                    raise DumpError(
                        f"The entry for offset {offset} points to position {position}; {log} has"
                        f" {len(records)} bytes"
                    )
                found = next(
                    _entries(log, records[position : position + self._options.max_message_bytes]),
                    None,
                )
                if found is None:
                    raise DumpError(
                        f"There is no complete entry within {self._options.max_message_bytes} bytes"
                        f" from position {position} of {log}"
                    )
                if found[1].last_offset != offset:
                    self._index_mismatches.setdefault(os.path.abspath(path), []).append(
                        (offset, found[1].last_offset)
                    )
                if not self._options.verify_only:
                    yield f"offset: {offset} position: {position}"

    def _dump_time_index(self, path: str) -> Iterator[str]:
        base, data = _base_offset(path), _read(path)
        entries = [
            (timestamp, base + relative)
            for timestamp, relative in _TIME_ENTRY.iter_unpack(
                data[: len(data) - len(data) % _TIME_ENTRY.size]
            )
        ]
        if self._options.index_sanity_only:
            _check_time_index(path, data, entries, base)
            yield f"{path} passed sanity check."
            return
        index, name = (
            _index_entries(_read(_sibling(path, INDEX_SUFFIX)), base),
            os.path.abspath(path),
        )
        log = _sibling(path, LOG_SUFFIX)
        with mapped(log) as records:
            previous = -1
            for n, (timestamp, offset) in enumerate(entries):
                if n and offset == base:
                    return
                slot = bisect.bisect_right(index, offset, key=lambda entry: entry[0])
                position = index[slot - 1][1] if slot else 0
                found = next(
                    (
                        each
                        for each in _entries(log, records[position:])
                        if each[1].last_offset >= offset
                    ),
                    None,
                )
                if found is None or found[1].last_offset != offset:
                    self._offsets_not_found.setdefault(name, []).append(
                        (offset, -1 if found is None else found[1].last_offset)
                    )
                else:
                    latest = max((record.timestamp for record in read_all(found[2])), default=-1)
                    if latest != timestamp:
                        self._time_mismatches.setdefault(name, []).append((timestamp, latest))
                    if previous >= timestamp:
                        self._out_of_order_times.setdefault(name, []).append((timestamp, previous))
                if not self._options.verify_only:
                    yield f"timestamp: {timestamp} offset: {offset}"
                previous = timestamp


class CannotDump(DumpError):
    """This file cannot be shown and is skipped. The next file is still shown."""


def _dump_snapshot(path: str) -> Iterator[str]:
    try:
        entries = decode_snapshot(_read(path))
    except CorruptSnapshotError as error:
        raise CannotDump(str(error)) from error
    for entry in entries:
        first = entry.current_txn_first_offset
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
            f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset:"
            f" {f'Some({first})' if first >= 0 else 'None'} "
        )
        if entry.batches:
            batch = entry.batches[0]
            line += (
                f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence}"
                f" lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp:"
                f" {batch.timestamp}"
            )
        yield line


def _dump_txn_index(path: str) -> Iterator[str]:
    for aborted in decode_aborted(path, _read(path)):
        yield (
            f"version: 0 producerId: {aborted.producer_id} firstOffset: {aborted.first_offset}"
            f" lastOffset: {aborted.last_offset} lastStableOffset: {aborted.last_stable_offset}"
        )


def _entry_line(header: BatchHeader, entry: memoryview, position: int) -> str:
    """Return the line for one batch, or for one old message, from its header."""
    if header.magic == MAGIC_V2:
        start = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count:"
            f" {header.records_count} baseSequence: {header.base_sequence} lastSequence:"
            f" {_sequence(header, header.last_offset_delta)} producerId: {header.producer_id}"
            f" producerEpoch: {header.producer_epoch} partitionLeaderEpoch:"
            f" {header.partition_leader_epoch} isTransactional: {_bool(header.is_transactional)}"
            f" isControl: {_bool(header.is_control)}"
        )
    else:
        start = f"offset: {header.last_offset}"
    return (
        f"{start} position: {position} {_time(header, header.max_timestamp)} isvalid:"
        f" {_bool(_is_valid(header, entry))} size: {header.size_in_bytes} magic: {header.magic}"
        f" compresscodec: {header.compression.name} crc: {header.crc}"
    )


def _records(header: BatchHeader, entry: memoryview) -> Iterator[tuple[Record, bool, str]]:
    """Yield each record, whether its checksum is right, and the text that is shown only for its
    format.

    Records of v2 have no separate checksum, so the second value is True.
    """
    if header.magic == MAGIC_V2:
        own = f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} sequence: "
        for record in read_records(entry):
            sequence = _sequence(header, record.offset - header.base_offset)
            names = ",".join(name for name, _ in record.headers)
            yield (
                record,
                True,
                (
                    f"{own}{sequence} isTransactional: {_bool(header.is_transactional)} headerKeys:"
                    f" [{names}]"
                ),
            )
        return
    for wrapper in iter_messages(entry, checked=False):
        for one in inner_messages(wrapper, checked=False):
            yield (
                Record(one.offset, one.timestamp, one.key, one.value),
                one.is_valid,
                f"crc: {one.crc}",
            )


def _control_text(entry: memoryview, record: Record) -> str:
    marker = read_end_transaction_marker(entry)
    if marker is None:
        return (
            f" controlType: UNKNOWN({int.from_bytes((record.key or b'')[2:4], 'big', signed=True)})"
        )
    return f" endTxnMarker: {marker.type.name} coordinatorEpoch: {marker.coordinator_epoch}"


def _sequence(header: BatchHeader, delta: int) -> int:
    return (
        NO_SEQUENCE
        if header.base_sequence == NO_SEQUENCE
        else increment_sequence(header.base_sequence, delta)
    )


def _is_valid(header: BatchHeader, entry: memoryview) -> bool:
    try:
        check_crc(entry, header)
    except CorruptRecordError:
        return False
    return True


def _time(header: BatchHeader, timestamp: int) -> str:
    return (
        f"{'NoTimestampType' if header.magic == 0 else _TIMESTAMP_TYPES[header.timestamp_type]}:"
        f" {timestamp}"
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _size(field: bytes | None) -> int:
    return -1 if field is None else len(field)


def _entries(path: str, data: memoryview) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Yield position, header and bytes of each complete batch or message. Raises DumpError."""
    try:
        for position, header in iter_headers(data):
            yield position, header, data[position : position + header.size_in_bytes]
    except CorruptRecordError as error:
        raise DumpError(f"{error.message.rstrip('.')} in file {path}.") from error


def _index_entries(data: bytes, base: int) -> list[tuple[int, int]]:
    return [
        (base + relative, position)
        for relative, position in _OFFSET_ENTRY.iter_unpack(
            data[: len(data) - len(data) % _OFFSET_ENTRY.size]
        )
    ]


def _check_size(path: str, data: bytes, entry_bytes: int, what: str) -> None:
    if len(data) % entry_bytes:
        raise DumpError(
            f"{what} {os.path.abspath(path)} is corrupt, found {len(data)} bytes which is neither"
            f" positive nor a multiple of {entry_bytes}."
        )


def _check_time_index(path: str, data: bytes, entries: list[tuple[int, int]], base: int) -> None:
    if entries:
        (first, _), (last, offset), name = entries[0], entries[-1], os.path.abspath(path)
        corrupt = (
            f"Corrupt time index found, time index file ({name}) has non-zero size but the last"
        )
        if last < first:
            raise DumpError(
                f"{corrupt} timestamp is {last} which is less than the first timestamp {first}"
            )
        if offset < base:
            raise DumpError(
                f"{corrupt} offset is {offset} which is less than the first offset {base}"
            )
    _check_size(path, data, _TIME_ENTRY.size, "Time index file")


def _base_offset(path: str) -> int:
    name = os.path.basename(path).partition(".")[0]
    if not name.isascii() or not name.isdigit():
        raise DumpError(f'{path} is not named by an offset: for input string: "{name}"')
    return int(name)


def _sibling(path: str, suffix: str) -> str:
    return os.path.join(
        os.path.dirname(os.path.abspath(path)), os.path.basename(path).partition(".")[0] + suffix
    )


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@contextmanager
def mapped(path: str) -> Iterator[memoryview]:
    """Yield the bytes of a file as mapped memory. They are read from disk only when used."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            yield memoryview(b"")
            return
        view = memoryview(
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        )  # the map is released together with its last slice
        yield view
