"""Exercise 06-4: this broker can lose acknowledged records. README.md describes the task.
`kafka-edu lab check 06-4` tests your code. `kafka-edu lab hint 06-4` gives a hint.
"""

from collections.abc import Sequence

Operation = tuple[str, ...]  # ("flush", "a")


class Stopping:
    """A broker that stops, step by step. `next` gets the result of the previous operation."""

    def __init__(self, disks: Sequence[str]) -> None:
        """`disks` has the names of the broker's disks."""
        self.disks = list(disks)
        self.plan: list[Operation] = [
            ("close_doors",),
            *(("flush", disk) for disk in self.disks),
            ("finish_requests",),
            *(("mark_clean", disk) for disk in self.disks),
            ("end",),
        ]

    def next(self, came: str) -> Operation:
        """Return the next operation. `came` is "begin", or a result: "done" or "disk_error"."""
        return self.plan.pop(0)

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the record in events.txt that was acknowledged but is lost, and the
        number of the event that flushed its disk too early.
        """
        raise NotImplementedError(
            "Stopping.diagnosis is not written yet: it returns (number of the record, number of the"
            " event that flushed too early)"
        )
