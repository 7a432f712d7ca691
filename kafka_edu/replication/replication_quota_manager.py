"""A limit on the bytes that are copied each second (Kafka: ReplicationQuotaManager.scala,
SimpleRate.java; KIP-73).

The rate is measured over a sliding window of samples, by default 11 samples of a second each:

    rate = bytes in the samples that are not too old / time since the oldest of them began

The copier asks before each piece whether the rate is above the limit, and waits if it is. A piece
is never cut for the quota. So the rate goes above the limit by a piece, and then the copier waits
until the average is below it again.
"""

from collections import deque


class _Sample:
    __slots__ = ("began_ms", "bytes")

    def __init__(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self.bytes = 0


class ReplicationQuotaManager:
    """One quota and its samples. `now` is monotonic time in ms. Without a limit nothing is ever
    exceeded.
    """

    def __init__(self, num_quota_samples: int, quota_window_size_seconds: int) -> None:
        self._num_samples = num_quota_samples
        self._sample_ms = quota_window_size_seconds * 1000
        self._samples: deque[_Sample] = deque()
        self.bytes_per_second: int | None = None
        """The limit; None: no limit."""

    def update_quota(self, bytes_per_second: int | None) -> None:
        """Set the limit. What was recorded before still counts."""
        self.bytes_per_second = bytes_per_second

    def record(self, count: int, now: int) -> None:
        """Note that `count` bytes were copied. O(1) amortised."""
        self._purge(now)
        samples = self._samples
        if not samples or now - samples[-1].began_ms >= self._sample_ms:
            samples.append(_Sample(now))
        samples[-1].bytes += count

    def rate(self, now: int) -> float:
        """Return bytes a second, averaged over the window, but over one sample at least.
        O(samples).
        """
        self._purge(now)
        if not self._samples:
            return 0.0
        elapsed_ms = max(now - self._samples[0].began_ms, self._sample_ms)
        return sum(sample.bytes for sample in self._samples) * 1000 / elapsed_ms

    def is_quota_exceeded(self, now: int) -> bool:
        """Return whether the rate is above the limit."""
        limit = self.bytes_per_second
        return limit is not None and self.rate(now) > limit

    def _purge(self, now: int) -> None:
        """Drop the samples that are too old to count."""
        samples, window_ms = self._samples, self._num_samples * self._sample_ms
        while samples and now - samples[0].began_ms >= window_ms:
            samples.popleft()
