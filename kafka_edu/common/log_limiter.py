"""Limit the number of repeated log lines, so that the log stays readable."""

import logging
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

LINES_A_MINUTE: Final = 10
MINUTE_MS: Final = 60_000


class LogLimiter:
    """Allows `lines` log lines a minute. The first call after that minute logs how many lines were
    suppressed.

    Only one event loop may use it. Each call is O(1).
    """

    def __init__(self, now_ms: Callable[[], int], lines: int = LINES_A_MINUTE) -> None:
        self._now_ms = now_ms
        self._lines = lines
        self._minute_ends_ms = 0
        self._allowed = 0
        self.held_back = 0
        """Number of lines that were suppressed in the present minute."""

    def allows(self) -> bool:
        """Count a log line, and return whether it may be written now."""
        now_ms = self._now_ms()
        if now_ms >= self._minute_ends_ms:
            if self.held_back:
                log.warning(
                    "%d more lines of this kind were held back during the last minute of such"
                    " lines",
                    self.held_back,
                )
            self._minute_ends_ms = now_ms + MINUTE_MS
            self._allowed = self.held_back = 0
        if self._allowed < self._lines:
            self._allowed += 1
            return True
        self.held_back += 1
        return False
