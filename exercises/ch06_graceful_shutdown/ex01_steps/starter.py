"""Exercise 06-1: let a broker ask before it stops, but not for ever. README.md describes the task.
`kafka-edu lab check 06-1` tests your code. `kafka-edu lab hint 06-1` gives a hint.
"""

Came = tuple[object, ...]  # what has come: ("begin",), ("answer", "NONE", [])
Operation = tuple[object, ...]  # what to do next: ("find",), ("wait", 500)


class Shutdown:
    """A broker that asks the controller for a controlled shutdown, and then stops."""

    def __init__(self, max_retries: int, backoff_ms: int) -> None:
        """The broker may ask `max_retries` times in all, with `backoff_ms` between two attempts."""
        self.max_retries = max_retries
        self.backoff_ms = backoff_ms

    def next(self, came: Came) -> Operation:
        """Return the next operation. `came` is ("begin",), or the result of the last operation."""
        raise NotImplementedError(
            'Shutdown.next is not written yet: it returns an operation, such as ("find",)'
        )
