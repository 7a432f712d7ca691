"""The server's counters, which the four-letter words and the dashboard show (ZooKeeper:
ServerStats.java).
"""


class ServerStats:
    """Packets and latencies since the start or the last reset.

    A latency is the time from a request's arrival until its answer is sent, in µs.
    """

    def __init__(self) -> None:
        self.requests_total = 0
        """The number of requests since the start. It is never reset, so the difference of two
        samples gives the rate.
        """
        self.outstanding = 0
        """The number of requests that have no answer yet, because they wait for the disk."""
        self.reset()
        self._window_count = self._window_sum_us = self._window_max_us = 0

    def reset(self) -> None:
        """Set the counters to 0, for the words `srst` and `crst`."""
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
        """The minimum, average and maximum latency in µs."""
        return self._min_us, self._sum_us / self._count if self._count else 0.0, self._max_us

    def take_window(self) -> tuple[int, int]:
        """Return the average and maximum latency in µs since the last call of this method."""
        window = (
            self._window_sum_us // self._window_count if self._window_count else 0,
            self._window_max_us,
        )
        self._window_count = self._window_sum_us = self._window_max_us = 0
        return window
