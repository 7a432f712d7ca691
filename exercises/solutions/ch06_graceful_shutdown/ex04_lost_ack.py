"""Exercise 06-4: the reference solution (Kafka: KafkaServer.shutdown, LogManager.shutdown)."""

from collections.abc import Sequence

Operation = tuple[str, ...]  # ("flush", "a")


class Stopping:
    """Decides the order of the operations by which a broker stops."""

    def __init__(self, disks: Sequence[str]) -> None:
        """`disks` has the names of the broker's disks."""
        self.disks = list(disks)
        self.flushing = ""
        self.plan: list[Operation] = [
            ("close_doors",),
            ("finish_requests",),
            *(("flush", disk) for disk in self.disks),
            *(("mark_clean", disk) for disk in self.disks),
            ("end",),
        ]

    def next(self, came: str) -> Operation:
        """Return the next operation. `came` is "begin", or a result: "done" or "disk_error"."""
        if came == "disk_error":
            self.plan.remove(("mark_clean", self.flushing))
        operation = self.plan.pop(0)
        if operation[0] == "flush":
            self.flushing = operation[1]
        return operation

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the acknowledged record in events.txt that is lost, and the number
        of the event that flushed this record's disk too early.
        """
        return 4, 12
