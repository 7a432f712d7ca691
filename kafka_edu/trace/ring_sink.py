"""Keep the last events in memory, for the simulator, for tests and for finding the cause of a
failure afterwards.
"""

from collections import deque

from kafka_edu.trace.event import Envelope, Level


class RingSink:
    """Keeps the last `capacity` events. Adding an event is O(1)."""

    def __init__(self, capacity: int = 10_000, level: Level = Level.STATE) -> None:
        self.level = level
        self.events: deque[Envelope] = deque(maxlen=capacity)

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)
