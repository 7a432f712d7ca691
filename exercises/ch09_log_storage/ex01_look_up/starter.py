"""Exercise 09-1: look up an offset. README.md describes the task. `kafka-edu lab check 09-1` tests
your code. `kafka-edu lab hint 09-1` gives a hint.
"""

from collections.abc import Generator
from typing import Any

Operation = tuple[object, ...]  # such as ("base", 3) or ("entry", 3, 17)


class LookUp:
    """The look-up of one offset in a log with this number of segments."""

    def __init__(self, offset: int, segments: int) -> None:
        self.offset = offset
        self.segments = segments
        self.running = self.steps()

    def next(self, came: Any) -> Operation:
        """Process the result of the last operation, `came`, and return the next operation."""
        return self.running.send(came)

    def steps(self) -> Generator[Operation, Any, None]:
        """Yield the operations one by one. Each yield returns the result of its operation."""
        raise NotImplementedError(
            "LookUp.steps is not written yet: it returns a generator of operations"
        )
