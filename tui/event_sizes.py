"""How much memory an event takes, about, so that what is held can be bounded in bytes."""

import sys
from typing import Final

from kafka_edu.trace.event import Envelope

MEASURED_EVERY: Final = 32
"""Of each type every so many events one is measured. The others count as the mean of its type."""
_SHARED: Final = range(-5, 257)
"""Python holds these numbers once for all."""


def bytes_of(value: object) -> int:
    """Return how many bytes a value takes, with all that it holds. O(size)."""
    if value is None or (isinstance(value, int) and value in _SHARED):
        return 0
    size = sys.getsizeof(value)
    return size + sum(map(bytes_of, value)) if isinstance(value, tuple) else size


class EventSizes:
    """The mean size of each type of event."""

    def __init__(self) -> None:
        self._types: dict[type, tuple[int, int]] = {}
        """How many were asked for, and the mean."""

    def of(self, envelope: Envelope) -> int:
        """Return about how many bytes an event takes. O(1), amortised."""
        cls = type(envelope.event)
        count, mean = self._types.get(cls, (0, 0))
        if count % MEASURED_EVERY == 0:
            size = bytes_of(envelope)
            mean = size if not count else (3 * mean + size) // 4
        self._types[cls] = count + 1, mean
        return mean
