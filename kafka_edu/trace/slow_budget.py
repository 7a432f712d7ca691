"""Limit how many hops of slow requests a process sends to every subscriber (see Level.HOPS).

In an overload every request is slow. If the hops of all of them were sent to every subscriber,
watching would add to the overload. Therefore a process sends at most SLOW_HOPS_PER_S such hops a
second to everybody. All further hops of slow requests are treated like other hops: only subscribers
that want every hop get them. NetworkSampled says how many such hops there were.
"""

from typing import Final

SLOW_HOPS_PER_S: Final = 25
BURST: Final = 50
"""The number of hops of slow requests that may be sent at once after a quiet time."""
_HOP_NS: Final = 1_000_000_000 // SLOW_HOPS_PER_S


class SlowBudget:
    """A token bucket. Each hop of a slow request needs one token. Kafka has no such class."""

    def __init__(self) -> None:
        self._full_at_ns = 0
        """The time at which the bucket will be full again, in ns of the monotonic clock."""
        self.left_out = 0
        """The number of hops since the start for which there was no token."""

    def take(self, now_ns: int) -> bool:
        """Take a token and return True. If there is no token, count the hop as left out and return
        False. O(1).
        """
        full_at = max(self._full_at_ns, now_ns) + _HOP_NS
        if full_at - now_ns > BURST * _HOP_NS:
            self.left_out += 1
            return False
        self._full_at_ns = full_at
        return True
