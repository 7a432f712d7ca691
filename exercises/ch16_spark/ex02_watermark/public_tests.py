"""Public tests of exercise 16-2. Run them with `kafka-edu lab check 16-2`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..watermark import NOT_YET, RightCounts

ROUNDS: Final = 30
BATCHES: Final = 12


class Checked:
    """Gives batches to the learner's WindowCounts and to RightCounts. Compares the answers."""

    def __init__(self, learner: Learner, window_s: int, delay_s: int) -> None:
        self._made = learner.make(window_s, delay_s)
        self.right = RightCounts(window_s, delay_s)
        self._numbers = f"WindowCounts({window_s}, {delay_s})"

    def batch(self, *times_s: int) -> None:
        """Give a batch to the learner's class. Raises Mismatch if the answer is wrong."""
        asked = f"batch({list(times_s)}), {self._numbers}"
        before_s = self.right.watermark_s
        was_closed = set(self.right.closed)
        expected = self.right.batch(times_s)
        came = self._made.call("batch", times_s)
        if came == (expected[0], tuple(expected[1])):
            return
        shown = came
        if isinstance(came, tuple) and len(came) == 2 and isinstance(came[1], tuple):
            shown = came[0], list(came[1])
        raise Mismatch(
            asked,
            expected,
            shown,
            self._why(expected, came, before_s, was_closed),
            drawing=self.right.drawn(),
            read="batch",
        )

    def _why(
        self,
        expected: tuple[int, list[tuple[int, int]]],
        came: object,
        before_s: int,
        was_closed: set[int],
    ) -> str:
        match came:
            case (int(dropped), tuple(closed)):
                pass
            case _:
                return "batch returns (dropped, closed), and closed is a list of (begin, lines)"
        if dropped != expected[0]:
            return self._why_dropped(dropped, expected[0], before_s)
        again = sorted(begin for begin, *_ in filter(_is_window, closed) if begin in was_closed)
        if again:
            return (
                f"window {again[0]} was closed before. A closed window never comes again, so its"
                " late lines are dropped"
            )
        watermark = self.right.watermark_s
        for begin_s, lines in expected[1]:
            if (begin_s, lines) not in closed:
                if any(_is_window(one) and one[0] == begin_s for one in closed):
                    return f"window {begin_s} has {lines} lines that were not dropped"
                return (
                    f"the watermark is now {watermark}, and window {begin_s} ends at"
                    f" {begin_s + self.right.window_s}: at the watermark or before, so it is closed"
                )
        early = [one for one in closed if one not in expected[1]]
        if early and _is_window(early[0]):
            return (
                f"the watermark is now {watermark}, and window {early[0][0]} ends at"
                f" {early[0][0] + self.right.window_s}, after it: lines may still come"
            )
        return "the windows come in the order of their begins"

    def _why_dropped(self, came: int, expected: int, before_s: int) -> str:
        if before_s == NOT_YET:
            return "there is no watermark during the first batch, so nothing is dropped"
        fates, window_s = self.right.fates, self.right.window_s
        older = [one for one in fates if one.time_s < before_s and not one.dropped]
        if older and came == expected + len(older):
            one = older[0]
            return (
                f"time {one.time_s} is older than the watermark of this batch, {before_s}, but its"
                f" window ends at {one.begin_s + window_s}, after it: the line still counts"
            )
        if came > expected:
            return (
                f"during this batch the watermark stands still at {before_s}. The lines of this"
                " batch move it for the next batch only"
            )
        one = next(fate for fate in self.right.fates if fate.dropped)
        return (
            f"the watermark of this batch is {before_s}: the latest time of all batches before,"
            f" minus the delay. The window of time {one.time_s} ends at {one.begin_s + window_s},"
            " so the line is dropped"
        )

    def has_open(self) -> None:
        """Ask the learner's class for the open windows. Raises Mismatch if they are wrong."""
        expected = self.right.open_windows()
        came = self._made.call("open_windows")
        if came != tuple(expected):
            right = self.right
            counted = sum(right.closed.values()), sum(right.open.values())
            raise Mismatch(
                f"open_windows() after {right.batches} batches, {self._numbers}",
                expected,
                list(came) if isinstance(came, tuple) else came,
                f"{counted[0]} lines in closed windows + {counted[1]} in open ones +"
                f" {right.dropped} dropped = {right.sent} sent",
                drawing=right.drawn(),
                read="open_windows",
            )


def _is_window(one: object) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], int)


MakeCounts = Callable[..., Checked]


@pytest.fixture
def counts(learner: Learner) -> MakeCounts:
    """A function counts(window_s, delay_s): the learner's WindowCounts, with checks."""
    return lambda window_s=60, delay_s=30: Checked(learner, window_s, delay_s)


def test_the_figures_of_the_page(counts: MakeCounts) -> None:
    """the example numbers of README.md"""
    checked = counts()
    checked.batch(5, 70, 20)
    checked.batch(10, 95)
    checked.batch(30, 61)
    checked.has_open()


def test_first_batch(counts: MakeCounts) -> None:
    """the first batch drops no line, in whatever order its lines come"""
    checked = counts()
    checked.batch(600, 3, 300)
    checked.has_open()


def test_stands_still(counts: MakeCounts) -> None:
    """the lines of a batch move the watermark only for the next batch"""
    checked = counts()
    checked.batch(10)
    checked.batch(500, 12, 70)
    checked.batch(480)


def test_old_line_in_an_open_window(counts: MakeCounts) -> None:
    """a line older than the watermark counts while its window is open"""
    checked = counts()
    checked.batch(80, 85)
    checked.batch(40, 59)
    checked.has_open()


def test_edge(counts: MakeCounts) -> None:
    """a window that ends exactly at the watermark is closed, and drops its late lines"""
    checked = counts()
    checked.batch(10, 90)
    checked.batch(59, 60)
    checked.has_open()


def test_one_before_the_edge(counts: MakeCounts) -> None:
    """a window that ends 1 s after the watermark is open, and counts its late lines"""
    checked = counts()
    checked.batch(10, 89)
    checked.batch(59, 60)
    checked.has_open()


def test_never_falls(counts: MakeCounts) -> None:
    """a batch with only old lines does not move the watermark back"""
    checked = counts()
    checked.batch(10, 400)
    checked.batch(370, 360)
    checked.batch(310, 320)
    checked.has_open()


def test_not_again(counts: MakeCounts) -> None:
    """a closed window is not returned again"""
    checked = counts()
    checked.batch(10, 200)
    checked.batch(20, 21)
    checked.batch(700)
    checked.batch(30, 701)
    checked.has_open()


def test_empty_batch(counts: MakeCounts) -> None:
    """a batch without lines changes nothing"""
    checked = counts()
    checked.batch()
    checked.batch(10, 50)
    checked.batch()
    checked.has_open()
    checked.batch(300)
    checked.batch()
    checked.batch(10)


def test_many(counts: MakeCounts, seed: int) -> None:
    """random windows, delays and late lines; lines counted + dropped = lines sent"""
    random = Random(seed)
    for _ in range(ROUNDS):
        checked = counts(random.choice((5, 10, 60)), random.randrange(0, 60))
        now_s = random.randrange(0, 500)
        for _ in range(BATCHES):
            now_s += random.randrange(0, 60)
            checked.batch(
                *(
                    max(0, now_s - int(random.expovariate(1 / 60)))
                    for _ in range(random.randrange(0, 5))
                )
            )
        checked.has_open()
