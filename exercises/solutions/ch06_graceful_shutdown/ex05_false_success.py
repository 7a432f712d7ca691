"""Exercise 06-5: the reference solution."""

from collections.abc import Sequence

Row = tuple[str, Sequence[int], Sequence[int], int]
"""A partition: name, replicas, ISR, leader."""
Answer = tuple[list[tuple[str, int]], list[str], list[str]]
"""Three lists of partitions: moved (with their new leaders), remaining, and offline."""


class Handler:
    """Handles a controlled shutdown in the controller, and makes the answer to the broker."""

    def let_go(self, broker: int, partitions: Sequence[Row], live: Sequence[int]) -> Answer:
        """Return which partitions move to a new leader, which remain, and which go offline."""
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
        """Return the number of the event in events.txt with the false answer, and the number of
        the partition that went offline although this answer did not name it.
        """
        return 4, 4
