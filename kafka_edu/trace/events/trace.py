"""Events of tracing itself."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class Gap(NamedTuple):
    """A subscriber or file was too slow: `dropped` events are missing here. A new snapshot
    follows.
    """

    dropped: int


@event(kind=Kind.SNAPSHOT)
class SnapshotBegins(NamedTuple):
    """What follows, up to SnapshotEnds, is the whole state as of fact `as_of`: forget what you held
    of this broker.
    """

    as_of: int


@event(kind=Kind.SNAPSHOT)
class SnapshotEnds(NamedTuple):
    """The snapshot is whole."""

    events: int
