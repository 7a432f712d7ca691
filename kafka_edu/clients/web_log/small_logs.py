"""Fit a web log's settings to its number of lines, so that a small log has every kind of fault too.

A session that is too late is written a quarter to half an hour after its time. With a fixed number
of lines a second, a small log ends before that time, and none of its lines is too late. So a small
log gets fewer lines a second, and covers about as much time as a large log. It also gets a larger
share of sessions that are too late, because it has few sessions.

Only the settings of a small log are different. `generator` makes its lines and counts its true
statistics in the same way as for a large log.
"""

from typing import Final

from kafka_edu.clients.web_log.generator import LogSettings

COVERED_S: Final = 4_000
"""A small log covers about this many seconds of its own time."""
FEWEST_LINES_A_SECOND: Final = 0.25
"""With fewer lines, the log would have pauses as long as the delay of a session that is too late.

Then each reader could decide differently whether such a session is too late.
"""
_TOO_LATE_LINES: Final = 120
"""About this many lines of a small log belong to sessions that are too late.

These are about 14 sessions. The log may end before some of them are written.
"""
_MOST_TOO_LATE_PER_MILLE: Final = 120


def for_lines(
    settings: LogSettings,
    lines: int,
    *,
    keeps_pace: bool = False,
    keeps_share: bool = False,
) -> LogSettings:
    """Return the settings for a log of `lines` lines. A large log keeps its settings.

    With `keeps_pace`, the number of lines a second is not changed. With `keeps_share`, the share of
    sessions that are too late is not changed.

    With 1,000 lines or more, the log has lines that are too late, except for a few seeds. A smaller
    log may have none.
    """
    pace, share = settings.lines_a_second, settings.too_late_per_mille
    if not keeps_pace:
        pace = min(pace, max(FEWEST_LINES_A_SECOND, lines / COVERED_S))
    if not keeps_share:
        share = max(share, min(_MOST_TOO_LATE_PER_MILLE, 1_000 * _TOO_LATE_LINES // lines))
    return settings._replace(lines_a_second=pace, too_late_per_mille=share)
