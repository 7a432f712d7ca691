"""The right answers of exercise 16-2s: the minutes that Spark must write after each micro-batch."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil
from random import Random
from typing import Final, NamedTuple

#: The records of 16-2s and 16-3s: lines that somebody has read.
LINES: Final = "client string, time timestamp, status int, duration_us bigint"
WINDOW_S: Final = 60
DELAY_S: Final = 120
BEGIN_S: Final = 1_533_117_600
"""The time from which `time_s` counts: Wed 1 August 2018, 10:00:00 UTC."""


class Line(NamedTuple):
    """A parsed line of the log. `time_s` is its time in seconds after 10:00:00."""

    time_s: int
    client: str = "10.0.0.1"
    status: int = 200
    duration_us: int = 5_000

    def row(self) -> tuple[object, ...]:
        return (
            self.client,
            (BEGIN_S + self.time_s) * 1_000_000,
            self.status,
            self.duration_us,
        )


class Minute(NamedTuple):
    """A row of the result: the numbers of one minute."""

    begin: str
    lines: int
    errors: int
    p99_us: int


def clock(time_s: int) -> str:
    """Return a time, given in seconds after 10:00:00, as the text that the check shows."""
    return datetime.fromtimestamp(BEGIN_S + time_s, UTC).replace(tzinfo=None).isoformat(" ")


class RightMinutes:
    """Finds the right minutes by the rules of the exercise. It keeps the lines of open minutes."""

    def __init__(self) -> None:
        self.latest_s: int | None = None
        self.watermark_s: int | None = None
        self.kept: dict[int, list[Line]] = defaultdict(list)

    def batch(self, lines: Sequence[Line]) -> list[Minute]:
        """Add a batch of lines, and return the minutes that are over after it."""
        for line in lines:
            begin_s = line.time_s - line.time_s % WINDOW_S
            if self.watermark_s is None or begin_s + WINDOW_S > self.watermark_s:
                self.kept[begin_s].append(line)
        if lines:
            latest = max(line.time_s for line in lines)
            self.latest_s = latest if self.latest_s is None else max(self.latest_s, latest)
            self.watermark_s = self.latest_s - DELAY_S
        watermark_s = self.watermark_s
        if watermark_s is None:
            return []
        over = sorted(begin for begin in self.kept if begin + WINDOW_S <= watermark_s)
        return [minute(begin, self.kept.pop(begin)) for begin in over]


def minute(begin_s: int, lines: Sequence[Line]) -> Minute:
    """Return the right row for one minute: its begin, lines, errors and p99."""
    durations = sorted(line.duration_us for line in lines)
    return Minute(
        clock(begin_s),
        len(lines),
        sum(line.status >= 500 for line in lines),
        durations[ceil(len(durations) * 99 / 100) - 1],
    )


def random_batches(random: Random, batches: int) -> list[list[Line]]:
    """Return random batches of lines. Some lines come late, and some come too late."""
    now_s, made = 0, []
    for _ in range(batches):
        batch = []
        for _ in range(random.randrange(4, 12)):
            now_s += random.choice((0, 1, 7, 20))
            late_s = random.choice((0, 0, 0, 59, DELAY_S, random.randrange(400)))
            batch.append(
                Line(
                    max(0, now_s - late_s),
                    f"10.0.0.{random.randrange(1, 4)}",
                    random.choice((200, 200, 304, 404, 500, 503)),
                    random.randrange(100, 1_000_000),
                )
            )
        made.append(batch)
    return [*made, [Line(now_s + 1_000)]]
