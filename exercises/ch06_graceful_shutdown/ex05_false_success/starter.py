"""Exercise 06-5: this handler says "success" too often. README.md describes the task.
`kafka-edu lab check 06-5` tests your code. `kafka-edu lab hint 06-5` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[str, Sequence[int], Sequence[int], int]
"""A partition: (name, replicas, ISR, leader). The leader is -1 if no broker leads it."""
Answer = tuple[list[tuple[str, int]], list[str], list[str]]
"""(moved partitions with new leaders, remaining partitions, partitions that go offline)"""


class Handler:
    """The controller's handler of a controlled shutdown request. It elects the new leaders."""

    def let_go(self, broker: int, partitions: Sequence[Row], live: Sequence[int]) -> Answer:
        """Return the partitions that move, those that remain, and those that go offline."""
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
        """Return the number of the event in events.txt with the wrong answer, and the number of the
        partition that went offline although the answer did not name it.
        """
        raise NotImplementedError(
            "Handler.diagnosis is not written yet: it returns (number of the event with the answer,"
            " number of the partition)"
        )
