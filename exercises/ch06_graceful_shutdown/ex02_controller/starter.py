"""Exercise 06-2: let a broker stop. README.md describes the task. `kafka-edu lab check 06-2` tests
your code. `kafka-edu lab hint 06-2` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[str, Sequence[int], int | None, bool]
"""(name, replicas, leader, deleting). The leader is -1 if no broker leads now, and None if no
broker ever led.
"""


class ControlledShutdown:
    """The controller's decisions when a broker asks for a controlled shutdown."""

    def refusal(self, asked_epoch: int, live_epoch: int | None) -> str:
        """Return the name of the error that refuses the request, or "NONE" to accept it."""
        raise NotImplementedError(
            'ControlledShutdown.refusal is not written yet: it returns a name, such as "NONE"'
        )

    def sort(self, broker: int, partitions: Sequence[Row]) -> tuple[list[str], list[str]]:
        """Return the partitions that get a new leader, and those whose replica only stops."""
        raise NotImplementedError(
            "ControlledShutdown.sort is not written yet: it returns (names to move, names to stop)"
        )

    def remaining(self, broker: int, partitions: Sequence[Row]) -> list[str]:
        """Return the names of the partitions that `broker` still leads after the elections."""
        raise NotImplementedError(
            "ControlledShutdown.remaining is not written yet: it returns a list of names"
        )
