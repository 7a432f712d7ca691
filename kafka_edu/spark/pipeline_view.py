"""Compute the numbers that a view of a running pipeline shows, from Spark's progress of each batch.

This module uses neither Spark nor a terminal. `PipelineView.batch` gets the progress of one
micro-batch, in the JSON form of Spark (`StreamingQuery.lastProgress`). It uses these members:

    numInputRows, durationMs.triggerExecution   how much, and how fast
    sources[0].endOffset, .latestOffset         where the batch ended, and where the topic ended
    eventTime.max, .watermark                   the newest line of the batch, and the watermark
    stateOperators[].numRowsTotal               what the state holds
    stateOperators[].numRowsDroppedByWatermark  rows that came too late for Spark

Next hop: `kafka_edu.cli.pipeline.screen` draws it.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

#: The number of batches whose duration a sparkline shows.
HISTORY: Final = 24
#: The number of last batches from which a query's speed is computed.
SPEED_BATCHES: Final = 4
#: If the slowest query is as fast as the producer, it counts as behind when more lines wait than
#: this many batches can hold. If it is slower than the producer, one batch is the limit.
BEHIND_BATCHES: Final = 2
_NEVER: Final = "1970-01-01T00:00:00.000Z"
_MOST_WINDOWS: Final = 200


class WindowRow(NamedTuple):
    """A window that is complete. Its begin is in seconds since 1970."""

    begin_s: int
    lines: int
    errors: int
    p99_us: int

    @property
    def error_rate(self) -> float:
        return self.errors / self.lines if self.lines else 0.0


class Batch(NamedTuple):
    """One finished micro-batch of one query."""

    query: str
    number: int
    rows: int
    seconds: float
    rows_a_second: float


class Lag(NamedTuple):
    """How far one partition was read by the slowest query."""

    partition: int
    end: int
    """The offset after the partition's last record."""
    behind: int
    """The number of records that the query has not read yet."""


class QueryState:
    """The progress of one query until now."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.batches = 0
        self.rows = 0
        self.last: deque[tuple[int, float]] = deque(maxlen=SPEED_BATCHES)
        """(rows, seconds) of the last batches that had rows."""
        self.seconds: deque[float] = deque(maxlen=HISTORY)
        """How long each of the last batches took, in seconds. The newest is last."""
        self.has_state = False
        self.watermark_s: int | None = None
        self.state_rows = 0
        """The number of rows in the query's state: windows, sessions or values."""
        self.dropped = 0
        """The number of rows that Spark dropped because their time was before the watermark."""
        self.offsets: dict[int, int] = {}
        """Partition → the next offset that the query will read."""

    @property
    def rows_a_second(self) -> float:
        """Return the query's speed over the last few batches together. So a batch with ten rows
        does not count as much as a batch with ten thousand rows.
        """
        return sum(rows for rows, _ in self.last) / max(1e-9, sum(took for _, took in self.last))

    @property
    def read(self) -> int:
        """Return how many records the query has read. This is the sum of its offsets, because a
        topic begins with offset 0.
        """
        return sum(self.offsets.values())


class Headline(NamedTuple):
    """The answer to "does the pipeline work well?", as one word and a sentence."""

    word: str
    text: str
    is_well: bool


class PipelineView:
    """All numbers of a view. They are updated by `fed`, `batch`, `kinds`, `windows` and `clock`."""

    def __init__(self, topic: str, lines: int, batch_lines: int, queries: Iterable[str]) -> None:
        self.topic = topic
        self.lines = lines
        """The number of lines in the whole log."""
        self.batch_lines = batch_lines
        self.starting = ""
        """The part that is starting, as a line of text. Empty when all queries have started."""
        self.sent = 0
        self.sent_a_second = 0.0
        self.queries = {name: QueryState(name) for name in queries}
        self.all_batches: list[Batch] = []
        self.by_kind: dict[str, int] = {}
        self.newest: deque[WindowRow] = deque(maxlen=_MOST_WINDOWS)
        """The newest complete windows, sorted by their start."""
        self.windows_seen = 0
        self.newest_line_s: int | None = None
        self.clock_s: int | None = None
        """The time of the clock line, which closes every window, in seconds. None until it has been
        sent.
        """
        self._ends: dict[int, int] = {}
        self._fed: deque[tuple[float, int]] = deque(maxlen=20)

    def fed(self, sent: int, ends: Mapping[int, int], now_s: float) -> None:
        """Store how many lines have been sent, the end offsets of the partitions, and the current
        time of a steady clock.
        """
        self.sent = sent
        self._move_ends(ends)
        if self._fed and now_s - self._fed[-1][0] < 0.25:
            return
        self._fed.append((now_s, sent))
        (begin_s, before), (end_s, after) = self._fed[0], self._fed[-1]
        self.sent_a_second = (after - before) / (end_s - begin_s) if end_s > begin_s else 0.0

    def clock(self, time_s: int) -> None:
        """Store the time of the clock line, which closes every window."""
        self.clock_s = time_s

    def batch(self, name: str, progress: Mapping[str, Any]) -> None:
        """Store Spark's progress of a batch that has ended."""
        query = self.queries[name]
        rows = int(progress["numInputRows"])
        seconds = float(progress["durationMs"].get("triggerExecution", 0)) / 1000
        speed = rows / seconds if seconds else 0.0
        query.batches += 1
        query.rows += rows
        if rows:
            query.last.append((rows, seconds))
        query.seconds.append(seconds)
        self.all_batches.append(Batch(name, int(progress["batchId"]), rows, seconds, speed))
        for operator in progress.get("stateOperators") or ():
            query.has_state = True
            query.state_rows = int(operator.get("numRowsTotal", 0))
            query.dropped += int(operator.get("numRowsDroppedByWatermark", 0))
        self._read(query, progress)
        self._move_time(query, progress.get("eventTime") or {})

    def _read(self, query: QueryState, progress: Mapping[str, Any]) -> None:
        source = progress["sources"][0]
        query.offsets |= offsets_of(source.get("endOffset"), self.topic)
        latest = offsets_of(source.get("latestOffset"), self.topic)
        self._move_ends(query.offsets)
        self._move_ends(latest)

    def _move_ends(self, ends: Mapping[int, int]) -> None:
        for partition, end in ends.items():
            self._ends[partition] = max(end, self._ends.get(partition, 0))

    def _move_time(self, query: QueryState, times: Mapping[str, str]) -> None:
        if "max" in times:
            newest = seconds_of(times["max"])
            if newest != self.clock_s:
                self.newest_line_s = max(newest, self.newest_line_s or newest)
        if times.get("watermark", _NEVER) != _NEVER:
            query.watermark_s = seconds_of(times["watermark"])

    def kinds(self, counts: Mapping[str, int]) -> None:
        """Add the number of lines of each kind that a batch has written."""
        for kind, lines in counts.items():
            self.by_kind[kind] = self.by_kind.get(kind, 0) + lines

    def windows(self, rows: Iterable[WindowRow]) -> None:
        """Add the windows that a batch has written."""
        rows = list(rows)
        self.windows_seen += len(rows)
        self.newest = deque(sorted([*self.newest, *rows]), maxlen=_MOST_WINDOWS)

    @property
    def lags(self) -> list[Lag]:
        """Return for every partition how many records the slowest query has not read yet."""
        offsets = self.slowest.offsets
        return [
            Lag(partition, end, max(0, end - offsets.get(partition, 0)))
            for partition, end in sorted(self._ends.items())
        ]

    @property
    def slowest(self) -> QueryState:
        """Return the query that has read the fewest records."""
        return min(self.queries.values(), key=lambda query: query.read)

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """Return whether every query has read all records before the offsets `ends`."""
        return all(
            query.offsets.get(partition, 0) >= end
            for query in self.queries.values()
            for partition, end in ends.items()
        )

    @property
    def watermark_s(self) -> int | None:
        """Return the lowest watermark of all queries, in seconds since 1970. None if there is no
        watermark yet.
        """
        marks = [one.watermark_s for one in self.queries.values() if one.watermark_s is not None]
        return min(marks, default=None)

    @property
    def behind(self) -> int:
        """Return how many records the slowest query has not read yet."""
        return sum(lag.behind for lag in self.lags)

    @property
    def behind_s(self) -> int | None:
        """Return how many seconds of the log's time the watermark is behind the newest line. None
        if one of them is unknown.
        """
        if self.watermark_s is None or self.newest_line_s is None:
            return None
        return self.newest_line_s - self.watermark_s

    @property
    def dropped(self) -> int:
        """Return how many rows Spark dropped because their time was before its watermark."""
        return sum(query.dropped for query in self.queries.values())

    @property
    def processed_a_second(self) -> float:
        """Return the speed of the slowest query, in rows a second."""
        return min(query.rows_a_second for query in self.queries.values())

    @property
    def headline(self) -> Headline:
        """Return the most important answer: does the pipeline keep up with the producer?"""
        clock = self.clock_s is not None and self.behind > 0  # the clock line is no log line
        behind = f"{self.behind - clock:,} lines behind"
        if self.dropped:
            return Headline(
                "Drops lines",
                f"{self.dropped:,} were behind Spark's watermark: partitions too far apart",
                False,
            )
        if self.starting:
            return Headline("Starts", self.starting, True)
        if not self.all_batches:
            return Headline("Begins", f"{self.sent:,} lines are sent, the first batch runs", True)
        if self.clock_s is not None and self.behind == 0:
            return Headline("Closes", "every line is read, the last windows are written", True)
        if self.sent >= self.lines:
            return Headline("Catches up", f"every line is sent; {behind}", True)
        speed = (
            f"{self.sent_a_second:,.0f} lines/s come in, {self.processed_a_second:,.0f} processed"
        )
        is_slower = self.processed_a_second < self.sent_a_second
        if self.behind > self.batch_lines * (1 if is_slower else BEHIND_BATCHES):
            return Headline("Falls behind", f"{speed}; {behind}", False)
        return Headline("Keeps up", f"{speed}; {behind}", True)

    def is_closed(self, delay_s: int) -> bool:
        """Return whether the last windows and sessions are written.

        The clock line moves the watermark. The next batch then writes the windows that are
        complete.
        """
        return self.clock_s is not None and all(
            query.watermark_s is not None and query.watermark_s >= self.clock_s - delay_s
            for query in self.queries.values()
            if query.has_state
        )


def seconds_of(text: str) -> int:
    """Return a time in seconds since 1970. Spark writes times as `2018-08-01T00:12:31.000Z`."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def offsets_of(value: object, topic: str) -> dict[int, int]:
    """Return the offset of each partition. `value` is an offset in Spark's form: a JSON text, or
    the decoded object.
    """
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        return {}
    return {int(partition): int(offset) for partition, offset in (found.get(topic) or {}).items()}
