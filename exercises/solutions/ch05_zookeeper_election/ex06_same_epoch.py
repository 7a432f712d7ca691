"""Exercise 05-6: the reference solution (Kafka: both writes in one multi since KAFKA-6082)."""

Operation = tuple[object, ...]  # ("create",), ("set_epoch", 5, -1)


class Successor:
    """A broker that creates `/controller`, and then writes the next controller epoch."""

    def __init__(self, broker: int) -> None:
        """Begin as a broker that does not lead."""
        self.broker = broker
        self.wanted: int
        self.version: int

    def begin(self) -> Operation:
        """Return the first operation: what is compared later must be read before the office."""
        return ("read_epoch",)

    def created(self) -> Operation:
        """This broker stands in `/controller`."""
        return "set_epoch", self.wanted, self.version

    def node_exists(self, mine: bool) -> Operation:
        """`/controller` exists already. `mine` says whether this broker has created it."""
        return ("set_epoch", self.wanted, self.version) if mine else ("wait",)

    def epoch(self, epoch: int, version: int) -> Operation:
        """Process what was read from `/controller_epoch`: the epoch, and the znode's version."""
        self.wanted, self.version = epoch + 1, version
        return ("create",)

    def epoch_set(self) -> Operation:
        """The epoch is written."""
        return "lead", self.wanted

    def bad_version(self) -> Operation:
        """The znode has another version than was asked for: the epoch was not written."""
        return ("read_epoch",)

    def gone(self) -> Operation:
        """`/controller` is gone. If this broker led, it does not lead any more."""
        return ("read_epoch",)

    def expired(self) -> Operation:
        """The session has expired, and there is a new one. This broker does not lead any more."""
        return ("read_epoch",)

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that wrote an epoch which another broker had written
        before, and the number of this second write in events.txt.
        """
        return 2, 18
