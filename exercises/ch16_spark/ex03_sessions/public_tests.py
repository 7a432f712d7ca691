"""Public tests of exercise 16-3. Run them with `kafka-edu lab check 16-3`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..visits import RightSessions, Session

ROUNDS: Final = 12
LINES: Final = 40
LONG_VISIT: Final = 20_000


class Checked:
    """Gives lines to the learner's Sessions and to RightSessions, and compares the answers."""

    def __init__(self, learner: Learner, gap_s: int) -> None:
        self._made = learner.make(gap_s)
        self._right = RightSessions(gap_s)
        self._numbers = f"Sessions({gap_s})"

    def add(self, client: str, time_s: int) -> None:
        """Give a line to the learner's class. Raises Mismatch if the answer is wrong."""
        before = self._right.of(client)
        expected = self._right.add(client, time_s)
        came = self._made.call("add", client, time_s)
        if came == expected:
            return
        raise Mismatch(
            f"add({client!r}, {time_s}), {self._numbers}",
            tuple(expected),
            came,
            self._why_add(before, expected, time_s, came),
            drawing=self._right.drawn(client, time_s),
            read="add",
        )

    def _why_add(
        self,
        before: list[Session],
        expected: Session,
        time_s: int,
        came: object,
    ) -> str:
        gap_s = self._right.gap_s
        joined = [one for one in before if expected[0] <= one[0] and one[1] <= expected[1]]
        if not joined:
            if isinstance(came, tuple) and len(came) == 3 and came[2] != 1:
                nearest = [one for one in before if came[0] in (one[0], time_s)]
                pause = min((abs(time_s - one[1]) for one in nearest or before), default=0)
                if before:
                    return f"the pause to every other line is more than {gap_s}, here {pause} s"
                return "this client has no other line: every client has sessions of its own"
            return "no open session of this client is near enough, so it is a new one"
        if len(joined) == 2:
            (_, left, _), (right, _, _) = sorted(joined)
            return (
                f"{time_s} is {time_s - left} s after the session that ended at {left}, and"
                f" {right - time_s} s before the one that began at {right}: it joins both to one"
            )
        first_s, last_s, _ = joined[0]
        if first_s <= time_s <= last_s:
            return f"{time_s} is inside the session from {first_s} to {last_s}: its ends stay"
        pause = first_s - time_s if time_s < first_s else time_s - last_s
        side = "before the first line" if time_s < first_s else "after the last line"
        exactly = "exactly the gap, which does not end it" if pause == gap_s else "not too long"
        return (
            f"{time_s} is {pause} s {side} of the session from {first_s} to {last_s}: the pause is"
            f" {exactly}, so the line joins it"
        )

    def close(self, watermark_s: int) -> None:
        """Call `close` of the learner's class. Raises Mismatch if the closed sessions are wrong."""
        open_before = {client: self._right.of(client) for client in self._right.times_s}
        expected = self._right.close(watermark_s)
        came = self._made.call("close", watermark_s)
        if came == tuple(expected):
            return
        rows = list(came) if isinstance(came, tuple) else came
        raise Mismatch(
            f"close({watermark_s}), {self._numbers}",
            expected,
            rows,
            self._why_close(watermark_s, expected, rows),
            drawing=tuple(
                f"    {client}: {one.first_s} to {one.last_s}, over if the watermark is more than"
                f" {one.last_s + self._right.gap_s}"
                for client, found in sorted(open_before.items())
                for one in found
            )[:8],
            read="close",
        )

    def _why_close(
        self, watermark_s: int, expected: list[tuple[str, int, int, int]], came: object
    ) -> str:
        if not isinstance(came, list):
            return "close returns a list of (client, first_s, last_s, lines)"
        for client, first_s, last_s, lines in expected:
            if (client, first_s, last_s, lines) not in came:
                return (
                    f"the session of {client!r} from {first_s} to {last_s} is over: a line at"
                    f" {watermark_s} or later is at least {watermark_s - last_s} s after it"
                )
        for one in came:
            if one not in expected:
                match one:
                    case (str(client), int(first_s), int(last_s), int()) if any(
                        session[:2] == (first_s, last_s) for session in self._right.of(client)
                    ):
                        return (
                            f"the session of {client!r} from {first_s} to {last_s} is still open: a"
                            f" line at {watermark_s} would be {watermark_s - last_s} s after it,"
                            f" which is not more than {self._right.gap_s}"
                        )
                return f"there is no open session {one!r}: a session is returned once"
        return "they come in the order of first_s, then of the client, each once"

    def long_visit(self, lines: int) -> None:
        """Add many lines of one visit, within the time limits of a call, and check the session."""
        random = Random(lines)
        times_s = [random.randrange(lines) for _ in range(lines)]
        self._made.call_all([("add", ("a", time_s)) for time_s in range(0, lines, 10)])
        came = self._made.call_all([("add", ("a", time_s)) for time_s in times_s])
        expected = 0, lines - 10, len(range(0, lines, 10)) + lines
        first_s, last_s = min(0, *times_s), max(expected[1], *times_s)
        if came != (first_s, last_s, expected[2]):
            raise Mismatch(
                f"{lines:,} lines of one visit, {self._numbers}",
                (first_s, last_s, expected[2]),
                came,
                "no pause in it is longer than the gap",
                read="add",
            )


MakeSessions = Callable[..., Checked]


@pytest.fixture
def sessions(learner: Learner) -> MakeSessions:
    """A function sessions(gap_s): the learner's Sessions, with checks."""
    return lambda gap_s=30: Checked(learner, gap_s)


def test_in_order(sessions: MakeSessions) -> None:
    """lines in the order of time, and a pause that ends a session"""
    checked = sessions()
    for time_s in (100, 110, 135, 200, 210):
        checked.add("a", time_s)


def test_exact_gap(sessions: MakeSessions) -> None:
    """a pause of exactly the gap does not end a session, but a pause one second longer does"""
    checked = sessions()
    for time_s in (100, 130, 161, 191):
        checked.add("a", time_s)


def test_clients(sessions: MakeSessions) -> None:
    """each client has sessions of its own"""
    checked = sessions()
    for client, time_s in (("a", 100), ("b", 110), ("a", 125), ("b", 111)):
        checked.add(client, time_s)


def test_inside(sessions: MakeSessions) -> None:
    """a late line inside a session does not change the session's first and last time"""
    checked = sessions()
    for time_s in (100, 120, 140, 105, 140):
        checked.add("a", time_s)


def test_before(sessions: MakeSessions) -> None:
    """a late line makes a session begin earlier"""
    checked = sessions()
    for time_s in (100, 75, 45, 10):
        checked.add("a", time_s)


def test_joins_the_older(sessions: MakeSessions) -> None:
    """a late line joins an older session of the client, not the last session"""
    checked = sessions()
    for time_s in (100, 200, 110, 300, 210):
        checked.add("a", time_s)


def test_two_become_one(sessions: MakeSessions) -> None:
    """a line that fills the pause turns two sessions into one"""
    checked = sessions()
    for time_s in (100, 160, 130, 300, 245, 270, 215, 190):
        checked.add("a", time_s)


def test_close(sessions: MakeSessions) -> None:
    """a session is over when no line can join it any more, and is returned only once"""
    checked = sessions()
    checked.add("a", 100)
    checked.add("b", 120)
    for watermark_s in (100, 130, 131, 132, 150, 151, 152):
        checked.close(watermark_s)


def test_close_some(sessions: MakeSessions) -> None:
    """only the older session of a client is over; sessions come sorted by their start"""
    checked = sessions()
    for client, time_s in (("z", 100), ("m", 105), ("a", 105), ("z", 200), ("z", 120)):
        checked.add(client, time_s)
    checked.close(160)
    checked.add("z", 175)
    checked.close(1_000)
    checked.add("z", 1_005)
    checked.close(2_000)


def test_long_visit(sessions: MakeSessions) -> None:
    """adding thousands of lines to one visit is fast"""
    sessions(60).long_visit(LONG_VISIT)


def test_many(sessions: MakeSessions, seed: int) -> None:
    """random clients, gaps and late lines"""
    random = Random(seed)
    for _ in range(ROUNDS):
        checked = sessions(random.choice((5, 30, 60)))
        now_s = watermark_s = random.randrange(1_000)
        for _ in range(LINES):
            now_s += random.randrange(0, 25)
            time_s = max(watermark_s, now_s - int(random.expovariate(1 / 60)))
            checked.add(random.choice("abc"), time_s)
            if random.random() < 0.15:
                watermark_s = max(watermark_s, now_s - random.randrange(0, 120))
                checked.close(watermark_s)
        checked.close(now_s + 1_000)
