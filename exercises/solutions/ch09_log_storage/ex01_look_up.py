"""Exercise 09-1: the reference solution (Kafka: LogSegments.floorSegment, OffsetIndex.lookup,
LogSegment.translateOffset).
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
        low, high, base = 0, self.segments, 0
        while low < high:
            middle = (low + high) // 2
            seen = yield "base", middle
            if seen <= self.offset:
                low, base = middle + 1, seen
            else:
                high = middle
        number = low - 1
        low, position = 0, 0
        high = yield "entries", number
        while low < high:
            middle = (low + high) // 2
            relative, at = yield "entry", number, middle
            if relative <= self.offset - base:
                low, position = middle + 1, at
            else:
                high = middle
        while number < self.segments:
            batch = yield "batch", number, position
            if batch is None:
                number, position = number + 1, 0
            elif batch[1] >= self.offset:
                yield "found", number, position
            else:
                position += batch[2]
        yield ("end",)
