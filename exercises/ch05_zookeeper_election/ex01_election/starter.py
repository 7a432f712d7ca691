"""Exercise 05-1: run for the controller's office. README.md describes the task.
`kafka-edu lab check 05-1` tests your code. `kafka-edu lab hint 05-1` gives a hint.
"""

Came = tuple[object, ...]  # what has come: ("fired",), ("epoch", 3, 3)
Operation = tuple[object, ...]  # what to do next: ("look",), ("run", 4, 3)


class Candidate:
    """A broker that wants to be the controller."""

    def __init__(self, broker: int) -> None:
        """It does not lead, and knows of no controller."""
        self.broker = broker

    def next(self, came: Came) -> Operation:
        """Return the next operation."""
        raise NotImplementedError(
            "Candidate.next is not written yet: it returns an operation such as ('look',)"
        )

    def controller(self) -> int:
        """Return the id that was last read or won; -1: none."""
        raise NotImplementedError("Candidate.controller is not written yet: it returns an id")

    def epoch(self) -> int:
        """Return the epoch that this broker leads; 0: it does not lead."""
        raise NotImplementedError("Candidate.epoch is not written yet: it returns a number")
