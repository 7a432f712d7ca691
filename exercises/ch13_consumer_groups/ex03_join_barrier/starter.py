"""Exercise 13-3: how long does a rebalance wait for the members? README.md describes the task.
`kafka-edu lab check 13-3` tests your code. `kafka-edu lab hint 13-3` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[str, str | None, bool, int]
"""A member, its instance or None, whether it has joined, and its rebalance time-out in ms."""


class JoinBarrier:
    """The barrier of one rebalance."""

    def __init__(self, empty: bool, initial_delay_ms: int, now_ms: int) -> None:
        """The rebalance begins at `now_ms`. `empty`: the group had no members before."""

    def look(
        self, now_ms: int, members: Sequence[Row], promised: Sequence[str]
    ) -> tuple[str, int | list[str]]:
        """Return ("wait", until_ms) or ("next", members that are removed)."""
        raise NotImplementedError(
            'JoinBarrier.look is not written yet: it returns ("wait", until_ms) or ("next",'
            " removed)"
        )
