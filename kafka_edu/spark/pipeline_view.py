"""A pipeline while it runs, as plain numbers: Spark's progress of each batch goes in, and what a
view shows comes out.

Nothing here knows Spark or a terminal. `PipelineView.batch` takes the progress of one micro-batch
as Spark writes it in JSON (`StreamingQuery.lastProgress`):

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

#: Batches whose length a sparkline shows.
HISTORY: Final = 24
#: Batches whose speed counts.
SPEED_BATCHES: Final = 4
#: Batches that may wait for the slowest query before it is behind, if it is as fast as the
#: producer. One batch, if it is slower.
BEHIND_BATCHES: Final = 2
_NEVER: Final = "1970-01-01T00:00:00.000Z"
_MOST_WINDOWS: Final = 200


class WindowRow(NamedTuple):
    """A window that is complete. Times are seconds since 1970."""

    begin_s: int
    lines: int
    errors: int
    p99_us: int

    @property
    def error_rate(self) -> float:
        return self.errors / self.lines if self.lines else 0.0


class Batch(NamedTuple):
    """One micro-batch of one query."""

    query: str
    number: int
    rows: int
    seconds: float
    rows_a_second: float


class Lag(NamedTuple):
    """How far a partition is read by the query that has read least."""

    partition: int
    end: int
    """The offset behind the last record."""
    behind: int
    """Records that the query has still to read."""


class QueryState:
    """What one query has done so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.batches = 0
        self.rows = 0
        self.last: deque[tuple[int, float]] = deque(maxlen=SPEED_BATCHES)
        """Rows and seconds of the last batches that had rows."""
        self.seconds: deque[float] = deque(maxlen=HISTORY)
        """How long the last batches took, the newest last."""
        self.has_state = False
        self.watermark_s: int | None = None
        self.state_rows = 0
        """Windows, sessions or values that the state holds."""
        self.dropped = 0
        """Rows that came behind the watermark, and were left out by Spark."""
        self.offsets: dict[int, int] = {}
        """Partition → the next offset to read."""

    @property
    def rows_a_second(self) -> float:
        """Return the speed over the last few batches, so that one with ten rows does not count as
        much as one with ten thousand.
        """
        return sum(rows for rows, _ in self.last) / max(1e-9, sum(took for _, took in self.last))

    @property
    def read(self) -> int:
        """Return how many records the query has read. A topic begins with offset 0."""
        return sum(self.offsets.values())


class Headline(NamedTuple):
    """The answer to "is all well?", in a word and a sentence."""

    word: str
    text: str
    is_well: bool


class PipelineView:
    """The state of a view. `fed`, `batch`, `kinds`, `windows` and `clock` bring news."""

    def __init__(self, topic: str, lines: int, batch_lines: int, queries: Iterable[str]) -> None:
        self.topic = topic
        self.lines = lines
        """Lines of the whole log."""
        self.batch_lines = batch_lines
        self.sent = 0
        self.sent_a_second = 0.0
        self.queries = {name: QueryState(name) for name in queries}
        self.all_batches: list[Batch] = []
        self.by_kind: dict[str, int] = {}
        self.newest: deque[WindowRow] = deque(maxlen=_MOST_WINDOWS)
        """The newest complete windows, by their begin."""
        self.windows_seen = 0
        self.newest_line_s: int | None = None
        self.clock_s: int | None = None
        """The time in the line that closes every window, when it has been sent."""
        self._ends: dict[int, int] = {}
        self._fed: deque[tuple[float, int]] = deque(maxlen=20)

    def fed(self, sent: int, ends: Mapping[int, int], now_s: float) -> None:
        """Take the number of lines that have been sent, the ends of the partitions, and the time of
        a steady clock.
        """
        self.sent = sent
        self._move_ends(ends)
        if self._fed and now_s - self._fed[-1][0] < 0.25:
            return
        self._fed.append((now_s, sent))
        (begin_s, before), (end_s, after) = self._fed[0], self._fed[-1]
        self.sent_a_second = (after - before) / (end_s - begin_s) if end_s > begin_s else 0.0

    def clock(self, time_s: int) -> None:
        """Take the time of the line that closes every window."""
        self.clock_s = time_s

    def batch(self, name: str, progress: Mapping[str, Any]) -> None:
        """Take Spark's progress of a batch that ended."""
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
        """Take how many lines of each kind a batch wrote."""
        for kind, lines in counts.items():
            self.by_kind[kind] = self.by_kind.get(kind, 0) + lines

    def windows(self, rows: Iterable[WindowRow]) -> None:
        """Take windows that a batch wrote."""
        rows = list(rows)
        self.windows_seen += len(rows)
        self.newest = deque(sorted([*self.newest, *rows]), maxlen=_MOST_WINDOWS)

    @property
    def lags(self) -> list[Lag]:
        """Return every partition with what the slowest query has still to read of it."""
        offsets = self.slowest.offsets
        return [
            Lag(partition, end, max(0, end - offsets.get(partition, 0)))
            for partition, end in sorted(self._ends.items())
        ]

    @property
    def slowest(self) -> QueryState:
        """Return the query that has read least."""
        return min(self.queries.values(), key=lambda query: query.read)

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """Return whether every query has read all records before these offsets."""
        return all(
            query.offsets.get(partition, 0) >= end
            for query in self.queries.values()
            for partition, end in ends.items()
        )

    @property
    def watermark_s(self) -> int | None:
        """Return the lowest watermark of the queries, None before the first."""
        marks = [one.watermark_s for one in self.queries.values() if one.watermark_s is not None]
        return min(marks, default=None)

    @property
    def behind(self) -> int:
        """Return how many records the slowest query has still to read."""
        return sum(lag.behind for lag in self.lags)

    @property
    def behind_s(self) -> int | None:
        """Return how many seconds of the log the watermark is behind the newest line."""
        if self.watermark_s is None or self.newest_line_s is None:
            return None
        return self.newest_line_s - self.watermark_s

    @property
    def dropped(self) -> int:
        """Return the rows that Spark left out because they were behind its watermark."""
        return sum(query.dropped for query in self.queries.values())

    @property
    def processed_a_second(self) -> float:
        """Return the speed of the query that has the lowest."""
        return min(query.rows_a_second for query in self.queries.values())

    @property
    def headline(self) -> Headline:
        """Return the answer first: does the pipeline keep up?"""
        clock = self.clock_s is not None and self.behind > 0  # its record is no line of the log
        behind = f"{self.behind - clock:,} lines behind"
        if self.dropped:
            return Headline(
                "Drops lines",
                f"{self.dropped:,} were behind Spark's watermark: partitions too far apart",
                False,
            )
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

        The clock line moves the watermark, and the batch after it writes what is complete then.
        """
        return self.clock_s is not None and all(
            query.watermark_s is not None and query.watermark_s >= self.clock_s - delay_s
            for query in self.queries.values()
            if query.has_state
        )


def seconds_of(text: str) -> int:
    """Return the seconds since 1970 of a time as Spark writes it: `2018-08-01T00:12:31.000Z`."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def offsets_of(value: object, topic: str) -> dict[int, int]:
    """Return partition → offset of an offset as Spark writes it: a JSON text, or its object."""
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, Mapping):
        return {}
    return {int(partition): int(offset) for partition, offset in (found.get(topic) or {}).items()}
