"""Exercise 16-6: the reference solution."""

from collections import deque
from collections.abc import Sequence

Row = tuple[int, str, int, int]  # minute, agent, status, lines


class Burst:
    """A burst of errors that is not over yet."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.end = begin
        self.failed = 0
        self.failed_since = 0
        self.calm = 0

    def hot(self, minute: int, failed: int) -> None:
        """Extend the burst to this minute. Add the failed lines since its last hot minute."""
        self.end = minute + 1
        self.failed += self.failed_since + failed
        self.failed_since = self.calm = 0


class ErrorAlarm:
    """Finds the minutes in which more requests fail than usual."""

    def __init__(self, learn: int, least: int, times: int, rest: int) -> None:
        self.learn = learn
        self.least = least
        self.times = times
        self.rest = rest
        self.until = 0
        self.waiting: dict[int, tuple[int, int]] = {}
        self.calm: deque[tuple[int, int]] = deque(maxlen=learn)
        self.burst: Burst | None = None

    def batch(self, rows: Sequence[Row], until: int) -> list[tuple[object, ...]]:
        """Add rows, judge the minutes before `until`, and return the messages in their order."""
        for minute, agent, status, lines in rows:
            bot = any(word in agent.lower() for word in ("bot", "crawl", "spider"))
            if minute >= self.until and not bot:
                failed, all_lines = self.waiting.get(minute, (0, 0))
                failed += lines if status >= 500 else 0
                self.waiting[minute] = failed, all_lines + lines
        self.until = until
        messages: list[tuple[object, ...]] = []
        for minute in sorted(minute for minute in self.waiting if minute < until):
            messages += self.judge(minute, *self.waiting.pop(minute))
        return messages

    def judge(self, minute: int, failed: int, lines: int) -> list[tuple[object, ...]]:
        """Decide whether a minute is hot, calm or quiet, and return the messages for it."""
        judged = lines >= self.least
        if judged and self.is_hot(failed, lines):
            began = self.burst is None
            self.burst = self.burst or Burst(minute)
            self.burst.hot(minute, failed)
            return [("begins", minute)] if began else []
        if self.burst is None:
            if judged:
                self.calm.append((failed, lines))
            return []
        self.burst.failed_since += failed
        self.burst.calm += judged
        if self.burst.calm < self.rest:
            return []
        over, self.burst = self.burst, None
        return [("ends", over.begin, over.end, over.failed)]

    def is_hot(self, failed: int, lines: int) -> bool:
        """Return whether a minute is hot: more of its lines failed than the rule allows."""
        if len(self.calm) < self.learn:
            return False
        base_failed, base_lines = self.baseline()
        return failed * base_lines > self.times * (base_failed + 1) * lines

    def baseline(self) -> tuple[int, int]:
        """Return (failed, lines): the sums over the minutes that are in the baseline now."""
        return sum(failed for failed, _ in self.calm), sum(lines for _, lines in self.calm)
