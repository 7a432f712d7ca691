"""Exercise 05-1: become the controller, and resign. README.md describes the task. `kafka-edu lab
check 05-1` tests your code. `kafka-edu lab hint 05-1` gives a hint.
"""

Came = tuple[object, ...]  # what has come: ("fired",), ("epoch", 3, 3)
Operation = tuple[object, ...]  # what to do next: ("look",), ("run", 4, 3)


class Candidate:
    """A broker that runs for controller."""

    def __init__(self, broker: int) -> None:
        """At first, the broker is not the controller, and knows of no controller."""
        self.broker = broker

    def next(self, came: Came) -> Operation:
        """Return the next operation. `came` is an event, or the result of the last operation."""
        raise NotImplementedError(
            "Candidate.next is not written yet: it returns an operation such as ('look',)"
        )

    def controller(self) -> int:
        """Return the id of the controller, as far as this broker knows; -1 if it knows of no
        controller.
        """
        raise NotImplementedError("Candidate.controller is not written yet: it returns an id")

    def epoch(self) -> int:
        """Return the epoch with which this broker is the controller; 0 if it is not the
        controller.
        """
        raise NotImplementedError("Candidate.epoch is not written yet: it returns a number")
