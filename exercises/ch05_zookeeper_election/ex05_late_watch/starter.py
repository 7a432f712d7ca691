"""Exercise 05-5: this broker can sleep through an election. README.md describes the task.
`kafka-edu lab check 05-5` tests your code. `kafka-edu lab hint 05-5` gives a hint.
"""


class Watcher:
    """A broker that follows the office of the controller, and runs for it."""

    def __init__(self, broker: int) -> None:
        """It knows of no controller: -1."""
        self.broker = broker
        self.controller = -1

    def begin(self) -> str:
        """Return the first operation."""
        return "read"

    def read(self, id_: int | None) -> str:
        """`/controller` has this id, or is not there."""
        self.controller = -1 if id_ is None else id_
        return "create" if id_ is None else "watch"

    def created(self) -> str:
        """This broker is the controller."""
        self.controller = self.broker
        return "watch"

    def node_exists(self) -> str:
        """Somebody was faster."""
        return "read"

    def watching(self) -> str:
        """The watch is set."""
        return "wait"

    def fired(self) -> str:
        """A watch has fired, and is gone."""
        return "read"

    def knows(self) -> int:
        """Return who the controller is, as this broker believes; -1: nobody. The tests call this;
        it works, and you need not change it.
        """
        return self.controller

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that believes something wrong at the end of events.txt,
        and the number of the event that it missed.
        """
        raise NotImplementedError(
            "Watcher.diagnosis is not written yet: it returns (number of the broker, number of the"
            " event that it missed)"
        )
