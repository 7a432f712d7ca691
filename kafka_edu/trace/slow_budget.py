"""Limit how many hops of slow requests are sent to every subscriber.

A hop is an event about one step of a request, such as RequestReceived. Most hops are sent only to
subscribers that want every hop (Level.HOPS), but the hops of slow requests are sent to every
subscriber. In an overload every request is slow, and watching would add to the overload. Therefore
a process sends at most SLOW_HOPS_PER_S hops of slow requests a second to every subscriber. Above
this limit, a hop of a slow request is sent only to subscribers that want every hop. NetworkSampled
says how many hops were above the limit.
"""

from typing import Final

SLOW_HOPS_PER_S: Final = 25
BURST: Final = 50
"""The number of hops of slow requests that may be sent at once after a quiet time."""
_HOP_NS: Final = 1_000_000_000 // SLOW_HOPS_PER_S


class SlowBudget:
    """A token bucket. A hop of a slow request needs a token to be sent to every subscriber. Kafka
    has no such class.
    """

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
