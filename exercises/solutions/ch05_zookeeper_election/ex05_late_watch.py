"""Exercise 05-5: the reference solution (Kafka: KafkaController watches, then reads)."""


class Watcher:
    """A broker that watches `/controller`, and tries to create it if it does not exist."""

    def __init__(self, broker: int) -> None:
        """Begin as a broker that knows no controller (-1)."""
        self.broker = broker
        self.controller = -1

    def begin(self) -> str:
        """Return the first operation."""
        return "watch"

    def read(self, id_: int | None) -> str:
        """Process what was read from `/controller`: a broker id, or None if it does not exist."""
        self.controller = -1 if id_ is None else id_
        return "create" if id_ is None else "wait"

    def created(self) -> str:
        """This broker has created `/controller`, and is the controller now."""
        self.controller = self.broker
        return "wait"

    def node_exists(self) -> str:
        """Somebody was faster. The watch has fired, and will be delivered."""
        return "wait"

    def watching(self) -> str:
        """The watch is set."""
        return "read"

    def fired(self) -> str:
        """A watch has fired, and is gone."""
        return "watch"

    def knows(self) -> int:
        """Return the id of the broker that this broker takes for the controller; -1 for none. The
        tests call `knows`; it works, and you need not change it.
        """
        return self.controller

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that knows a wrong controller at the end of events.txt,
        and the number of the event that this broker missed.
        """
        return 1, 27
