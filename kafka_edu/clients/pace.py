"""The pace of a producer: how many records are due."""


class Pace:
    """How many records are due at a steady rate. All times are in seconds of one clock."""

    def __init__(self, records_a_second: float, most_behind_s: float | None = None) -> None:
        """`most_behind_s` limits how many records are sent late after a pause.

        If the producer is further behind than this many seconds, it does not send the missed
        records.
        """
        self._rate = records_a_second
        self._most_behind_s = most_behind_s
        self._began: float | None = None
        self._given_up_s = 0.0

    def due(self, sent: int, now: float) -> int:
        """Return how many records to send now, if `sent` were sent. The first call starts the
        clock.
        """
        if self._began is None:
            self._began = now
        due = (now - self._began - self._given_up_s) * self._rate - sent
        if self._most_behind_s is not None and due > self._most_behind_s * self._rate:
            self._given_up_s += due / self._rate
            return 0
        return max(int(due), 0)
