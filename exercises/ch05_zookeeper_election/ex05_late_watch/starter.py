"""Exercise 05-5: this broker can miss an election. README.md describes the task.
`kafka-edu lab check 05-5` tests your code. `kafka-edu lab hint 05-5` gives a hint.
"""


class Watcher:
    """A broker that watches /controller, and tries to become the controller if that znode is
    gone.
    """

    def __init__(self, broker: int) -> None:
        """At first, this broker knows of no controller. The id -1 stands for "no controller"."""
        self.broker = broker
        self.controller = -1

    def begin(self) -> str:
        """Return the first operation."""
        return "read"

    def read(self, id_: int | None) -> str:
        """`/controller` has been read. It has the id `id_`; None if it does not exist."""
        self.controller = -1 if id_ is None else id_
        return "create" if id_ is None else "watch"

    def created(self) -> str:
        """This broker has created `/controller`, and is the controller now."""
        self.controller = self.broker
        return "watch"

    def node_exists(self) -> str:
        """This broker could not create `/controller`: another broker was faster."""
        return "read"

    def watching(self) -> str:
        """The watch has been set."""
        return "wait"

    def fired(self) -> str:
        """The watch has fired: `/controller` has changed. A watch fires only once."""
        return "read"

    def knows(self) -> int:
        """Return the id of the broker that this broker believes to be the controller; -1 for none.
        The tests call this method. It works, and you need not change it.
        """
        return self.controller

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the broker that knows a wrong controller at the end of events.txt,
        and the number of the event that this broker missed.
        """
        raise NotImplementedError(
            "Watcher.diagnosis is not written yet: it returns (number of the broker, number of the"
            " event that it missed)"
        )
