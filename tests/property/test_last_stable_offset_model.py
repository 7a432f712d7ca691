"""The last stable offset, a fetch's aborted transactions and the producers' state, compared with
reading the whole log by brute force (spec X1, X2).
"""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
CONFIG = LogConfig.parse(
    {"segment.bytes": "600", "segment.index.bytes": "1000", "index.interval.bytes": "1"}
)


class Entry(NamedTuple):
    """One batch of the log, as a reader of the whole log sees it."""

    first: int
    last: int
    producer: int
    marker: ControlRecordType | None
    transactional: bool


def open_log(files: MemoryFileSystem, clean: bool) -> Log:
    return load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        files,
        CONFIG,
        clean_shutdown=clean,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )[0]


def stable_by_reading(entries: list[Entry], high_watermark: int, reloaded: int) -> int:
    """Return the last stable offset, found by reading all entries: the first record of the oldest
    open transaction, or the high watermark. A marker counts if it is below the high watermark or
    below `reloaded`.
    """
    began: dict[int, int] = {}
    for entry in entries:
        if entry.marker is not None:
            if entry.last < max(high_watermark, reloaded):
                began.pop(entry.producer, None)
        elif entry.transactional:
            began.setdefault(entry.producer, entry.first)
    return min([high_watermark, *began.values()])


def aborted_by_reading(entries: list[Entry]) -> list[tuple[int, int, int]]:
    began: dict[int, int] = {}
    found = []
    for entry in entries:
        if entry.marker is None:
            if entry.transactional:
                began.setdefault(entry.producer, entry.first)
        elif entry.producer in began:
            first = began.pop(entry.producer)
            if entry.marker is ControlRecordType.ABORT:
                found.append((entry.producer, first, entry.last))
    return found


def committed_by_reading(entries: list[Entry], stable: int) -> list[int]:
    """Return the offsets of data that a read_committed reader must see."""
    aborted = aborted_by_reading(entries)
    return [
        offset
        for entry in entries
        if entry.marker is None
        for offset in range(entry.first, entry.last + 1)
        if offset < stable
        and not (
            entry.transactional
            and any(p == entry.producer and first <= offset < last for p, first, last in aborted)
        )
    ]


def committed_by_fetching(log: Log, size: int) -> list[int]:
    """Return the data that a client sees by fetches of `size` bytes and their lists of aborted
    transactions, like Kafka's consumer.
    """
    seen: list[int] = []
    offset = log.log_start_offset
    while offset < log.last_stable_offset:
        data = log.read(offset, size, max_offset=log.last_stable_offset, min_one_message=True)
        waiting = sorted(
            log.aborted_transactions(offset, data), key=lambda aborted: aborted.first_offset
        )
        aborting: set[int] = set()
        records = part_bytes(data.records)
        for _, header in iter_headers(records):
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborting.add(waiting.pop(0).producer_id)
            if header.is_control:
                aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                seen += [o for o in range(header.base_offset, header.next_offset) if o >= offset]
            next_offset = header.next_offset
        offset = next_offset
    return seen


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("end"), st.integers(0, 3), st.sampled_from([0, 1])),
        st.tuples(st.just("replicate"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("restart"), st.sampled_from([0, 1]), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(0, 6), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([1, 150, 300, 1000]))
def test_log_and_reader_agree(steps: list[tuple[str, int, int]], size: int) -> None:
    """Producers 0 to 2 write in transactions, and producer 3 writes without transactions. The log
    is restarted after crashes and after clean ends, and is truncated.
    """
    files = MemoryFileSystem()
    log = open_log(files, False)
    entries: list[Entry] = []
    sequences: dict[int, int] = {}
    high_watermark = reloaded = 0
    for act, a, b in steps:
        if act == "write":
            sequence, transactional = sequences.get(a, 0), a != 3
            records = [Record(i, NOW, b"k", b"v") for i in range(b)]
            batch = build_batch(
                records,
                producer_id=a,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=transactional,
            )
            info = log.append_as_leader(batch, 0, NOW)
            assert not info.duplicate
            assert log.append_as_leader(batch, 0, NOW).duplicate, "sent again, it is known"
            entries.append(Entry(info.first_offset, info.last_offset, a, None, transactional))
            sequences[a] = sequence + b
        elif act == "end":
            marker = build_end_transaction_marker(
                EndTransactionMarker(ControlRecordType(b), 0), a, 0, NOW
            )
            info = log.append_as_leader(marker, 0, NOW, origin=AppendOrigin.COORDINATOR)
            entries.append(
                Entry(info.first_offset, info.last_offset, a, ControlRecordType(b), True)
            )
        elif act == "replicate":
            high_watermark = max(
                high_watermark, 0, *(entry.last + 1 for entry in entries[: len(entries) - a])
            )
        elif act == "restart":
            if a:
                log.close()
            log = open_log(files, bool(a))
            reloaded = log.log_end_offset
        elif act == "truncate":
            log.truncate_to(
                max(high_watermark, 0, *(entry.last + 1 for entry in entries[: len(entries) - a]))
            )
            entries = [entry for entry in entries if entry.last < log.log_end_offset]
            reloaded = log.log_end_offset
            sequences = {}
            for entry in entries:
                if entry.marker is None:
                    sequences[entry.producer] = (
                        sequences.get(entry.producer, 0) + entry.last - entry.first + 1
                    )
        log.update_high_watermark(high_watermark)
        # A transaction that ended before a restart may count as settled, because a snapshot of
        # producers holds only open transactions (as in Kafka).
        strict, lax = (
            stable_by_reading(entries, high_watermark, 0),
            stable_by_reading(entries, high_watermark, reloaded),
        )
        assert strict <= log.last_stable_offset <= lax
    indexed = [
        (a.producer_id, a.first_offset, a.last_offset)
        for segment in log.segments
        for a in segment.txn_index.entries()
    ]
    assert indexed == aborted_by_reading(entries)
    assert committed_by_fetching(log, size) == committed_by_reading(entries, log.last_stable_offset)
    for producer, sequence in sequences.items():
        try:
            batch = build_batch(
                [Record(0, NOW, b"k", b"v")],
                producer_id=producer,
                producer_epoch=0,
                base_sequence=sequence + 1,
                is_transactional=producer != 3,
            )
            log.append_as_leader(batch, 0, NOW)
        except KafkaException:
            continue
        raise AssertionError("a gap was taken")
