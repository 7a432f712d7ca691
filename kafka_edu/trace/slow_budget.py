"""How many hops of slow requests a process emits for everybody (see Level.HOPS).

In an overload every request is slow. If each of them were a fact for every subscriber, watching
would add to the overload. So a process emits SLOW_HOPS_PER_S of them a second. The rest are hops
like any other: only those who want every hop get them. They are counted, and NetworkSampled says
how many there were.
"""

from typing import Final

SLOW_HOPS_PER_S: Final = 25
BURST: Final = 50
"""So many may come at once after a quiet time."""
_HOP_NS: Final = 1_000_000_000 // SLOW_HOPS_PER_S


class SlowBudget:
    """A bucket of tokens, one for each hop of a slow request. Kafka has no such class."""

    def __init__(self) -> None:
        self._full_at_ns = 0
        """When the bucket will be full again, by the monotonic clock."""
        self.left_out = 0
        """The hops for which there was no token, since the start."""

    def take(self, now_ns: int) -> bool:
        """Take a token and return True; without one count the hop and return False. O(1)."""
        full_at = max(self._full_at_ns, now_ns) + _HOP_NS
        if full_at - now_ns > BURST * _HOP_NS:
            self.left_out += 1
            return False
        self._full_at_ns = full_at
        return True
