"""Public tests of exercise 16-3s. Run them with `kafka-edu lab check 16-3s`. The learner's job runs
in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..jobs import check_columns
from ..minutes import DELAY_S, LINES, Line, clock
from ..visits import RightSessions

COLUMNS: Final = {
    "client": "string",
    "begin": "timestamp",
    "last": "timestamp",
    "lines": "bigint",
    "failed": "boolean",
}
GAP_S: Final = 300
A, B = "10.0.0.1", "10.0.0.2"
BATCHES: Final = 5
MOST_STATE: Final = 6


class RightVisits:
    """Finds the right sessions by the gap rule and by Spark's watermark."""

    def __init__(self) -> None:
        self.sessions = RightSessions(GAP_S)
        self.kept: list[Line] = []
        self.watermark_s: int | None = None
        self._latest_s = -(10**9)

    def batch(self, lines: Sequence[Line]) -> list[Row]:
        """Add a batch of lines, and return the sessions that are over after it."""
        for line in lines:
            # A line as a session of its own ends a gap after it.
            if self.watermark_s is None or line.time_s + GAP_S > self.watermark_s:
                self.sessions.add(line.client, line.time_s)
                self.kept.append(line)
        if lines:
            self._latest_s = max(self._latest_s, *(line.time_s for line in lines))
            self.watermark_s = self._latest_s - DELAY_S
        if self.watermark_s is None:
            return []
        return [
            (client, clock(first_s), clock(last_s), count, self._failed(client, first_s, last_s))
            for client, first_s, last_s, count in self.sessions.close(self.watermark_s + 1)
        ]

    def _failed(self, client: str, first_s: int, last_s: int) -> bool:
        of_it = [
            line for line in self.kept if line.client == client and first_s <= line.time_s <= last_s
        ]
        return any(line.status >= 500 for line in of_it)


class Checked:
    """Runs the learner's stream, and compares its sessions with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, why: str, *batches: Sequence[Line]) -> None:
        """Raise Mismatch unless each micro-batch writes the right sessions. `why` is the rule that
        the message names as the reason.
        """
        came = self._learner.stream(LINES, [[line.row() for line in batch] for batch in batches])
        check_columns("build(spark, records)", came, COLUMNS)
        right = RightVisits()
        for number, (batch, wrote) in enumerate(zip(batches, came.batches, strict=True), start=1):
            expected = right.batch(batch)
            rows = sorted(wrote, key=repr)
            if rows != sorted(expected, key=repr):
                raise Mismatch(
                    f"micro-batch {number}",
                    sorted(expected, key=repr),
                    rows,
                    why_other(why, expected, rows),
                    drawing=tuple(
                        drawn
                        for client in sorted({line.client for line in batch})
                        for drawn in right.sessions.drawn(client)
                    )[:6],
                    read="build",
                )


def why_other(why: str, expected: Sequence[Row], came: Sequence[Row]) -> str:
    """Return what is wrong: the column that differs in a right session, or the rule `why`."""
    if len(expected) == len(came):
        for row, other in zip(sorted(expected, key=repr), came, strict=True):
            if row[:2] == other[:2] and row != other:
                at = next(
                    i for i, pair in enumerate(zip(row, other, strict=True)) if pair[0] != pair[1]
                )
                name = list(COLUMNS)[at]
                said = f"{name} should be {row[at]!r}, and is {other[at]!r}"
                return said if name in ("failed", "last") else f"{said}: {why}"
    missing = [row for row in expected if row not in came]
    if missing and not came:
        return f"the session that began at {str(missing[0][1])[11:]} is over with this batch: {why}"
    return why


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its sessions."""
    return Checked(learner)


def test_one_client(job: Checked) -> None:
    """a visit is written when no line can join it any more"""
    job.agrees(
        "no line within the promise can join it",
        [Line(0, A), Line(100, A)],
        [Line(240, A)],
        [Line(240 + GAP_S + DELAY_S - 1, B)],
        [Line(240 + GAP_S + DELAY_S, B)],
    )


def test_clients(job: Checked) -> None:
    """each client has sessions of its own"""
    job.agrees(
        "each client has sessions of its own",
        [Line(0, A), Line(10, B), Line(20, A)],
        [Line(2_000, B)],
    )


def test_exact_gap(job: Checked) -> None:
    """a pause of exactly 5 minutes does not end a session, but a pause one second longer does"""
    job.agrees(
        "a pause of exactly 5 minutes does not end a session",
        [Line(0, A), Line(GAP_S, A), Line(2 * GAP_S + 1, A)],
        [Line(4_000, B)],
    )


def test_late_line(job: Checked) -> None:
    """a late line fills the pause, and two sessions become one"""
    job.agrees(
        "a line that is late by up to 2 minutes joins its session",
        [Line(0, A), Line(360, A)],
        [Line(240, A)],
        [Line(700, B), Line(640, A)],
        [Line(640 + GAP_S + DELAY_S, B)],
    )


def test_failed(job: Checked) -> None:
    """a visit failed if one of its lines has a status of 500 or more"""
    job.agrees(
        "a status of 500 or more is an error of the server",
        [Line(0, A, 200), Line(5, A, 503), Line(9, A, 200), Line(3, B, 404), Line(4, B, 200)],
        [Line(5_000, B)],
    )


def test_state(learner: SparkLearner) -> None:
    """sessions that are over are removed from the state"""
    batches = [
        [Line(begin + at, f"10.0.1.{begin // 600}") for at in (0, 9)]
        for begin in range(0, 6_000, 600)
    ]
    came = learner.stream(LINES, [[line.row() for line in batch] for batch in batches])
    most = max(came.state_rows, default=0)
    if most > MOST_STATE:
        raise Mismatch(
            "10 visits in 10 micro-batches, one after the other",
            f"at most {MOST_STATE} sessions in the state",
            f"{most} sessions",
            "only sessions that a line may still join are kept",
            read="build",
        )


def test_many(job: Checked, seed: int) -> None:
    """random lines of three clients, some late and some too late"""
    random, now_s, batches = Random(seed), 0, []
    for _ in range(BATCHES):
        batch = []
        for _ in range(random.randrange(3, 8)):
            now_s += random.choice((0, 10, 100, GAP_S, GAP_S + 1))
            late_s = random.choice((0, 0, 60, DELAY_S, random.randrange(900)))
            client = random.choice((A, B, "10.0.0.3"))
            batch.append(Line(max(0, now_s - late_s), client, random.choice((200, 200, 500))))
        batches.append(batch)
    job.agrees("the gap rule of each client", *batches, [Line(now_s + 9_000, "10.0.0.9")])
