"""The pictures of chapter 09, made by the broker's own log, on a disk in memory.

Time is virtual and nothing is random, so each picture is the same each time.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import FileRegion, part_bytes
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    new_figure,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.log.cleaner.clean_job import CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner import job_of
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager, LogToClean
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_file_names import CLEANED_SUFFIX
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_retention import deletable_segments
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.file_records import iter_file_headers
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER_START, build_batch, parse_header
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import LogRecovered

from ..drawing import GAP, grid, picture

START_MS: Final = 1_600_000_000_000
FOLDER: Final = "/d/web-0"
INTERVAL: Final = 4_096
"""The default of index.interval.bytes."""
HOUR_MS: Final = 3_600_000
#: The segments of the book's folder topic1-0, and the offset that the book searches for.
BOOK_BASES: Final = (0, 368_769, 737_337, 1_105_814)
BOOK_OFFSET: Final = 425_314
BOOK_BATCH: Final = 100
"""The number of records in a batch of the book's log. We chose it: the book has no number."""
#: The index entries of the book's second example, and the record that the book searches for.
SPARSE: Final = (80, 120, 200)
SPARSE_WANTED: Final = 115


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "folder": _folder_figure(),
        "entries": _entries_figure(),
        "look-up": _look_up_figure(),
        "retention": _retention_figure(),
        "compaction": _compaction_figure(),
        "head-tail": _head_tail_figure(),
    }


class Disk(MemoryFileSystem):
    """A disk in memory. The times of its files come from the clock `clock_ms`."""

    def __init__(self) -> None:
        self.clock_ms = START_MS
        super().__init__(now_ms=lambda: self.clock_ms)


def loaded(
    disk: MemoryFileSystem, recovery_point: int, **config: object
) -> tuple[Log, list[Event]]:
    """Load the log of web-0, and return it with the events of its repairs.

    `config` has the settings of the topic, with `_` instead of dots: `segment_bytes` is
    segment.bytes.
    """
    keys = {key.replace("_", "."): str(value) for key, value in config.items()}
    return load_log(
        TopicPartition("web", 0),
        "/d",
        FOLDER,
        disk,
        LogConfig.parse(keys),
        recovery_point=recovery_point,
        now_ms=START_MS,
        max_producer_id_expiration_ms=HOUR_MS,
    )


def opened(disk: MemoryFileSystem, **config: object) -> Log:
    """Open the log of web-0 with these settings."""
    return loaded(disk, 0, **config)[0]


def batch_of(count: int, at_ms: int = START_MS, value_bytes: int = 20) -> bytes:
    """Return a batch of `count` records without keys."""
    return build_batch([Record(n, at_ms, None, bytes(value_bytes)) for n in range(count)])


def append(log: Log, batch: bytes, at_ms: int = START_MS) -> None:
    """Append a batch as the leader does, and commit it."""
    log.append_as_leader(batch, 0, at_ms)
    log.update_high_watermark(log.log_end_offset)


# Two searches and a walk.


class Walked(NamedTuple):
    """The steps and the result of one look-up of an offset."""

    segment: int
    """Base offset of the segment in which the offset is."""
    relative: int
    compared: int
    """How many index entries a binary search looks at, at most."""
    entries: int
    entry: int
    """Offset of the index entry; the segment's base offset if no entry is at or below the wanted
    one.
    """
    position: int
    batches: int
    """Number of batches whose headers are read, including the batch that is found."""
    found: tuple[int, int]
    """The first and the last offset of the batch."""


def walked(log: Log, offset: int) -> Walked:
    """Look up an offset in a log, by the steps of LogSegments.read and LogSegment.read."""
    segment = log.segments[log.segments.floor(offset)]
    start = segment.offset_index.lookup(offset)
    batches = 0
    for _, header in iter_file_headers(segment.log, start.position, segment.size):
        batches += 1
        if header.last_offset >= offset:
            break
    entries = segment.offset_index.entries
    return Walked(
        segment.base_offset,
        offset - segment.base_offset,
        entries.bit_length(),
        entries,
        start.offset,
        start.position,
        batches,
        (header.base_offset, header.last_offset),
    )


@cache
def book_log() -> Log:
    """Return a log with the segments of the book's topic1-0. Each batch has 100 records."""
    log = opened(Disk(), index_interval_bytes=INTERVAL)
    for end in (*BOOK_BASES[1:], BOOK_BASES[-1] + 1_000):
        while log.log_end_offset < end:
            batch = _sized(min(BOOK_BATCH, end - log.log_end_offset))
            HEADER_START.pack_into(
                batch, 0, log.log_end_offset, parse_header(batch).batch_length, 0
            )
            log.append_as_follower(batch, START_MS)
        if end in BOOK_BASES:
            log.roll(START_MS)
    return log


@cache
def _batch(count: int) -> bytes:
    return batch_of(count, value_bytes=2)


def _sized(count: int) -> bytearray:
    return bytearray(_batch(count))


def look_up() -> Picture:
    """Show the book's look-up of the offset 425,314."""
    log = book_log()
    one = walked(log, BOOK_OFFSET)
    segment = log.segments[log.segments.floor(BOOK_OFFSET)]
    shown = Table("", "", box=None, show_header=False)
    shown.add_row("the files begin at", ", ".join(f"{each.base_offset:,}" for each in log.segments))
    shown.add_row("first search: the segment", f"{one.segment:020d}.log")
    shown.add_row("relative offset", f"{BOOK_OFFSET:,} - {one.segment:,} = {one.relative:,}")
    shown.add_row("its index has", f"{one.entries:,} entries for {segment.size:,} bytes")
    shown.add_row(
        "second search: the entry",
        f"{one.entry:,} at byte {one.position:,}; {one.compared} looks at most",
    )
    shown.add_row("the walk reads", f"{one.batches} batch headers")
    shown.add_row("it is in the batch", f"{one.found[0]:,} to {one.found[1]:,}")
    return picture(
        {
            "segment": one.segment,
            "relative": one.relative,
            "entries": one.entries,
            "looks": one.compared,
            "entry": one.entry,
            "walked": one.batches,
            "found_first": one.found[0],
        },
        shown,
    )


@cache
def sparse_log() -> Log:
    """Return a log of one segment whose index has the offsets 80, 120 and 200, as in the book.

    Each batch has one record. Those from 80 to 119 are twice as long as the others.
    """
    short = len(batch_of(1))
    log = opened(Disk(), index_interval_bytes=80 * short - 1)
    for offset in range(230):
        at_ms = START_MS + offset * 1_000
        long = SPARSE[0] <= offset < SPARSE[1]
        append(log, batch_of(1, at_ms, 20 + short if long else 20), at_ms)
    return log


def walk() -> Picture:
    """Show the book's walk to the record 115 from the entry 80."""
    log = sparse_log()
    one = walked(log, SPARSE_WANTED)
    index = log.active_segment.offset_index
    shown = Table("entry", "offset", "position", box=None)
    for number in range(index.entries):
        entry = index.entry(number)
        shown.add_row(str(number), str(entry.offset), f"{entry.position:,}")
    return picture(
        {"from": one.entry, "wanted": SPARSE_WANTED, "steps": one.found[0] - one.entry},
        shown,
        Text(
            f"{SPARSE_WANTED} is wanted: from offset {one.entry}, byte {one.position:,},"
            f" {one.batches} headers are read"
        ),
    )


def times() -> Picture:
    """Show a look-up by time: the time index, the offset index, the walk."""
    log = sparse_log()
    segment = log.active_segment
    index = segment.time_index
    shown = Table("entry", "timestamp", "offset", box=None)
    for number in range(index.entries):
        entry = index.entry(number)
        shown.add_row(str(number), f"+{(entry.timestamp - START_MS) // 1000} s", str(entry.offset))
    wanted = START_MS + SPARSE_WANTED * 1_000
    entry = index.lookup(wanted)
    found = log.fetch_offset_by_timestamp(wanted)
    assert found is not None
    return picture(
        {"time_entry": entry.offset, "time_found": found.offset},
        shown,
        Text(
            f"+{SPARSE_WANTED} s is wanted: up to offset {entry.offset} nothing is later;"
            f" the first record is {found.offset}"
        ),
    )


# Rolling.


class Rolled(NamedTuple):
    """One reason to begin a new segment, with the setting and the values at which it happened."""

    reason: str
    setting: str
    last: str
    """The size, age or offset up to which the segment took batches, as text."""
    next: str
    """The size, age or offset that was too large for the segment, as text."""


def _rolls(log: Log, before: int) -> bool:
    return len(log.segments) > before


@cache
def rolled() -> list[Rolled]:
    """Fill four logs until each begins a new segment, each for a different reason."""
    return [_by_size(), _by_time(), _by_index(), _by_range()]


def _by_size() -> Rolled:
    log, batch = opened(Disk(), segment_bytes=1_000), batch_of(6)
    while len(log.segments) == 1:
        append(log, batch)
    closed = log.segments[0].size
    return Rolled(
        "size", "segment.bytes 1,000", f"{closed} bytes", f"{closed} + {len(batch)} bytes"
    )


def _by_time() -> Rolled:
    log = opened(Disk(), segment_ms=10_000)
    late_ms = 0
    while len(log.segments) == 1:
        append(log, batch_of(1, START_MS + late_ms))
        late_ms += 1 if late_ms >= 10_000 else 5_000
    late_ms -= 1
    return Rolled(
        "time",
        "segment.ms 10,000",
        f"+{late_ms - 1:,} ms",
        f"+{late_ms:,} ms",
    )


def _by_index() -> Rolled:
    log = opened(Disk(), segment_index_bytes=48, index_interval_bytes=200)
    while len(log.segments) == 1:
        append(log, batch_of(8, START_MS + log.log_end_offset))
    closed = log.segments[0]
    return Rolled(
        "index full",
        "segment.index.bytes 48",
        f"{closed.time_index.entries} time entries",
        "one more entry",
    )


def _by_range() -> Rolled:
    log = opened(Disk())
    append(log, batch_of(1))
    far = 2**31 - 1
    for offset in (far, far + 1):
        batch = bytearray(batch_of(1))
        HEADER_START.pack_into(batch, 0, offset, parse_header(batch).batch_length, 0)
        log.append_as_follower(batch, START_MS)
    assert len(log.segments) == 2
    return Rolled("offset range", "32 bits", f"+{far:,}", f"+{far + 1:,}")


def roll() -> Picture:
    """Show the four reasons to begin a new segment."""
    shown = Table("reason", "limit", "still taken", "new segment for", box=None)
    for one in rolled():
        shown.add_row(*one)
    size = rolled()[0]
    return picture({"closed_at": size.last.split()[0], "reasons": len(rolled())}, shown)


# Retention.

#: Three retentions on the same log. Each of its segments has 510 bytes.
RETENTION: Final[Mapping[str, Mapping[str, object]]] = {
    "by time": {"retention_ms": 2 * HOUR_MS},
    "by size": {"retention_ms": -1, "retention_bytes": 1_100},
    "by start": {"retention_ms": -1},
}


class Kept(NamedTuple):
    """A log of six segments, and which of them retention deletes at one moment."""

    segments: tuple[tuple[int, int, int], ...]
    """(base offset, bytes, minutes since its last record) of each segment."""
    reasons: tuple[str, ...]
    """Why the first segments are deleted: one reason for each segment that is deleted."""


@cache
def kept(name: str) -> Kept:
    """Return which segments retention deletes five hours after the first record.

    The log has 18 records, one for each quarter of an hour. `name` is a key of RETENTION.
    """
    log = opened(Disk(), segment_bytes=600, **RETENTION[name])
    for number in range(18):
        at_ms = START_MS + number * 15 * 60_000
        append(log, batch_of(1, at_ms, 100), at_ms)
    now_ms = START_MS + 5 * HOUR_MS
    if name == "by start":
        log.maybe_increment_log_start_offset(6)
    reasons = deletable_segments(
        log.segments,
        log.log_start_offset,
        log.high_watermark,
        log.log_end_offset,
        log.config,
        now_ms,
    )
    return Kept(
        tuple(
            (each.base_offset, each.size, (now_ms - each.largest_timestamp) // 60_000)
            for each in log.segments
        ),
        tuple(reasons),
    )


def retention() -> Picture:
    """Show which segments of the same log each of the three retentions deletes."""
    rules = {
        "by time": "retention.ms is 2 hours",
        "by size": "retention.bytes is 1,100",
        "by start": "DeleteRecords up to 6",
    }
    first = kept("by time")
    shown = Table("segment", "bytes", "last record", *rules, box=None)
    for number, (base, size, age) in enumerate(first.segments):
        fates = ["goes" if number < len(kept(name).reasons) else "stays" for name in rules]
        shown.add_row(str(base), str(size), f"{age} min ago", *fates)
    left = sum(size for _, size, _ in first.segments[len(kept("by size").reasons) :])
    return picture(
        {
            "go_by_time": len(kept("by time").reasons),
            "go_by_size": len(kept("by size").reasons),
            "go_by_start": len(kept("by start").reasons),
            "left_bytes": left,
        },
        shown,
        *(Text(f"{name}: {rule}") for name, rule in rules.items()),
    )


# Page cache and zero copy.


class Read(NamedTuple):
    """The bytes of one read from the middle of a log."""

    asked: int
    copied: int
    """Bytes that the broker itself read into its memory."""
    region: int
    """Bytes of records that the kernel sends from the file (a FileRegion)."""


@cache
def zero_copy() -> Read:
    """Read 1 MiB from the middle of a log, and count what the broker itself reads."""
    disk = Disk()
    log = opened(disk)
    batch = batch_of(100, value_bytes=100)
    while log.size < 3 << 20:
        append(log, batch)
    before = disk.bytes_read
    data = log.read(log.log_end_offset // 4, 1 << 20).records
    assert isinstance(data, FileRegion)
    return Read(1 << 20, disk.bytes_read - before, data.length)


def copies() -> Picture:
    """Show how many bytes of a fetch's records pass through the broker's memory."""
    one = zero_copy()
    shown = Table("bytes", "", box=None)
    shown.add_row(f"{one.region:,}", "of records go from the page cache to the socket (sendfile)")
    shown.add_row(f"{one.copied:,}", "are read by the broker: headers, to find the first batch")
    return picture({"sent_bytes": one.region, "read_bytes": one.copied}, shown)


# Recovery.


class Recovered(NamedTuple):
    """A log before its broker died, and after the next start."""

    end_before: int
    end_after: int
    cut: int
    """The bytes that were cut off the end of the log."""
    read_again: tuple[int, ...]
    """The base offsets of the segments that were read again."""
    all_bases: tuple[int, ...]
    entries: int
    """Number of entries in the last segment's offset index, which was built again."""


@cache
def recovery() -> Recovered:
    """Let a broker die in the middle of a write, and start it again."""
    disk = Disk()
    config: dict[str, object] = {"segment_bytes": 1_000, "index_interval_bytes": 200}
    log = opened(disk, **config)
    for _ in range(20):
        append(log, batch_of(4))
    point = log.segments[2].base_offset
    log.flush()
    before, end = log.active_segment, log.log_end_offset
    torn = batch_of(4)[:70]
    before.log.append((torn,))
    again, events = loaded(disk, point, **config)
    found = next(one for one in events if isinstance(one, LogRecovered))
    read = [each.base_offset for each in log.segments][2:]
    assert found.segments == len(read)
    return Recovered(
        end,
        again.log_end_offset,
        found.truncated_bytes,
        tuple(read),
        tuple(each.base_offset for each in again.segments),
        again.active_segment.offset_index.entries,
    )


def recovered() -> Picture:
    """Show what a start after a kill reads again, and what it cuts off."""
    one = recovery()
    shown = Table("", "", box=None, show_header=False)
    shown.add_row("segments", ", ".join(map(str, one.all_bases)))
    shown.add_row("recovery point", str(one.read_again[0]))
    shown.add_row("read again", ", ".join(map(str, one.read_again)))
    shown.add_row("cut off", f"{one.cut} bytes: a batch that is not whole")
    shown.add_row("log end", f"{one.end_before} before, {one.end_after} after")
    return picture({"cut_bytes": one.cut, "read_again": len(one.read_again)}, shown)


# Compaction.

#: The (key, value) pairs in the log of the book's figure 3-28, in the order of their offsets from
#: 0. The figure is Kafka's own.
BOOK_TABLE: Final = (
    ("K1", "V1"),
    ("K2", "V2"),
    ("K1", "V3"),
    ("K1", "V4"),
    ("K3", "V5"),
    ("K2", "V6"),
    ("K4", "V7"),
    ("K5", "V8"),
    ("K5", "V9"),
    ("K2", "V10"),
    ("K6", "V11"),
)
Row = tuple[int, str, str | None]


def keyed(log: Log, key: str, value: str | None, at_ms: int = START_MS) -> None:
    """Append a batch with one record."""
    record = Record(0, at_ms, key.encode(), None if value is None else value.encode())
    append(log, build_batch([record]), at_ms)


def cleaned(
    log: Log, disk: Disk, first_dirty: int = 0, now_ms: int = START_MS
) -> tuple[LogToClean, CleanResult]:
    """Do one pass of the cleaner, and replace the old segments by the cleaned ones."""
    manager = LogCleanerManager({log.topic_partition: first_dirty})
    filthy = manager.look_at(log, now_ms)
    job = job_of(filthy, map_bytes=1 << 20, load_factor=0.9, max_bytes_per_second=1e18)
    result = Cleaner(job, disk, no_throttle).clean()
    by_base = {each.base_offset: each for each in log.segments}
    for group in result.groups:
        new = LogSegment(disk, FOLDER, group.bases[0], INTERVAL, now_ms, CLEANED_SUFFIX)
        new.load()
        log.replace_segments([by_base[base] for base in group.bases], new)
    log.settle_replaced_segments()
    return filthy, result


def rows(log: Log, start: int = 0) -> list[Row]:
    """Return (offset, key, value) of all records, as a consumer reads them."""
    found: list[Row] = []
    at = start
    while at < log.log_end_offset:
        data = part_bytes(log.read(at, 1 << 20).records)
        if not data:
            break
        for one in read_all(data):
            value = None if one.value is None else one.value.decode()
            found.append((one.offset, (one.key or b"").decode(), value))
        at = found[-1][0] + 1
    return found


@cache
def compacted() -> tuple[list[Row], list[Row]]:
    """Compact the book's log. Return its records before and after."""
    disk = Disk()
    log = opened(disk, cleanup_policy="compact")
    for key, value in BOOK_TABLE:
        keyed(log, key, value)
    log.roll(START_MS)
    before = rows(log)
    cleaned(log, disk)
    return before, rows(log)


def compaction() -> Picture:
    """Show the book's log before and after compaction."""
    before, after = compacted()
    stays = {offset for offset, _, _ in after}
    shown = Table("offset", "key", "value", "", box=None)
    for offset, key, value in before:
        shown.add_row(str(offset), key, value, "stays" if offset in stays else "goes")
    return picture(
        {
            "left": len(after),
            "offsets": ", ".join(str(offset) for offset, _, _ in after),
        },
        shown,
    )


class Pass(NamedTuple):
    """One pass of the cleaner over a log. A part of the log may be clean already."""

    clean_bytes: int
    dirty_bytes: int
    ratio: float
    first_dirty: int
    first_uncleanable: int
    log_end: int
    before: tuple[int, ...]
    """Offsets of the records before the pass, except those in the active segment."""
    after: tuple[int, ...]


@cache
def head_and_tail() -> list[Pass]:
    """Write to the same few keys, compact, write more, and compact again."""
    disk = Disk()
    log = opened(disk, cleanup_policy="compact", segment_bytes=650)
    first_dirty, passes = 0, []
    for turn in range(2):
        for number in range(24):
            keyed(log, f"k{number * (turn + 3) % 9}", f"value {turn} {number}")
        active = log.active_segment.base_offset
        before = tuple(one for one, _, _ in rows(log) if one < active)
        filthy, result = cleaned(log, disk, first_dirty)
        first_dirty = result.end_offset
        passes.append(
            Pass(
                filthy.clean_bytes,
                filthy.dirty_bytes,
                filthy.dirty_ratio,
                filthy.first_dirty,
                filthy.first_uncleanable,
                log.log_end_offset,
                before,
                tuple(one for one, _, _ in rows(log) if one < active),
            )
        )
    return passes


def dirty() -> Picture:
    """Show the clean part, the dirty part and their ratio, before two passes."""
    shown = Table("", "first pass", "second pass", box=None)
    first, second = head_and_tail()
    lines: dict[str, Callable[[Pass], str]] = {
        "clean bytes (tail)": lambda one: f"{one.clean_bytes:,}",
        "dirty bytes (head)": lambda one: f"{one.dirty_bytes:,}",
        "dirty ratio": lambda one: f"{one.ratio:.2f}",
        "first dirty offset": lambda one: str(one.first_dirty),
        "not cleanable yet from": lambda one: str(one.first_uncleanable),
        "records before, after": lambda one: f"{len(one.before)}, {len(one.after)}",
    }
    for words, of in lines.items():
        shown.add_row(words, of(first), of(second))
    return picture(
        {"ratio": f"{second.ratio:.2f}", "first_dirty": second.first_dirty},
        shown,
        Text("due with the default min.cleanable.dirty.ratio: above 0.50"),
    )


LONG: Final = "v" * 100
"""A value that is so long that the cleaner does not merge its segment with another one."""


class Look(NamedTuple):
    """The records that a consumer gets from a log after one pass of the cleaner."""

    hours: int
    records: tuple[Row, ...]


@cache
def tombstones() -> list[Look]:
    """Delete a key, and compact three times. delete.retention.ms is 24 hours, the default."""
    disk = Disk()
    log = opened(disk, cleanup_policy="compact", segment_bytes=230)
    first_dirty, looks = 0, []
    steps: tuple[tuple[int, tuple[tuple[str, str | None], ...]], ...] = (
        (0, (("k1", "v1"), ("k2", "v2"), ("k1", None))),
        (1, (("k3", LONG),)),
        (26, (("k4", LONG),)),
        (27, (("k5", LONG),)),
    )
    for hours, records in steps:
        now_ms = START_MS + hours * HOUR_MS
        disk.clock_ms = now_ms
        for key, value in records:
            keyed(log, key, value, now_ms)
        log.roll(now_ms)
        _, result = cleaned(log, disk, first_dirty, now_ms)
        first_dirty = result.end_offset
        looks.append(Look(hours, tuple(rows(log))))
    return looks


def tombstone() -> Picture:
    """Show how long a tombstone stays."""
    shown = Table("after", "the log has", box=None)
    for one in tombstones():
        words = "  ".join(f"{key}={_short(value)}" for _, key, value in one.records)
        shown.add_row(f"{one.hours} h", words)
    there = [one.hours for one in tombstones() if any(value is None for _, _, value in one.records)]
    return picture({"tombstone_until": max(there)}, shown)


def _short(value: str | None) -> str:
    return "null" if value is None else value if len(value) < 10 else f"{value[:3]}…"


# The figures.


def _folder_figure() -> graphviz.Digraph:
    """Draw a topic, its partitions and the segments of one (the book's figures 1-2, 4-1, 5-1)."""
    figure = new_figure(
        "folder",
        "A topic, its partitions, the segments of one",
        [(BLUE, "a folder"), (GREY, "closed"), (GREEN, "active: written to")],
        rankdir="LR",
    )
    figure.attr("node", shape="box", style="filled")
    figure.node("topic", "topic1", fillcolor=WHITE)
    for number in range(3):
        figure.node(f"p{number}", f"topic1-{number}", fillcolor=BLUE)
        figure.edge("topic", f"p{number}")
    log = book_log()
    for segment in log.segments:
        base = segment.base_offset
        active = segment is log.active_segment
        text = f"{base:020d}\\n.log .index .timeindex"
        figure.node(f"s{base}", text, fillcolor=GREEN if active else GREY)
        figure.edge("p0", f"s{base}")
    return figure


def _entries_figure() -> graphviz.Digraph:
    """Draw the entries of both indexes: the book's figure 5-8."""
    log = sparse_log()
    segment = log.active_segment
    lines: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "",
            [
                ("relative offset\n4 bytes", GREY),
                ("position\n4 bytes", GREY),
                GAP,
                ("timestamp\n8 bytes", GREY),
                ("relative offset\n4 bytes", GREY),
            ],
        )
    ]
    for number in range(segment.offset_index.entries):
        entry, timed = segment.offset_index.entry(number), segment.time_index.entry(number)
        lines.append(
            (
                f"entry {number}",
                [
                    (str(entry.offset), BLUE),
                    (str(entry.position), BLUE),
                    GAP,
                    (str(timed.timestamp), YELLOW),
                    (str(timed.offset), YELLOW),
                ],
            )
        )
    legend = [(BLUE, ".index"), (YELLOW, ".timeindex")]
    return grid("entries", "Entries of the two indexes", legend, lines, 24)


def _look_up_figure() -> graphviz.Digraph:
    """Draw the two binary searches and the walk of both examples of the book."""
    one, two = walked(book_log(), BOOK_OFFSET), walked(sparse_log(), SPARSE_WANTED)
    segments = [
        (str(base), GREEN if base == one.segment else GREY)
        for base in (each.base_offset for each in book_log().segments)
    ]
    entries = [("none: 0", GREY)] + [
        (str(entry), GREEN if entry == two.entry else GREY) for entry in SPARSE
    ]
    walk_cells = [
        (str(two.entry), GREEN),
        (str(two.entry + 1), BLUE),
        ("…", BLUE),
        (str(SPARSE_WANTED), YELLOW),
    ]
    lines = [
        (f"1. the segment of {BOOK_OFFSET}", segments),
        (f"2. the entry below {SPARSE_WANTED}", entries),
        (f"3. the walk, {two.batches} batches", walk_cells),
    ]
    legend = [(GREEN, "found"), (BLUE, "read on the way"), (YELLOW, "wanted")]
    return grid("look-up", "Two binary searches, and a walk", legend, lines, 24)


def _retention_figure() -> graphviz.Digraph:
    """Draw the book's figure 5-14 for three retentions: the segments that each of them deletes."""
    names = {"by time": "2 h", "by size": "1,100 bytes", "by start": "offset 6"}
    head = [(str(base), WHITE) for base, _, _ in kept("by time").segments]
    lines = [("segment", head)]
    for name, limit in names.items():
        one = kept(name)
        last = len(one.segments) - 1
        cells = []
        for number, (_, size, age) in enumerate(one.segments):
            text = f"{age} min" if name == "by time" else f"{size} B"
            colour = RED if number < len(one.reasons) else GREEN if number == last else BLUE
            cells.append((text, colour))
        lines.append((f"{name}: {limit}", cells))
    legend = [(RED, "goes"), (BLUE, "stays"), (GREEN, "active")]
    return grid("retention", "The same log, and three retentions", legend, lines, 24)


def _compaction_figure() -> graphviz.Digraph:
    """Draw the book's figure 3-28: a log before and after compaction."""
    before, after = compacted()
    stays = {offset for offset, _, _ in after}
    lines = [
        ("offset", [(str(offset), WHITE) for offset, _, _ in before]),
        ("before", [(f"{k}\n{v}", GREEN if o in stays else RED) for o, k, v in before]),
        ("after", [(f"{k}\n{v}", GREEN) if o in stays else GAP for o, k, v in before]),
    ]
    legend = [(GREEN, "the last of its key"), (RED, "superseded")]
    return grid("compaction", "A log before and after compaction", legend, lines, 24)


def _head_tail_figure() -> graphviz.Digraph:
    """Draw the book's figures 3-29 and 3-30: the clean tail, the dirty head, and both merged."""
    one = head_and_tail()[1]
    every = [offset for offset in one.before if offset % 2 == 0 or offset < one.first_dirty]

    def line(offsets: Sequence[int]) -> list[tuple[str, str]]:
        there = {*offsets}
        return [
            (str(o), GREEN if o < one.first_dirty else YELLOW) if o in there else ("", GREY)
            for o in every
        ]

    lines = [("before the pass", line(one.before)), ("after it", line(one.after))]
    legend = [(GREEN, "tail: was clean"), (YELLOW, "head: was dirty"), (GREY, "gone")]
    return grid("head-tail", "Offsets before and after a pass", legend, lines, 24)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "look-up": look_up,
    "walk": walk,
    "times": times,
    "roll": roll,
    "retention": retention,
    "copies": copies,
    "recovery": recovered,
    "compaction": compaction,
    "dirty": dirty,
    "tombstone": tombstone,
}
