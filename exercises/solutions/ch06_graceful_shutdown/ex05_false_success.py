"""Exercise 06-5: the reference solution."""

from collections.abc import Sequence

Row = tuple[str, Sequence[int], Sequence[int], int]
"""A partition: name, replicas, ISR, leader."""
Answer = tuple[list[tuple[str, int]], list[str], list[str]]
"""Partitions: moved ones with their new leaders, remaining ones, and those to be offline."""


class Handler:
    """The controller's part of a controlled shutdown, and its answer."""

    def let_go(self, broker: int, partitions: Sequence[Row], live: Sequence[int]) -> Answer:
        """Return what moved, what remains, and what will be offline."""
        moved: list[tuple[str, int]] = []
        remaining: list[str] = []
        offline: list[str] = []
        for name, replicas, isr, leader in partitions:
            if leader != broker:
                continue
            able = [one for one in replicas if one in live and one in isr and one != broker]
            if able:
                moved.append((name, able[0]))
                continue
            offline.append(name)
            if len(replicas) > 1:
                remaining.append(name)
        return moved, remaining, offline

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the event in events.txt whose answer lied, and the number of the
        partition that went offline unannounced.
        """
        return 4, 4
