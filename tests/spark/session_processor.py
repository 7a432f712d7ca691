"""Find sessions with Spark's transformWithState. As in exercise 16-3, the state of a client is the
list of its open sessions.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class SessionProcessor(StatefulProcessor):
    """Joins lines to sessions, in any order of the lines. A timer closes a session when the
    watermark passes the session's end.
    """

    def __init__(self, gap_s: int) -> None:
        self._gap_s = gap_s

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._open = handle.getListState("open", "first long, last long, lines long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        sessions = [(one[0], one[1], one[2]) for one in self._open.get()]
        for row in rows:
            near = [
                one
                for one in sessions
                if one[0] - self._gap_s <= row["time"] <= one[1] + self._gap_s
            ]
            joined = (
                min(row["time"], *[one[0] for one in near], row["time"]),
                max(row["time"], *[one[1] for one in near], row["time"]),
                1 + sum(one[2] for one in near),
            )
            sessions = [one for one in sessions if one not in near] + [joined]
        self._keep(sessions)
        return iter([])

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        watermark_ms = timerValues.getCurrentWatermarkInMs()
        sessions = [(one[0], one[1], one[2]) for one in self._open.get()]
        over = [one for one in sessions if (one[1] + self._gap_s) * 1000 <= watermark_ms]
        self._keep([one for one in sessions if one not in over])
        for first, last, lines in over:
            yield Row(client=key[0], begin=first, end=last + self._gap_s, lines=lines)

    def close(self) -> None:
        """Do nothing: the state belongs to Spark."""

    def _keep(self, sessions: list[tuple[int, int, int]]) -> None:
        self._open.clear()
        if sessions:
            self._open.put(sessions)
        for one in sessions:
            self._handle.registerTimer((one[1] + self._gap_s) * 1000)
