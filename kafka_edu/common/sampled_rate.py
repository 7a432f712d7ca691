"""Measure a rate, such as bytes per second, over the last seconds (Kafka: SimpleRate and
SampledStat, metrics of kafka-clients).

The time is cut into samples of equal length, and each sample holds a sum. A sample that is older
than the whole window no longer counts. Example: 11 samples of 1 s hold 1 MB each. The last sample
is not over yet, so `elapsed` is between 10 and 11 s, and the rate is between 1.0 and 1.1 MB/s.

    |  s1  |  s2  |  …  | s10  | s11 now
    ^ oldest                       ^
      elapsed = now - oldest, and at least one sample's length; rate = sum of all / elapsed
"""


class SampledRate:
    """Measures a sum per second over `samples` samples of `sample_ms` each.

    The samples are a ring, as in Kafka: an outdated sample is emptied, and then begins again at the
    current time. Only the code that has made the object may use it.
    """

    __slots__ = ("_current", "_number", "_sample_ms", "_starts_ms", "_sums")

    def __init__(self, samples: int, sample_ms: int) -> None:
        self._number = samples
        self._sample_ms = sample_ms
        self._starts_ms: list[int] = []
        self._sums: list[int] = []
        self._current = 0

    def record(self, value: int, now_ms: int) -> None:
        """Add `value` to the current sample. O(1)."""
        if not self._starts_ms:
            self._begin(now_ms)
        elif now_ms - self._starts_ms[self._current] >= self._sample_ms:
            self._current = (self._current + 1) % self._number
            self._begin(now_ms)
        self._sums[self._current] += value

    def measure(self, now_ms: int) -> float:
        """Return the rate per second. O(samples)."""
        self._empty_outdated(now_ms)
        if not self._starts_ms:
            return 0.0
        elapsed_ms = max(now_ms - min(self._starts_ms), self._sample_ms)
        return sum(self._sums) * 1000 / elapsed_ms

    def _begin(self, now_ms: int) -> None:
        """Begin a new current sample now.

        The new sample is added to the ring. If the ring is full, it replaces the oldest sample.
        """
        if self._current == len(self._starts_ms):
            self._starts_ms.append(now_ms)
            self._sums.append(0)
        else:
            self._starts_ms[self._current], self._sums[self._current] = now_ms, 0

    def _empty_outdated(self, now_ms: int) -> None:
        expired_ms = now_ms - self._number * self._sample_ms
        for i, start_ms in enumerate(self._starts_ms):
            if start_ms <= expired_ms:
                self._starts_ms[i], self._sums[i] = now_ms, 0
