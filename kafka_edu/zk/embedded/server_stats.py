"""What the server counts (ZooKeeper: ServerStats.java): shown by the 4-letter words and sampled for
the dashboard.
"""


class ServerStats:
    """Packets and latencies since the start or the last reset; latencies in µs, from a request's
    arrival until its answer leaves.
    """

    def __init__(self) -> None:
        self.requests_total = 0
        """Never reset: rates are the difference of two samples."""
        self.outstanding = 0
        """Requests taken and not answered yet: those that wait for the disk."""
        self.reset()
        self._window_count = self._window_sum_us = self._window_max_us = 0

    def reset(self) -> None:
        """`srst` and `crst`."""
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
        """Minimum, average and maximum."""
        return self._min_us, self._sum_us / self._count if self._count else 0.0, self._max_us

    def take_window(self) -> tuple[int, int]:
        """Average and maximum since this was last asked."""
        window = (
            self._window_sum_us // self._window_count if self._window_count else 0,
            self._window_max_us,
        )
        self._window_count = self._window_sum_us = self._window_max_us = 0
        return window
