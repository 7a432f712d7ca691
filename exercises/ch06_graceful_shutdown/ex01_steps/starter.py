"""Exercise 06-1: ask to be let go, and do not ask for ever. README.md says what is asked;
`kafka-edu lab check 06-1` tries it, `kafka-edu lab hint 06-1` helps.
"""

Came = tuple[object, ...]  # what has come: ("begin",), ("answer", "NONE", [])
Operation = tuple[object, ...]  # what to do next: ("find",), ("wait", 500)


class Shutdown:
    """A broker that is about to stop."""

    def __init__(self, max_retries: int, backoff_ms: int) -> None:
        """It may ask `max_retries` times, with `backoff_ms` between two attempts."""
        self.max_retries = max_retries
        self.backoff_ms = backoff_ms

    def next(self, came: Came) -> Operation:
        """Return the next operation."""
        raise NotImplementedError(
            'Shutdown.next is not written yet: it returns an operation, such as ("find",)'
        )
