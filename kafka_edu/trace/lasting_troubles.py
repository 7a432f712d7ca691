"""The events after which a part of a process is missing until the process starts again."""

from typing import Final

from kafka_edu.trace.events.log import LogDirFailed
from kafka_edu.trace.events.trace import EventConnectionFailed, SampleFailed, SinkFailed

LASTING: Final = frozenset(
    kind.__name__ for kind in (LogDirFailed, SinkFailed, SampleFailed, EventConnectionFailed)
)
"""The names of these events, as they are in a TroubleSnapshot. Other problems pass."""
