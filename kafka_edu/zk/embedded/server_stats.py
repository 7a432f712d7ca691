"""The server's counters, for the four-letter words and the dashboard (ZooKeeper:
ServerStats.java).
"""


class ServerStats:
    """Packets and latencies since the start or the last reset.

    A latency is the time from a request's arrival until its answer leaves, in µs.
    """

    def __init__(self) -> None:
        self.requests_total = 0
        """This counter is never reset. A rate is the difference of two samples."""
        self.outstanding = 0
        """The number of requests without an answer yet. They wait for the disk."""
        self.reset()
        self._window_count = self._window_sum_us = self._window_max_us = 0

    def reset(self) -> None:
        """Reset the counters, for `srst` and `crst`."""
        self.packets_received = self.packets_sent = 0
        self._count = self._sum_us = self._min_us = self._max_us = 0

    def served(self, latency_us: int) -> None:
        self._min_us = min(self._min_us, latency_us) if self._count else latency_us
        self._count += 1
        self._sum_us += latency_us
        self._max_us = max(self._max_us, latency_us)
        self._window_count += 1
        self._window_sum_us += latency_us
        self._window_max_us = max(self._window_max_us, latency_us)

    @property
    def latency_us(self) -> tuple[int, float, int]:
        """The minimum, average and maximum latency."""
        return self._min_us, self._sum_us / self._count if self._count else 0.0, self._max_us

    def take_window(self) -> tuple[int, int]:
        """Return the average and maximum since the last call."""
        window = (
            self._window_sum_us // self._window_count if self._window_count else 0,
            self._window_max_us,
        )
        self._window_count = self._window_sum_us = self._window_max_us = 0
        return window
