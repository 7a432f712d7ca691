"""The right answers of exercise 16-13s: the minutes with errors, and when each is written."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from ..runner.spark_learner import Row
from .minutes import DELAY_S, WINDOW_S, Line, clock


class RightErrors:
    """Finds the minutes by the exercise's rules. All lines move the watermark."""

    def __init__(self) -> None:
        self.watermark_s = -(10**9)
        self.errors = Counter[int]()

    def batch(self, lines: Sequence[Line]) -> list[Row]:
        """Add a batch of lines, and return the rows (begin, errors) that it must write."""
        for line in lines:
            begin_s = line.time_s - line.time_s % WINDOW_S
            if line.status >= 500 and begin_s + WINDOW_S > self.watermark_s:
                self.errors[begin_s] += 1
        latest_s = max([line.time_s for line in lines], default=0)
        self.watermark_s = max(self.watermark_s, latest_s - DELAY_S)
        over = sorted(begin for begin in self.errors if begin + WINDOW_S <= self.watermark_s)
        return [(clock(begin), self.errors.pop(begin)) for begin in over]


def quiet_shop(
    random: Random, lines: int, steps_s: Sequence[int], latest_s: int = DELAY_S
) -> list[Line]:
    """Return the lines of a shop with few errors, in the order in which they come. One in ten is up
    to `latest_s` late. The last line is of a much later time.
    """
    now_s, found = 0, list[Line]()
    for _ in range(lines):
        now_s += random.choice(steps_s)
        late_s = random.choice((*(0,) * 9, random.randrange(latest_s)))
        status = 503 if random.random() < 0.1 else random.choice((200, 200, 304, 404))
        found.append(Line(max(0, now_s - late_s), status=status))
    return [*found, Line(now_s + 10_000)]
