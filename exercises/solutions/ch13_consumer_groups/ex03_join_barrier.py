"""Exercise 13-3: the reference solution (Kafka: DelayedJoin.scala, InitialDelayedJoin.scala)."""

from collections.abc import Sequence

Row = tuple[str, str | None, bool, int]
"""A member, its instance or None, whether it has joined, and its rebalance time-out in ms."""


class JoinBarrier:
    """The barrier of one rebalance."""

    def __init__(self, empty: bool, initial_delay_ms: int, now_ms: int) -> None:
        self.empty = empty
        self.delay_ms = initial_delay_ms
        self.began_ms = now_ms
        self.until_ms: int | None = None
        self.left_ms = 0
        self.known: set[str] = set()

    def look(
        self, now_ms: int, members: Sequence[Row], promised: Sequence[str]
    ) -> tuple[str, int | list[str]]:
        """Return ("wait", until_ms) or ("next", members that are removed)."""
        names = {member for member, _, _, _ in members}
        longest_ms = max((timeout_ms for _, _, _, timeout_ms in members), default=0)
        if self.until_ms is None:
            self.known = names
            self.left_ms = longest_ms - self.delay_ms
            self.until_ms = self.began_ms + (self.delay_ms if self.empty else longest_ms)
        if now_ms < self.until_ms:
            complete = all(joined for _, _, joined, _ in members) and not promised
            if self.empty or not complete:
                return "wait", self.until_ms
        else:
            more_ms = self.more_ms(names, members, longest_ms)
            if more_ms > 0:
                self.until_ms = now_ms + more_ms
                return "wait", self.until_ms
        return "next", [
            member for member, instance, joined, _ in members if not joined and instance is None
        ]

    def more_ms(self, names: set[str], members: Sequence[Row], longest_ms: int) -> int:
        """Return the ms that the barrier waits although its time is over; 0 if it opens."""
        if not any(joined for _, _, joined, _ in members):
            static = any(instance is not None for _, instance, _, _ in members)
            return longest_ms if static else 0
        if not self.empty or names <= self.known:
            return 0
        more_ms = min(self.delay_ms, self.left_ms)
        self.known = names
        self.left_ms -= more_ms
        return more_ms
