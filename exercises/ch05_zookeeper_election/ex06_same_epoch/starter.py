"""Exercise 05-6: with this code, two controllers can have the same epoch. README.md describes the
task. `kafka-edu lab check 05-6` tests your code. `kafka-edu lab hint 05-6` gives a hint.
"""

Operation = tuple[object, ...]  # ("create",), ("set_epoch", 5, -1)


class Successor:
    """A broker that creates /controller, and then raises the epoch in /controller_epoch."""

    def __init__(self, broker: int) -> None:
        """At first, this broker is not the controller."""
        self.broker = broker
        self.wanted = 0

    def begin(self) -> Operation:
        """Return the first operation."""
        return ("create",)

    def created(self) -> Operation:
        """This broker has created `/controller`."""
        return ("read_epoch",)

    def node_exists(self, mine: bool) -> Operation:
        """`/controller` exists already. `mine` is true if this broker's current session has created
        it.
        """
        return ("read_epoch",) if mine else ("wait",)

    def epoch(self, epoch: int, version: int) -> Operation:
        """`/controller_epoch` has been read: it holds `epoch`, and its znode has `version`."""
        self.wanted = epoch + 1
        return "set_epoch", self.wanted, -1

    def epoch_set(self) -> Operation:
        """The new epoch has been written."""
        return "lead", self.wanted

    def bad_version(self) -> Operation:
        """The epoch was not written: the znode's version is different from the version in
        `set_epoch`.
        """
        return ("read_epoch",)

    def gone(self) -> Operation:
        """`/controller` is gone. If this broker was the controller, it is not the controller any
        more.
        """
        return ("create",)

    def expired(self) -> Operation:
        """The session has expired, and a new session exists. This broker is not the controller
        now.
        """
        return ("create",)

    def diagnosis(self) -> tuple[int, int]:
        """Return two numbers from events.txt: the number of the broker that wrote an epoch which a
        different broker had already written, and the number of the event that wrote it.
        """
        raise NotImplementedError(
            "Successor.diagnosis is not written yet: it returns (number of the broker, number of"
            " the event that wrote the epoch again)"
        )
