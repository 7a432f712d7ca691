"""Exercise 05-6: two of these brokers can lead the same epoch. README.md describes the task.
`kafka-edu lab check 05-6` tests your code. `kafka-edu lab hint 05-6` gives a hint.
"""

Operation = tuple[object, ...]  # ("create",), ("set_epoch", 5, -1)


class Successor:
    """A broker that takes the office, and then the next epoch."""

    def __init__(self, broker: int) -> None:
        """It does not lead."""
        self.broker = broker
        self.wanted = 0

    def begin(self) -> Operation:
        """Return the first operation."""
        return ("create",)

    def created(self) -> Operation:
        """This broker stands in `/controller`."""
        return ("read_epoch",)

    def node_exists(self, mine: bool) -> Operation:
        """Somebody stands in `/controller` already: this broker itself, or another one."""
        return ("read_epoch",) if mine else ("wait",)

    def epoch(self, epoch: int, version: int) -> Operation:
        """`/controller_epoch` holds this epoch, and its znode has this version."""
        self.wanted = epoch + 1
        return "set_epoch", self.wanted, -1

    def epoch_set(self) -> Operation:
        """The epoch is written."""
        return "lead", self.wanted

    def bad_version(self) -> Operation:
        """The znode has another version than was asked for: the epoch was not written."""
        return ("read_epoch",)

    def gone(self) -> Operation:
        """`/controller` is gone. If this broker led, it does not lead any more."""
        return ("create",)

    def expired(self) -> Operation:
        """The session has expired, and there is a new one. This broker does not lead any more."""
        return ("create",)

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that wrote an epoch in events.txt which another one had
        written, and the number of the event by which it did so.
        """
        raise NotImplementedError(
            "Successor.diagnosis is not written yet: it returns (number of the broker, number of"
            " the event that wrote the epoch again)"
        )
