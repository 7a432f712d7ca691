"""Exercise 06-5: this handler says "success" too often. README.md describes the task.
`kafka-edu lab check 06-5` tests your code. `kafka-edu lab hint 06-5` gives a hint.
"""

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
        for name, replicas, isr, leader in partitions:
            if leader != broker or len(replicas) == 1:
                continue
            able = [one for one in replicas if one in live and one in isr and one != broker]
            if able:
                moved.append((name, able[0]))
            elif len(isr) > 1:
                remaining.append(name)
        offline = [name for name, _, _, leader in partitions if leader == -1]
        return moved, remaining, [*remaining, *offline]

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the event in events.txt whose answer lied, and the number of the
        partition that went offline unannounced.
        """
        raise NotImplementedError(
            "Handler.diagnosis is not written yet: it returns (number of the event with the answer,"
            " number of the partition)"
        )
