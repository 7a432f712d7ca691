"""Make a web log whose statistics are known, fast enough to feed a cluster.

Demos, labs and the Spark pipeline use its lines.

    generator = LogGenerator(LogSettings(seed=7))
    block = generator.next_block()
    generator.text.lines(block)   # bytes: many lines, each with its line break
    generator.truth               # the right answers for all lines so far

The log consists of *sessions*. A session is one visit of one client: a person, a crawler or a
scanner. Visits begin at random, more often in the evening. Some lines are *late*: they are written
up to half the watermark after their time. Some whole sessions are *too late*: they are written long
after the watermark, as if a web server had been cut off. Some lines are *bad*. Sometimes a part of
the shop breaks for a while, and its requests end with a 5xx status (a *burst*). All times are the
log's own time, and not the time of the machine's clock.

numpy works on blocks of many lines and needs about 1 µs for each line. Random numbers come from
`PCG64.random_raw`, whose numbers are the same in all versions of numpy. Together with tables of
whole numbers (`catalogue`), the same settings give the same bytes everywhere.
"""

from typing import Final, NamedTuple

import numpy as np

from kafka_edu.clients.web_log import catalogue
from kafka_edu.clients.web_log.block import LogBlock
from kafka_edu.clients.web_log.catalogue import CHOICES, Visitor
from kafka_edu.clients.web_log.text import LogText
from kafka_edu.clients.web_log.truth import LogTruth
from kafka_edu.common.arrays import Int64s

DAY_MS: Final = 86_400_000
UNIT: Final = 1 << 16
"""The time between two arrivals is counted in units of 1 / UNIT session."""
SESSIONS_A_BLOCK: Final = 8_192
MEAN_LINES_A_SESSION: Final = 8.5
"""Approximate mean number of lines in a session, over all kinds of visitor."""
LONGEST_SESSION_MS: Final = 900_000
LONGEST_THINK_MS: Final = 60_000
"""The longest pause in ms between two requests of a session.

It is much shorter than the gap that ends a session, so one late or bad line never splits a session.
"""
ASSET_MS: Final = (20, 300)
"""The shortest and the longest time in ms before a browser fetches an asset of the page."""
BURST_MS: Final = (60_000, 120_000)
BETWEEN_BURSTS_MS: Final = (1_200_000, 3_600_000)
FIRST_BURST_MS: Final = (120_000, 240_000)
BROKEN_PER_MILLE: Final = 600
MAX_LINES_A_SECOND: Final = 20_000


class LogSettings(NamedTuple):
    """The settings of a log.

    Times are in seconds of the log's own time, unless the name ends in `_ms`.
    """

    seed: int
    start_ms: int = catalogue.DEFAULT_START_MS
    """Time of the log's first lines in ms since 1970, UTC. It must be a whole minute."""
    lines_a_second: float = 200.0
    """Mean over a day. In the course of a day the rate is between 0.2 and 1.8 times this mean."""
    window_s: int = 60
    gap_s: int = 300
    """A pause of more than this many seconds ends a session."""
    watermark_s: int = 120
    """A line is too late if it is late by more than this many seconds.

    The generator makes late lines late by at most half of this, and too late lines by much more.
    """
    late_per_mille: int = 20
    too_late_per_mille: int = 5
    """The number of sessions, of 1,000, that are written too late."""
    has_bad_lines: bool = True
    """Whether the log has some bad lines, as a real log has."""

    def problem(self) -> str:
        """Return what is wrong with the settings and how to correct it, or "" if they are right."""
        least_gap_s = 2 * LONGEST_THINK_MS // 1000 + self.watermark_s // 2
        if not 0.1 <= self.lines_a_second <= MAX_LINES_A_SECOND:
            return f"lines a second must be 0.1 to {MAX_LINES_A_SECOND:,}: choose one of these"
        if self.window_s < 1 or self.watermark_s < 2:
            return "a window has at least 1 s, and the watermark at least 2 s"
        if self.gap_s < least_gap_s:
            return (
                f"a session's gap of {self.gap_s} s could be filled by late lines:"
                f" choose at least {least_gap_s} s, or a shorter watermark"
            )
        if self.start_ms % 60_000 or self.start_ms < 0:
            return "the log must begin at a whole minute after 1970"
        if min(self.seed, self.late_per_mille, self.too_late_per_mille) < 0:
            return "the seed and the shares of late lines must not be negative"
        if max(self.late_per_mille, self.too_late_per_mille) > 500:
            return "at most 500 of 1,000 lines may be late, or they are not late any more"
        return ""


class Burst(NamedTuple):
    """A time in which a part of the shop is broken: from `start_ms` up to `end_ms`."""

    prefix: str
    status: int
    start_ms: int
    end_ms: int


class LogGenerator:
    """Generates blocks of lines of a web log, and keeps statistics. A block has about 70,000
    lines.
    """

    def __init__(self, settings: LogSettings) -> None:
        """Raises ValueError if the settings contradict each other. The message says what to do."""
        if settings.problem():
            raise ValueError(settings.problem())
        self.settings = settings
        self.text = LogText()
        self.bursts: list[Burst] = []
        """All bursts that have begun, and the next one."""
        lines, sessions, chances = np.random.SeedSequence(settings.seed).spawn(3)
        self._line_bits = np.random.PCG64(lines)
        self._session_bits = np.random.PCG64(sessions)
        self._burst_bits = np.random.PCG64(chances)
        self._tables = _Tables(settings)
        self.truth = LogTruth(
            settings.window_s, settings.watermark_s, 2 * self._tables.too_late_ms // 1000 + 1
        )
        self._sessions = 0
        minute = settings.start_ms % DAY_MS // 60_000
        self._operational = (
            settings.start_ms // DAY_MS * self._tables.a_day + self._tables.by_minute[minute]
        )
        """Sessions since 1970 in units of 1 / UNIT.

        This number grows evenly from session to session. The log's clock does not, because the rate
        of sessions changes during the day.
        """
        self._waiting: tuple[Int64s, ...] = tuple(np.empty(0, np.int64) for _ in range(4))
        self._add_burst(settings.start_ms, FIRST_BURST_MS)

    def next_block(self, max_lines: int | None = None) -> LogBlock:
        """Return the next lines, at most `max_lines` of them, and count them in `truth`.

        If the block has more lines, its other lines are lost. So use `max_lines` only for the last
        block.
        """
        block = self._block()
        if max_lines is not None and len(block) > max_lines:
            block = block.take(max_lines)
        self.truth.add(block)
        return block

    def _block(self) -> LogBlock:
        arrival, time, session, is_asset = self._lines_in_order()
        lanes = _lanes(self._line_bits, arrival.size, 8)
        tables = self._tables
        visitor = tables.visitor[_hash(session, 1)]
        request = tables.request[visitor, lanes[0]]
        request = np.where(is_asset != 0, tables.asset[lanes[0]], request)
        kind = tables.kind[request]
        status = tables.status[kind, lanes[1]]
        duration = tables.duration[kind, lanes[2]] + (lanes[3] & 1023)
        self._break(time, request, lanes[4], status, duration)
        size = np.where(kind == catalogue.Kind.ASSET, tables.asset_size[request], 0)
        size = np.where(size == 0, tables.size[lanes[5]], size)
        size = np.where(status >= 300, 150 + (lanes[5] & 31), size)
        size = np.where((status == 304) | (status == 204), -1, size)
        is_person = visitor == Visitor.PERSON
        referrer = np.where(
            is_person & (lanes[6] >= CHOICES // 4), tables.referrer[lanes[6] * 3 % CHOICES], 0
        )
        user = _hash(session, 2)
        return LogBlock(
            arrival,
            time,
            session,
            visitor,
            request,
            status,
            size,
            duration,
            referrer,
            tables.agent[visitor, _hash(session, 3)],
            np.where(is_person & (user < CHOICES // 6), 1 + user % self.text.users, 0),
            tables.client(session),
            lanes[7],
        )

    def _lines_in_order(self) -> tuple[Int64s, ...]:
        """Return the next lines in the order in which they are written, as four columns.

        The columns are arrival, time, session, and whether the line is an asset. A line may be
        written after the start of a later session. Such a line waits until the later session is
        made.
        """
        while True:
            made = self._sessions_made()
            columns = [np.concatenate(pair) for pair in zip(self._waiting, made[:4], strict=True)]
            horizon_ms = int(made[4])
            order = np.argsort(columns[0], kind="stable")
            ready = int(np.searchsorted(columns[0][order], horizon_ms))
            self._waiting = tuple(column[order[ready:]] for column in columns)
            if ready:
                return tuple(column[order[:ready]] for column in columns)

    def _sessions_made(self) -> tuple[Int64s, Int64s, Int64s, Int64s, int]:
        """Make the next sessions.

        Return the columns of their lines, and when the last session begins.
        """
        tables = self._tables
        number: Int64s = np.arange(
            self._sessions, self._sessions + SESSIONS_A_BLOCK, dtype=np.int64
        )
        self._sessions += SESSIONS_A_BLOCK
        lanes = _lanes(self._session_bits, SESSIONS_A_BLOCK, 4)
        steps = np.cumsum(tables.arrival[lanes[0]])
        start = tables.clock_ms(self._operational + steps)
        self._operational += int(steps[-1])
        visitor = tables.visitor[_hash(number, 1)]
        lines = tables.lines[visitor, lanes[1]]
        owner: Int64s = np.repeat(np.arange(SESSIONS_A_BLOCK), lines)
        first = np.cumsum(lines) - lines
        chance = _lanes(self._session_bits, owner.size, 3)
        think = tables.think[visitor[owner], chance[0]]
        is_asset = (chance[0] < tables.assets_below) & (visitor[owner] == Visitor.PERSON)
        think[first] = 0
        is_asset[first] = False
        since = np.cumsum(think)
        offset = since - since[first][owner]
        time = start[owner] + offset
        late = np.where(
            (chance[1] < self.settings.late_per_mille * CHOICES // 1000),
            1_000 + chance[2] * (self.settings.watermark_s * 500 - 1_000) // CHOICES,
            0,
        )
        is_cut_off = (lanes[2] < self.settings.too_late_per_mille * CHOICES // 1000) & (
            visitor != Visitor.NOISE
        )
        cut_off_ms = np.where(
            is_cut_off, tables.too_late_ms + lanes[3] * tables.too_late_ms // CHOICES, 0
        )[owner]
        arrival = time + np.where(cut_off_ms > 0, cut_off_ms, late)
        arrival = np.where(visitor[owner] == Visitor.NOISE, time, arrival)
        kept = offset <= LONGEST_SESSION_MS
        return (
            arrival[kept],
            time[kept],
            number[owner][kept],
            is_asset[kept].astype(np.int64),
            int(start[-1]),
        )

    def _break(
        self, time: Int64s, request: Int64s, chance: Int64s, status: Int64s, duration: Int64s
    ) -> None:
        """Change `status` and `duration` of the requests that fail because of a burst."""
        latest = int(time.max())
        while self.bursts[-1].start_ms <= latest:
            self._add_burst(self.bursts[-1].end_ms, BETWEEN_BURSTS_MS)
        earliest = int(time.min())
        for burst in self.bursts:
            if burst.end_ms <= earliest or burst.start_ms > latest:
                continue
            broken = (
                (time >= burst.start_ms)
                & (time < burst.end_ms)
                & (chance < BROKEN_PER_MILLE * CHOICES // 1000)
                & self._tables.breaks[burst.prefix][request]
            )
            status[broken] = burst.status
            duration[broken] = duration[broken] * 12 + 1_000_000

    def _add_burst(self, after_ms: int, between_ms: tuple[int, int]) -> None:
        raw = [int(one) for one in np.atleast_1d(self._burst_bits.random_raw(3))]
        prefix, status = catalogue.BREAKS[raw[0] % len(catalogue.BREAKS)]
        start = after_ms + between_ms[0] + raw[1] % (between_ms[1] - between_ms[0])
        length = BURST_MS[0] + raw[2] % (BURST_MS[1] - BURST_MS[0])
        self.bursts.append(Burst(prefix, status, start, start + length))


class _Tables:
    """The tables of `catalogue` as arrays. Random numbers below CHOICES are the indices of the
    arrays.
    """

    def __init__(self, settings: LogSettings) -> None:
        requests = catalogue.requests()
        self.kind = np.array([one.kind for one in requests], np.int64)
        self.by_minute = np.array(
            catalogue.sessions_by_minute(settings.lines_a_second / MEAN_LINES_A_SESSION, UNIT),
            np.int64,
        )
        self.a_day = int(self.by_minute[-1])
        self.arrival = np.array(catalogue.quantiles_exponential(UNIT), np.int64)
        self.visitor = np.array(
            [
                catalogue.VISITORS[index][0]
                for index in catalogue.choices(
                    [
                        0 if visitor is Visitor.NOISE and not settings.has_bad_lines else weight
                        for visitor, weight in catalogue.VISITORS
                    ]
                )
            ],
            np.int64,
        )
        exponential = catalogue.quantiles_exponential(1_000_000)
        self.lines = np.array(
            [
                [1 + mean * one // 1_000_000 if mean else 1 for one in exponential]
                for mean in (7, 40, 12, 0)
            ],
            np.int64,
        )
        people = catalogue.quantiles_lognormal(6_000, 1.1, ASSET_MS[1], LONGEST_THINK_MS)
        self.assets_below = CHOICES * 55 // 100
        span = ASSET_MS[1] - ASSET_MS[0]
        quick = [ASSET_MS[0] + index * span // CHOICES for index in range(CHOICES)]
        bots = [200 + index * 1_300 // CHOICES for index in range(CHOICES)]
        self.think = np.array(
            [
                [
                    quick[index]
                    if index < self.assets_below
                    else people[(index * 40_503) % CHOICES]
                    for index in range(CHOICES)
                ],
                bots,
                bots,
                bots,
            ],
            np.int64,
        )
        self.request = np.array(
            [
                catalogue.choices(
                    [
                        one.weight
                        if (one.kind is catalogue.Kind.PROBE) == (visitor is Visitor.SCANNER)
                        and one.kind is not catalogue.Kind.ASSET
                        and (visitor is Visitor.PERSON or one.method == "GET")
                        else 0
                        for one in requests
                    ]
                )
                for visitor in Visitor
            ],
            np.int64,
        )
        self.asset = np.array(
            catalogue.choices([one.kind is catalogue.Kind.ASSET for one in requests]), np.int64
        )
        sizes = dict(zip(catalogue.ASSETS, (18_240, 96_512, 3_120, 1_150), strict=True))
        self.asset_size = np.array([sizes.get(one.path, 0) for one in requests], np.int64)
        self.status = np.array(
            [
                [
                    catalogue.STATUSES[kind][index][0]
                    for index in catalogue.choices(
                        [weight for _, weight in catalogue.STATUSES[kind]]
                    )
                ]
                for kind in catalogue.Kind
            ],
            np.int64,
        )
        one_ms = catalogue.quantiles_lognormal(1_000_000, 0.6, 50_000, 40_000_000)
        self.duration = np.array(
            [
                [catalogue.MEDIAN_US[kind] * one // 1_000_000 for one in one_ms]
                for kind in catalogue.Kind
            ],
            np.int64,
        )
        self.size = np.array(catalogue.quantiles_lognormal(9_900, 0.5, 300, 5_000_000), np.int64)
        weights = [
            one.weight if one.kind is catalogue.Kind.PAGE and one.method == "GET" else 0
            for one in requests
        ]
        self.referrer = 1 + np.array(catalogue.choices(weights), np.int64)
        self.agent = np.array(
            [
                catalogue.choices(
                    [one.weight if one.visitor is visitor else 0 for one in catalogue.AGENTS]
                )
                for visitor in Visitor
            ],
            np.int64,
        )
        self.breaks = {
            prefix: np.array(
                [
                    one.path == "/" if prefix == "/" else one.path.startswith(prefix)
                    for one in requests
                ]
            )
            for prefix, _ in catalogue.BREAKS
        }
        self.too_late_ms = 2_000 * (settings.watermark_s + max(settings.gap_s, settings.window_s))
        # There are so many clients that a client's next session begins only after twice the longest
        # time of a session. So two sessions of one client never overlap.
        longest_s = LONGEST_SESSION_MS / 1000 + settings.gap_s
        at_once = 1.8 * settings.lines_a_second / MEAN_LINES_A_SESSION * longest_s
        self._clients = max(12, int(2 * at_once).bit_length())

    def client(self, session: Int64s) -> Int64s:
        """Return the client of each session.

        Sessions at about the same time have different clients.
        """
        number = session & ((1 << self._clients) - 1)
        client: Int64s = (number * 10_368_889 + 1_234_577) & 0xFFFFFF
        return client

    def clock_ms(self, operational: Int64s) -> Int64s:
        """Turn a number of sessions since 1970 into a time of the log's clock, in ms since 1970."""
        day, rest = operational // self.a_day, operational % self.a_day
        minute = np.searchsorted(self.by_minute, rest, side="right") - 1
        begin = self.by_minute[minute]
        part = (rest - begin) * 60_000 // (self.by_minute[minute + 1] - begin)
        clock: Int64s = day * DAY_MS + minute * 60_000 + part
        return clock


def _lanes(bits: np.random.PCG64, length: int, lanes: int) -> Int64s:
    """Return `lanes` arrays. Each has `length` random numbers below CHOICES."""
    raw = np.asarray(bits.random_raw(-(-lanes * length // 4)), dtype="<u8")
    return raw.view("<u2")[: lanes * length].reshape(lanes, length).astype(np.int64)


def _hash(session: Int64s, salt: int) -> Int64s:
    """Return a number below CHOICES that depends only on the session and the salt."""
    mixed = (session.astype(np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(48)).astype(np.int64)
