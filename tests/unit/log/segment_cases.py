"""Batches after which a log rolls and deletes segments, for our broker and for Apache Kafka.

Each case is a topic. The times of a batch's records are in ms from now. All batches with the same
number of records have the same size.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

DAY_MS: Final = 24 * 3600 * 1000
BATCH_BYTES: Final = 79
"""The size of a batch with one record."""


class SegmentCase(NamedTuple):
    name: str
    config: dict[str, str]
    """The configuration of the topic from the beginning."""
    batches: tuple[tuple[int, ...], ...]
    """The times of each batch's records."""
    then: Mapping[str, str] = MappingProxyType({})
    """The configuration after the batches were written: retention."""
    delete_before: int = 0
    """DeleteRecords up to this offset; 0: none."""
    bases: tuple[int, ...] = ()
    """The base offsets of the segments that stay."""
    start: int = 0
    """The log start offset in the end."""


def evenly(count: int, step_ms: int = 0, first_ms: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return batches of one record each, `step_ms` apart."""
    return tuple((first_ms + i * step_ms,) for i in range(count))


def of_batches(count: int) -> dict[str, str]:
    """Return the settings with which a segment takes `count` batches of one record."""
    return {"segment.bytes": str(count * BATCH_BYTES)}


EACH_INDEXED: Final = {"index.interval.bytes": "0"}
OLD: Final = -5 * DAY_MS
"""Less than segment.ms ago, so the cases roll by size only."""

CASES: Final = (
    # the roll
    SegmentCase("size", of_batches(3), evenly(7), bases=(0, 3, 6)),
    SegmentCase(
        "size-one-byte-less",
        {"segment.bytes": str(3 * BATCH_BYTES - 1)},
        evenly(5),
        bases=(0, 2, 4),
    ),
    SegmentCase("size-one-batch", of_batches(1), evenly(3), bases=(0, 1, 2)),
    SegmentCase(
        "time-by-the-records",
        {"segment.ms": "1000"},
        ((0,), (1000,), (1001,), (1500,), (2001,), (2002,)),
        bases=(0, 2, 5),
    ),
    SegmentCase(
        "time-by-the-first-batch-s-latest-record",
        {"segment.ms": "1000"},
        ((0, 500), (1500,), (1501,)),
        bases=(0, 3),
    ),
    SegmentCase(
        "time-by-the-latest-record-of-the-new-batch",
        {"segment.ms": "1000"},
        ((0,), (-5000, 1001)),
        bases=(0, 1),
    ),
    SegmentCase("time-backwards", {"segment.ms": "1000"}, ((0,), (-5000,), (-9000,)), bases=(0,)),
    SegmentCase(
        "time-in-the-future",
        {"segment.ms": "1000"},
        ((10 * DAY_MS,), (0,), (10 * DAY_MS + 1000,), (10 * DAY_MS + 1001,), (0,)),
        bases=(0, 3),
    ),
    SegmentCase(
        "replay-of-old-records",
        {"segment.ms": str(DAY_MS), "retention.ms": "-1"},
        tuple((OLD + i * DAY_MS // 2,) for i in range(7)),
        bases=(0, 3, 6),
    ),
    SegmentCase(
        "offset-index-full",
        {"segment.index.bytes": "36", **EACH_INDEXED},
        evenly(10),
        bases=(0, 5),
    ),
    SegmentCase(
        "time-index-full",
        {"segment.index.bytes": "36", **EACH_INDEXED},
        evenly(10, 1),
        bases=(0, 3, 6, 9),
    ),
    SegmentCase(
        "index-of-two-entries",
        {"segment.index.bytes": "24", **EACH_INDEXED},
        evenly(6, 1),
        bases=(0, 2, 4),
    ),
    SegmentCase(
        "index-of-one-entry",
        {"segment.index.bytes": "12", **EACH_INDEXED},
        evenly(3, 1),
        bases=(0, 1, 2),
    ),
    # retention
    SegmentCase(
        "retention-by-time",
        {**of_batches(2), "retention.ms": "-1"},
        ((OLD,), (OLD,), (OLD,), (0,), (0,)),
        {"retention.ms": str(DAY_MS)},
        bases=(2, 4),
        start=2,
    ),
    SegmentCase(
        "retention-stops-at-the-first-young-segment",
        {**of_batches(1), "retention.ms": "-1"},
        ((OLD,), (0,), (OLD,), (OLD,), (0,)),
        {"retention.ms": str(DAY_MS)},
        bases=(1, 2, 3, 4),
        start=1,
    ),
    SegmentCase(
        "a-record-of-the-future-keeps-all-behind-it",
        {**of_batches(2), "retention.ms": "-1"},
        ((OLD,), (OLD,), (10 * DAY_MS,), (OLD,), (OLD,), (OLD,), (OLD,)),
        {"retention.ms": str(DAY_MS)},
        bases=(2, 4, 6),
        start=2,
    ),
    SegmentCase(
        "the-active-segment-expires-too",
        {**of_batches(2), "retention.ms": "-1"},
        evenly(5, 0, OLD),
        {"retention.ms": str(DAY_MS)},
        bases=(5,),
        start=5,
    ),
    SegmentCase(
        "retention-by-size",
        {**of_batches(2), "retention.ms": "-1"},
        evenly(9),
        {"retention.bytes": str(4 * BATCH_BYTES)},
        bases=(4, 6, 8),
        start=4,
    ),
    SegmentCase(
        "retention-by-size-nothing-may-stay",
        {**of_batches(2), "retention.ms": "-1"},
        evenly(5),
        {"retention.bytes": "0"},
        bases=(5,),
        start=5,
    ),
    SegmentCase(
        "retention-by-time-then-by-size",
        {**of_batches(2), "retention.ms": "-1"},
        ((OLD,), (OLD,), *evenly(7)),
        {"retention.ms": str(DAY_MS), "retention.bytes": str(4 * BATCH_BYTES)},
        bases=(4, 6, 8),
        start=4,
    ),
    SegmentCase(
        "delete-records-inside-of-a-segment",
        {**of_batches(3), "retention.ms": "-1"},
        evenly(8),
        {"retention.bytes": "-1"},
        delete_before=4,
        bases=(3, 6),
        start=4,
    ),
    SegmentCase(
        "delete-records-up-to-a-segment",
        {**of_batches(3), "retention.ms": "-1"},
        evenly(8),
        {"retention.bytes": "-1"},
        delete_before=6,
        bases=(6,),
        start=6,
    ),
    SegmentCase(
        "delete-records-up-to-the-end",
        {**of_batches(3), "retention.ms": "-1"},
        evenly(8),
        {"retention.bytes": "-1"},
        delete_before=8,
        bases=(6,),
        start=8,
    ),
    SegmentCase(
        "a-compacted-topic-loses-nothing-to-retention",
        {**of_batches(3), "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"},
        evenly(8, 0, OLD),
        {"retention.ms": "1", "retention.bytes": "0"},
        bases=(0, 3, 6),
    ),
    SegmentCase(
        "compact-and-delete",
        {**of_batches(3), "cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "1"},
        ((OLD,), (OLD,), (OLD,), *evenly(5)),
        {"retention.ms": str(DAY_MS)},
        delete_before=1,
        bases=(3, 6),
        start=3,
    ),
)


def batch_of(case: SegmentCase, number: int, now_ms: int) -> bytes:
    """Return a batch of the case. Keys are unique, so that compaction removes nothing."""
    times = case.batches[number]
    records = [
        Record(i, now_ms + time, b"key-%02d" % (2 * number + i), b"value")
        for i, time in enumerate(times)
    ]
    return build_batch(records)
