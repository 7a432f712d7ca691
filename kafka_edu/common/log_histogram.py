"""Count durations in a fixed number of logarithmic buckets. Short durations have narrow buckets.

A duration in µs goes into one of 240 buckets. Up to 15 µs each value has its own bucket. Above that
there are eight buckets for each doubling, so the middle of a bucket differs from a counted duration
by at most 6.25 %. For example, 4,200 µs lie between 2^12 and 2^13. So the bucket is 512 µs wide,
from 4,096 to 4,607 µs. When the histogram is read, the duration counts as 4,352 µs, the middle of
the bucket. The last bucket ends at 2^32 µs, which are 71 minutes. Longer durations are counted in
the last bucket too. HdrHistogram works in the same way, with more buckets.
"""

from collections.abc import Iterable
from typing import Final

_SUB_BITS: Final = 3
_SUB: Final = 1 << _SUB_BITS
BUCKETS: Final = _SUB * (32 - _SUB_BITS - 1) + 2 * _SUB
TABLE_BITS: Final = 12


def bucket_at(value: int, sub_bits: int) -> int:
    """Return the bucket number of a value if there are 2^`sub_bits` buckets for each doubling.

    O(1). With `sub_bits` 5, the value 500 is in the bucket from 496 to 503, and each value below 64
    has its own bucket. With 0, the buckets are powers of two.
    """
    shift = max(value.bit_length() - sub_bits - 1, 0)
    return (shift << sub_bits) + (value >> shift)


def bucket_range(bucket: int, sub_bits: int) -> tuple[int, int]:
    """Return the first value of a bucket, and the number of different values in it. O(1)."""
    sub = 1 << sub_bits
    if bucket < 2 * sub:
        return bucket, 1
    shift = (bucket >> sub_bits) - 1
    return (sub + bucket % sub) << shift, 1 << shift


#: The bucket of each value below 4,096 µs, so that most durations need only one look-up.
BUCKET_TABLE: Final = bytes(bucket_at(us, _SUB_BITS) for us in range(1 << TABLE_BITS))


def bucket_of(us: int) -> int:
    """Return the bucket number of a duration in µs. O(1)."""
    if us < 0:
        return 0
    shift = us.bit_length() - TABLE_BITS
    if shift <= 0:
        return BUCKET_TABLE[us]
    return min(BUCKET_TABLE[us >> shift] + _SUB * shift, BUCKETS - 1)


def value_of(bucket: int) -> int:
    """Return the value in the middle of a bucket, in µs."""
    first, values = bucket_range(bucket, _SUB_BITS)
    return first + values // 2


class Histogram:
    """Bucket number → number of durations.

    Computes percentiles, means, and sums of histograms.
    """

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.counts: dict[int, int] = dict(counts)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def add(self, other: "Histogram") -> None:
        for bucket, number in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + number

    def since(self, before: "Histogram") -> "Histogram":
        """Return a histogram of the durations that were counted after `before`.

        Empty buckets are left out.
        """
        return Histogram(
            (bucket, number - before.counts.get(bucket, 0))
            for bucket, number in self.counts.items()
            if number > before.counts.get(bucket, 0)
        )

    def percentile_us(self, percent: float) -> int:
        """Return the duration in µs that `percent` % of all durations do not exceed.

        Return 0 if there are no durations.
        """
        total = self.total
        rank, seen = percent / 100 * total, 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen and seen >= rank:
                return value_of(bucket)
        return 0

    @property
    def sum_us(self) -> int:
        """The sum of all durations in µs. Each duration counts as the middle of its bucket."""
        return sum(value_of(bucket) * number for bucket, number in self.counts.items())

    @property
    def mean_us(self) -> float:
        return self.sum_us / total if (total := self.total) else 0.0
