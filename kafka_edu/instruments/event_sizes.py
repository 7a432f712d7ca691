"""An estimate of the memory that an event takes.

With this estimate, a program can limit the memory of the events that it keeps.
"""

import sys
from typing import Final

from kafka_edu.trace.event import Envelope

MEASURED_EVERY: Final = 32
"""One of this many events of each type is measured. For the others, the mean of their type is
used.
"""
_SHARED: Final = range(-5, 257)
"""Python keeps one shared object for each of these numbers, so they cost no memory."""


def bytes_of(value: object) -> int:
    """Return the size of a value in bytes, with all values that it contains. O(size)."""
    if value is None or (isinstance(value, int) and value in _SHARED):
        return 0
    size = sys.getsizeof(value)
    return size + sum(map(bytes_of, value)) if isinstance(value, tuple) else size


class EventSizes:
    """The mean size of each type of event."""

    def __init__(self) -> None:
        self._types: dict[type, tuple[int, int]] = {}
        """Type → (number of its events so far, their mean size in bytes)."""

    def of(self, envelope: Envelope) -> int:
        """Return the approximate size of an event in bytes. O(1), amortised."""
        cls = type(envelope.event)
        count, mean = self._types.get(cls, (0, 0))
        if count % MEASURED_EVERY == 0:
            size = bytes_of(envelope)
            mean = size if not count else (3 * mean + size) // 4
        self._types[cls] = count + 1, mean
        return mean
