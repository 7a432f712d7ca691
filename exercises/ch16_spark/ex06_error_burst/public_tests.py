"""Public tests of exercise 16-6. Run them with `kafka-edu lab check 16-6`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..error_rates import (
    Judged,
    Kind,
    Message,
    RightAlarm,
    Row,
    Settings,
    random_batches,
    rows_of,
    shown,
)

ROUNDS: Final = 40
BATCHES: Final = 12
SILENCE: Final = 1_000_000_000


class Checked:
    """Gives rows to the learner's ErrorAlarm and to RightAlarm, and compares the answers."""

    def __init__(self, learner: Learner, settings: Settings) -> None:
        self._made = learner.make(*settings)
        self._right = RightAlarm(settings)
        self._settings = settings
        self._numbers = (
            f"ErrorAlarm(learn={settings.learn}, least={settings.least}, times={settings.times},"
            f" rest={settings.rest})"
        )

    def batch(self, rows: Sequence[Row], until: int) -> None:
        """Give a batch to the learner's class. Raises Mismatch if the messages are wrong."""
        was_until = self._right.until
        expected = self._right.batch(rows, until)
        came = self._made.call("batch", [list(row) for row in rows], until)
        if came == tuple(expected):
            return
        why, around = self._why(expected, came, was_until)
        raise Mismatch(
            f"batch({shown(rows)}, until={until}), {self._numbers}",
            expected,
            list(came) if isinstance(came, tuple) else came,
            why,
            drawing=self._right.drawn(around),
            read="batch",
        )

    def minutes(self, *minutes: tuple[int, int], first: int = 0) -> int:
        """Give minutes to the learner's class, one batch for each minute. A minute is given as
        (failed, lines). Return the number of the next minute.
        """
        for number, (failed, lines) in enumerate(minutes, first):
            self.batch(rows_of(number, lines, failed), number + 1)
        return first + len(minutes)

    def has_baseline(self) -> None:
        """Ask the learner's class for the baseline. Raises Mismatch if it is wrong."""
        expected = self._right.baseline()
        came = self._made.call("baseline")
        if came == expected:
            return
        raise Mismatch(
            f"baseline() when until is {self._right.until}, {self._numbers}",
            expected,
            came,
            self._why_baseline(),
            drawing=self._right.drawn(),
            read="baseline, and where a minute joins it",
        )

    def _why_baseline(self) -> str:
        minutes = self._right.baseline_minutes()
        if not minutes:
            return "no calm minute is closed yet"
        sums = ", ".join(f"{one.minute} ({one.failed} of {one.lines})" for one in minutes)
        bots = " Lines of bots do not count." if any(one.bots for one in minutes) else ""
        return (
            f"the baseline has the last {self._settings.learn} calm minutes that came while no"
            f" burst was open, each with all its rows: {sums}.{bots}"
        )

    def _why(
        self, expected: Sequence[Message], came: object, was_until: int
    ) -> tuple[str, int | None]:
        """Return why the expected messages are right, and the minute that decides it."""
        shape = "batch returns a list of ('begins', begin) and ('ends', begin, end, failed)"
        if not isinstance(came, tuple):
            return shape, None
        for number in range(max(len(expected), len(came))):
            right = expected[number] if number < len(expected) else None
            theirs = came[number] if number < len(came) else None
            if theirs == right:
                continue
            match theirs:
                case None | ("begins", int()) | ("ends", int(), int(), int()):
                    pass
                case _:
                    return shape, None
            return self._why_one(right, theirs, was_until)
        return shape, None

    def _why_one(
        self, right: Message | None, theirs: object, was_until: int
    ) -> tuple[str, int | None]:
        match theirs, right:
            case ("ends", int(begin), int(end), int(failed)), ("ends", int(b), int(e), int(f)):
                return self._why_other_end((begin, end, failed), (b, e, f)), None
            case ("begins", int(minute)), ("begins", int(first)) if first < minute:
                return self._why_hot(first, was_until), first
            case ("begins", int(minute)), _:
                return self._why_not(minute, was_until), minute
            case ("ends", int(begin), _, _), None:
                return self._why_open(begin), None
            case _, ("begins", int(minute)):
                return self._why_hot(minute, was_until), minute
            case _, ("ends", int(begin), int(end), _):
                return (
                    f"minute {end - 1} was the last hot one, and {self._settings.rest} calm"
                    f" minutes came after it without a hot one: the burst of {begin} is over"
                ), None
        return "a message comes once, in the order of the minutes", None

    def _why_hot(self, minute: int, was_until: int) -> str:
        one = self._right.of(minute)
        if one is None:
            return "a message comes once, in the order of the minutes"
        now = [str(one.minute) for one in self._right.judged if one.minute >= was_until]
        order = f". Judge the minutes in this order: {', '.join(now[:6])}" if len(now) > 1 else ""
        return (
            f"minute {minute} is closed, and {one.failed} of {one.lines} lines failed. The baseline"
            f" is {one.baseline[0]} of {one.baseline[1]}: {self._right.compared(one)}, so the"
            f" minute is hot{order}"
        )

    def _why_not(self, minute: int, was_until: int) -> str:
        one = self._right.of(minute)
        if minute >= self._right.until:
            return (
                f"minute {minute} is not closed: until is {self._right.until}, so lines of it may"
                " still come"
            )
        if minute < was_until:
            return (
                f"until was {was_until} before this batch, so minute {minute} was judged then. A"
                " minute is judged once, and rows that come later change nothing"
            )
        if one is None:
            return f"minute {minute} has no row"
        if one.kind == Kind.QUIET:
            bots = f" and {one.bots} of bots, which do not count" if one.bots else ""
            return (
                f"minute {minute} has {one.lines} lines{bots}. That is fewer than"
                f" {self._settings.least}, so the minute is quiet, and never hot"
            )
        if one.kind == Kind.LEARNT:
            return (
                f"the baseline has fewer than {self._settings.learn} minutes when minute {minute}"
                " is judged, so the minute is calm, and is learnt"
            )
        if one.kind == Kind.CALM:
            return self._why_calm(one)
        if one.in_burst:
            return f"minute {minute} is hot, but a burst is open: the minute continues it"
        return "a message comes once, in the order of the minutes"

    def _why_calm(self, one: Judged) -> str:
        if not one.failed:
            bots = " Lines of bots do not count." if one.bots else ""
            return f"no line of minute {one.minute} failed: only 500 or more is a failure.{bots}"
        exact = one.failed * one.baseline[1] == self._settings.times * one.lines * (
            one.baseline[0] + 1
        )
        return (
            f"{one.failed} of {one.lines} lines of minute {one.minute} failed, and the baseline is"
            f" {one.baseline[0]} of {one.baseline[1]}: {self._right.compared(one)}. That is not"
            f" more, so the minute is calm."
            + (
                " The sides are equal; shares in floating point may differ in the last digit."
                if exact
                else ""
            )
            + (f" Its {one.bots} lines of bots do not count." if one.bots else "")
        )

    def _why_open(self, begin: int) -> str:
        last_hot = self._right.last_hot()
        if last_hot is None or not self._right.judged[-1].in_burst:
            return f"no burst that began at {begin} is open: each ends once"
        calm = self._right.calm_in_a_row()
        since = [one for one in self._right.judged if one.minute > last_hot]
        quiet = ". Quiet ones are not calm" if any(one.kind == Kind.QUIET for one in since) else ""
        return (
            f"the burst is still open: minute {last_hot} was hot, and {calm} of"
            f" {self._settings.rest} calm minutes came since then{quiet}"
        )

    def _why_other_end(self, came: tuple[int, int, int], right: tuple[int, int, int]) -> str:
        begin, end, failed = right
        if came[0] != begin:
            return f"this burst began at minute {begin}, its first hot one"
        if came[1] != end:
            return f"minute {end - 1} is the last hot one, so the burst ends at {end}"
        return (
            f"{failed} lines of persons failed in the minutes from {begin} to before {end}, calm"
            " and quiet ones among them, and none after that"
        )


MakeAlarm = Callable[..., Checked]


@pytest.fixture
def alarm(learner: Learner) -> MakeAlarm:
    """A function alarm(learn, least, times, rest): the learner's ErrorAlarm, with checks."""
    return lambda learn=2, least=10, times=4, rest=2: Checked(
        learner, Settings(learn, least, times, rest)
    )


CALM: Final = 0, 20
HOT: Final = 12, 20
QUIET: Final = 1, 2


def test_the_figures_of_the_page(alarm: MakeAlarm) -> None:
    """the example numbers of README.md"""
    checked, f, b = alarm(), "Firefox", "ExampleBot"
    checked.batch([Row(0, f, 200, 39), Row(0, f, 503, 1), Row(1, f, 200, 20)], 2)
    checked.has_baseline()
    checked.batch([Row(2, f, 200, 1), Row(2, f, 503, 1), Row(3, f, 500, 2)], 3)
    checked.batch([Row(3, f, 200, 18), Row(3, b, 200, 90), Row(4, f, 503, 4)], 4)
    checked.has_baseline()
    checked.batch([Row(4, f, 200, 6), Row(5, f, 200, 30)], 6)
    checked.batch([Row(6, f, 500, 9), Row(6, f, 200, 3), Row(7, f, 200, 30)], 8)
    checked.batch([Row(6, f, 200, 50), Row(8, f, 200, 30)], 9)


def test_one_burst(alarm: MakeAlarm) -> None:
    """a burst begins and ends once, and then another burst begins and ends once"""
    checked = alarm()
    checked.minutes(CALM, CALM, HOT, HOT, CALM, CALM, CALM, HOT, CALM, CALM, CALM)


def test_learning(alarm: MakeAlarm) -> None:
    """no minute is hot while the baseline is not complete"""
    checked = alarm(3)
    checked.has_baseline()
    for number, minute in enumerate(((0, 30), (30, 30), (0, 60), (60, 60))):
        checked.minutes(minute, first=number)
        checked.has_baseline()


def test_closed(alarm: MakeAlarm) -> None:
    """a minute is judged when it is closed, with all its rows"""
    checked = alarm()
    after = checked.minutes(CALM, CALM)
    checked.batch(rows_of(after, 12, 12), after)
    checked.batch(rows_of(after, 200), after)
    checked.batch(rows_of(after, 12, 12, "curl"), after + 1)
    checked.has_baseline()
    checked.batch(rows_of(after + 1, 6, 3), after + 1)
    checked.batch(rows_of(after + 1, 6, 3), after + 1)
    checked.batch([], after + 2)


def test_any_order(alarm: MakeAlarm) -> None:
    """minutes are judged in the order of time, in whatever order their rows came"""
    checked = alarm()
    checked.batch(rows_of(3, 20, 12) + rows_of(1, 20) + rows_of(0, 20), 0)
    checked.batch(rows_of(2, 40, 2) + rows_of(6, 20) + rows_of(4, 20), 1)
    checked.has_baseline()
    checked.batch(rows_of(5, 20), 7)
    checked.has_baseline()


def test_too_late(alarm: MakeAlarm) -> None:
    """rows that come after their minute was judged change nothing"""
    checked = alarm()
    after = checked.minutes(CALM, CALM)
    checked.batch(rows_of(1, 500, 400) + rows_of(0, 50, 40), after)
    checked.has_baseline()
    checked.minutes(HOT, CALM, CALM, CALM, first=after)
    checked.batch(rows_of(2, 50, 50) + rows_of(5, 90, 90), after + 5)
    checked.has_baseline()


def test_quiet(alarm: MakeAlarm) -> None:
    """a minute of 2 lines, 1 of them failed, is quiet: no burst begins, and it is not learnt"""
    checked = alarm()
    checked.minutes(CALM, QUIET, CALM, QUIET, QUIET, (9, 9))
    checked.has_baseline()
    checked.minutes(CALM, first=6)
    checked.has_baseline()


def test_least(alarm: MakeAlarm) -> None:
    """a minute with `least` - 1 lines is quiet, and a minute with `least` lines is not"""
    checked = alarm(least=12)
    checked.minutes(CALM, CALM, (11, 11), (12, 12))


def test_bots(alarm: MakeAlarm) -> None:
    """lines of bots do not count; the agent names the bot, in small or capital letters"""
    for agent in ("ExampleBot/2.1", "a web CRAWLER", "BigSpider", "robot"):
        checked = alarm()
        checked.batch(rows_of(0, 20) + rows_of(1, 20) + rows_of(0, 300, agent=agent), 2)
        checked.has_baseline()
        checked.batch(rows_of(2, 20, 1) + rows_of(2, 60, 60, agent), 3)
        checked.batch(rows_of(3, 9, 5) + rows_of(3, 9, 9, agent), 4)
        checked.batch(rows_of(4, 20, 12) + rows_of(4, 900, agent=agent), 5)
        checked.batch(rows_of(5, 50) + rows_of(5, 70, 70, agent), 6)
        checked.batch(rows_of(6, 50), 7)


def test_status(alarm: MakeAlarm) -> None:
    """a status of 500 or 599 counts as failed, and 499 or 404 does not"""
    checked = alarm()
    first = checked.minutes(CALM, CALM)
    for minute, status in enumerate((499, 404, 500, 599), first):
        checked.batch([Row(minute, "curl", status, 30)], minute + 1)


def test_no_failure_before(alarm: MakeAlarm) -> None:
    """the first errors after minutes without any: one failed line is added to the baseline"""
    checked = alarm()
    checked.minutes(CALM, CALM, (1, 20), (2, 20), (3, 20), CALM, CALM, (4, 20))


def test_exactly_times(alarm: MakeAlarm) -> None:
    """a minute with `times` the baseline's share is not hot; with one more failed line it is hot"""
    for times, base_lines, failed, lines in ((3, 17, 3, 17), (3, 28, 9, 84), (4, 40, 6, 60)):
        for more in (0, 1):
            checked = alarm(1, times=times)
            checked.minutes((0, base_lines), (failed + more, lines))


def test_sizes(alarm: MakeAlarm) -> None:
    """minutes of different sizes in the baseline: lines are added, shares are not averaged"""
    checked = alarm()
    checked.minutes((6, 12), (0, 600), (3, 50))
    checked = alarm()
    checked.minutes((0, 12), (60, 600), (18, 50))


def test_baseline_moves(alarm: MakeAlarm) -> None:
    """only the last `learn` calm minutes are in the baseline"""
    checked = alarm(3)
    for first, minute in enumerate(((8, 20), (6, 20), (4, 20), (0, 30), (0, 40), (0, 50), (6, 20))):
        checked.minutes(minute, first=first)
        checked.has_baseline()


def test_long_burst(alarm: MakeAlarm) -> None:
    """hot minutes are not learnt: a long burst stays one burst"""
    checked = alarm()
    checked.minutes(CALM, CALM, *[HOT] * 8)
    checked.has_baseline()
    checked.minutes(CALM, CALM, HOT, first=10)


def test_rest(alarm: MakeAlarm) -> None:
    """`rest` calm minutes end a burst only if no hot minute is between them"""
    checked = alarm(rest=3)
    checked.minutes(CALM, CALM, HOT, CALM, CALM, HOT, CALM, HOT, CALM, CALM, CALM, CALM)
    checked = alarm(rest=1)
    checked.minutes(CALM, CALM, HOT, CALM, HOT, CALM, CALM)


def test_calm_in_a_burst(alarm: MakeAlarm) -> None:
    """no minute is learnt while a burst is open, and neither is the minute that ends it"""
    checked = alarm()
    checked.minutes(CALM, CALM, HOT, (0, 500))
    checked.has_baseline()
    checked.minutes((0, 600), first=4)
    checked.has_baseline()
    checked.minutes((0, 700), first=5)
    checked.has_baseline()


def test_quiet_in_a_burst(alarm: MakeAlarm) -> None:
    """quiet minutes do not end a burst, and do not interrupt a row of calm minutes"""
    checked = alarm()
    checked.minutes(CALM, CALM, HOT, QUIET, QUIET, QUIET, CALM, QUIET, CALM, CALM)


def test_failed(alarm: MakeAlarm) -> None:
    """a burst counts all failed lines up to its last hot minute, also in quiet and calm minutes"""
    checked = alarm()
    checked.minutes((1, 100), (1, 100), HOT, (1, 2), (3, 60), (13, 20), (2, 60), (5, 6), (4, 90))
    checked.minutes((0, 100), (15, 20), (1, 100), (0, 100), first=9)


def test_long_silence(alarm: MakeAlarm) -> None:
    """a billion minutes without a line, in a burst and outside of a burst"""
    checked = alarm()
    first = checked.minutes(CALM, CALM)
    checked.batch(rows_of(first, 20, 12), SILENCE)
    checked.batch(rows_of(SILENCE, 20) + rows_of(SILENCE + 7, 20), 2 * SILENCE)


def test_many_batches(alarm: MakeAlarm, seed: int) -> None:
    """random bursts, quiet minutes, bots and late rows"""
    random = Random(seed)
    for _ in range(ROUNDS):
        checked = alarm(
            random.randrange(1, 5),
            random.choice((1, 10, 25)),
            random.randrange(2, 5),
            random.randrange(1, 4),
        )
        for rows, until in random_batches(random, BATCHES):
            checked.batch(rows, until)
            checked.has_baseline()
