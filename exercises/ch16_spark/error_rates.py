"""The right answers of exercise 16-6: bursts of errors, and a table of the judged minutes."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple

BOT_WORDS: Final = ("bot", "crawl", "spider")
SHOWN: Final = 9
"""How many minutes a table shows at most."""


class Row(NamedTuple):
    """How many lines of one minute have the same agent and status, counted by one task."""

    minute: int
    agent: str
    status: int
    lines: int

    @property
    def by_bot(self) -> bool:
        return any(word in self.agent.lower() for word in BOT_WORDS)


class Kind(StrEnum):
    """The kinds of judged minutes. The learner sees these values in the table."""

    QUIET = "quiet"
    LEARNT = "learnt"
    """A minute that counts as calm, because the baseline is not complete yet."""
    CALM = "calm"
    HOT = "hot"


class Settings(NamedTuple):
    """The four arguments of an ErrorAlarm."""

    learn: int
    least: int
    times: int
    rest: int


class Judged(NamedTuple):
    """A minute that was judged, with the numbers that decided its kind."""

    minute: int
    lines: int
    failed: int
    bots: int
    """The number of lines from bots. `lines` does not count them."""
    kind: Kind
    baseline: tuple[int, int]
    """(failed lines, all lines) of the baseline with which this minute was compared."""
    in_burst: bool
    """Whether a burst was open when this minute was judged."""


Message = tuple[object, ...]


class RightAlarm:
    """Finds bursts by the rules of the exercise.

    It keeps all rows, and judges all minutes again at each batch. That is slow, but it is
    obviously right. The learner's class keeps only what it needs.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.until = 0
        self.rows: list[Row] = []
        """All rows that came before their minute was judged."""
        self.too_late: list[Row] = []
        """The rows of the last batch whose minutes had been judged before the batch came."""
        self.judged: list[Judged] = []
        self.messages: list[Message] = []

    def batch(self, rows: Iterable[Row], until: int) -> list[Message]:
        """Add rows, judge the minutes before `until`, and return the new messages."""
        self.too_late = []
        for row in rows:
            (self.too_late if row.minute < self.until else self.rows).append(row)
        self.until = until
        before = len(self.messages)
        self._judge_all()
        return self.messages[before:]

    def baseline_minutes(self) -> list[Judged]:
        """Return the minutes of the baseline, the oldest first."""
        calm = [
            one for one in self.judged if one.kind in (Kind.LEARNT, Kind.CALM) and not one.in_burst
        ]
        return calm[-self.settings.learn :]

    def baseline(self) -> tuple[int, int]:
        """Return (failed lines, all lines): the sums over the minutes of the baseline."""
        minutes = self.baseline_minutes()
        return sum(one.failed for one in minutes), sum(one.lines for one in minutes)

    def _judge_all(self) -> None:
        self.judged, self.messages = [], []
        begin: int | None = None
        for minute in sorted({row.minute for row in self.rows if row.minute < self.until}):
            one = self._judge(minute, in_burst=begin is not None)
            self.judged.append(one)
            if begin is None and one.kind == Kind.HOT:
                begin = minute
                self.messages.append(("begins", begin))
            elif begin is not None and self.calm_in_a_row() == self.settings.rest:
                end = 1 + max(one.minute for one in self.judged if one.kind == Kind.HOT)
                self.messages.append(("ends", begin, end, self.failed(begin, end)))
                begin = None

    def _judge(self, minute: int, *, in_burst: bool) -> Judged:
        rows = [row for row in self.rows if row.minute == minute]
        people = [row for row in rows if not row.by_bot]
        lines = sum(row.lines for row in people)
        failed = sum(row.lines for row in people if row.status >= 500)
        base_failed, base_lines = self.baseline()
        if lines < self.settings.least:
            kind = Kind.QUIET
        elif len(self.baseline_minutes()) < self.settings.learn:
            kind = Kind.LEARNT
        elif failed * base_lines > self.settings.times * (base_failed + 1) * lines:
            kind = Kind.HOT
        else:
            kind = Kind.CALM
        return Judged(
            minute=minute,
            lines=lines,
            failed=failed,
            bots=sum(row.lines for row in rows) - lines,
            kind=kind,
            baseline=(base_failed, base_lines),
            in_burst=in_burst,
        )

    def calm_in_a_row(self) -> int:
        """Return how many calm minutes came after the last hot minute; 0 if none was hot."""
        kinds = [one.kind for one in self.judged if one.kind != Kind.QUIET]
        return next((n for n, kind in enumerate(reversed(kinds)) if kind == Kind.HOT), 0)

    def failed(self, begin: int, end: int) -> int:
        """Return how many lines, except bots', failed in the minutes `begin` to `end` - 1."""
        return sum(one.failed for one in self.judged if begin <= one.minute < end)

    def last_hot(self) -> int | None:
        """Return the number of the last hot minute, or None if no minute was hot."""
        return next((one.minute for one in reversed(self.judged) if one.kind == Kind.HOT), None)

    def of(self, minute: object) -> Judged | None:
        """Return the judgement of a minute, or None if the minute was not judged."""
        return next((one for one in self.judged if one.minute == minute), None)

    def compared(self, one: Judged) -> str:
        """Return the comparison that decides whether a minute is hot, with its numbers, as text."""
        base_failed, base_lines = one.baseline
        times = self.settings.times
        left, right = one.failed * base_lines, times * (base_failed + 1) * one.lines
        sign = ">" if left > right else "=" if left == right else "<"
        return (
            f"{one.failed} × {base_lines} = {left} {sign}"
            f" {times} × ({base_failed} + 1) × {one.lines} = {right}"
        )

    def drawn(self, around: int | None = None) -> tuple[str, ...]:
        """Draw a table of the judged minutes up to `around`, or up to the last minute."""
        found = [one for one in self.judged if around is None or one.minute <= around]
        rows = ["    minute  lines  failed   bots   baseline  kind"]
        for one in found[-SHOWN:]:
            base = f"{one.baseline[0]}/{one.baseline[1]}"
            burst = ", in a burst" if one.in_burst else ""
            rows.append(
                f"    {one.minute:>6} {one.lines:>6} {one.failed:>7} {one.bots:>6} {base:>10}"
                f"  {one.kind}{burst}"
            )
        waiting = sorted({row.minute for row in self.rows if row.minute >= self.until})
        if waiting:
            shown = ", ".join(str(minute) for minute in waiting[:4])
            more = ", …" if len(waiting) > 4 else ""
            rows.append(f"    until is {self.until}, so these are not closed: {shown}{more}")
        return tuple(rows)


def random_batches(random: Random, batches: int) -> list[tuple[list[Row], int]]:
    """Return random batches (rows, until) of a site that has bursts, quiet minutes and bots. Some
    rows come late, and some come too late.
    """
    minute = random.randrange(3)
    until = 0
    broken_until = -1
    late: list[Row] = []
    found = []
    for _ in range(batches):
        rows, late = late, []
        for _ in range(random.randrange(4)):
            if random.random() < 0.2:
                broken_until = minute + random.randrange(1, 5)
            rows += (made := _rows_of(random, minute, broken=minute < broken_until))
            if random.random() < 0.3:
                moved = made[: random.randrange(len(made) + 1)]
                late += moved
                rows = [row for row in rows if row not in moved]
            minute += random.choice((1, 1, 1, 2, 5))
        random.shuffle(rows)
        until = max(until, minute - random.randrange(4))
        found.append((rows, until))
    return [*found, (late, until + 1_000)]


def _rows_of(random: Random, minute: int, *, broken: bool) -> list[Row]:
    rows = []
    for agent in random.sample(("Firefox/61.0", "Safari/604.1", "curl/7.61"), 2):
        rows.append(
            Row(minute, agent, random.choice((200, 304, 404, 499)), random.randrange(1, 25))
        )
        failed = random.randrange(4, 15) if broken else random.choice((0, 0, 0, 1, 2))
        rows.append(Row(minute, agent, random.choice((500, 503, 599)), failed))
    bot = random.choice(("ExampleBot/2.1", "nice SPIDER", "a crawler"))
    rows.append(Row(minute, bot, random.choice((200, 503)), random.randrange(60)))
    return [row for row in rows if row.lines]


def rows_of(minute: int, lines: int, failed: int = 0, agent: str = "Firefox/61.0") -> list[Row]:
    """Return the rows of a minute with `lines` lines, of which `failed` lines failed."""
    rows = [Row(minute, agent, 200, lines - failed), Row(minute, agent, 503, failed)]
    return [row for row in rows if row.lines]


def shown(rows: Sequence[Row]) -> str:
    """Return a text with the rows of a batch. Of more than three rows it has the first three."""
    few = ", ".join(str(list(row)) for row in rows[:3])
    return f"[{few}, … {len(rows)} rows]" if len(rows) > 3 else f"[{few}]"
