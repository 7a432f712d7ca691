"""Exercise 05-5: the reference solution (Kafka: KafkaController watches, then reads)."""


class Watcher:
    """A broker that follows the office of the controller, and runs for it."""

    def __init__(self, broker: int) -> None:
        """It knows of no controller: -1."""
        self.broker = broker
        self.controller = -1

    def begin(self) -> str:
        """Return the first operation."""
        return "watch"

    def read(self, id_: int | None) -> str:
        """`/controller` has this id, or is not there."""
        self.controller = -1 if id_ is None else id_
        return "create" if id_ is None else "wait"

    def created(self) -> str:
        """This broker is the controller."""
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
        """Return who the controller is, as this broker believes; -1: nobody. The tests call this;
        it works, and you need not change it.
        """
        return self.controller

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that believes something wrong at the end of events.txt,
        and the number of the event that it missed.
        """
        return 1, 27
