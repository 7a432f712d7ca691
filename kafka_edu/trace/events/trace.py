"""Events of tracing itself."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class Gap(NamedTuple):
    """A subscriber or file was too slow: `dropped` events are missing here. A new snapshot
    follows, unless they were only hops or samples that the subscriber itself left out.
    """

    dropped: int
    by_type: tuple[tuple[str, int], ...] = ()
    """How many of each type, the most frequent first, where this is known."""


@event(kind=Kind.SNAPSHOT)
class SnapshotBegins(NamedTuple):
    """The events up to SnapshotEnds are the whole state as of fact `as_of`: forget what you held
    of this broker.
    """

    as_of: int


@event(kind=Kind.SNAPSHOT)
class SnapshotEnds(NamedTuple):
    """The snapshot is whole."""

    events: int


@event(kind=Kind.SNAPSHOT)
class RingBegins(NamedTuple):
    """The events up to RingEnds are the past: the facts that this process still holds in its
    ring.

    The first `stateless` facts come before the first keyframe, so only the facts themselves say
    what the state was then. A keyframe is a snapshot of that time, between SnapshotBegins and
    SnapshotEnds.
    """

    from_us: int
    """The time of the first of them, on the monotonic clock; 0 if the ring is empty."""
    facts: int
    stateless: int
    shed: int
    """Facts that the ring let go before their time, because they came too fast for its bytes."""
    enabled: bool = True
    """Whether this process keeps a ring at all."""


@event(kind=Kind.SNAPSHOT)
class RingEnds(NamedTuple):
    """The past has been sent. A snapshot of the present follows, and then the facts to come."""

    facts: int


@event(kind=Kind.SNAPSHOT)
class HopsLeftOut(NamedTuple):
    """A broker had more hops than its recording may take, so for this long, up to now, it recorded
    at level state (edu.record.hops.per.second).
    """

    for_us: int


@event()
class SinkFailed(NamedTuple):
    """An output of events failed and was removed: a recording on a full disk, for example. The
    process goes on without it.
    """

    sink: str
    """The output in words, such as the recording and its path."""
    reason: str
    after: int
    """The number of the last fact that the process had emitted then. The output may lack it."""


@event()
class SampleFailed(NamedTuple):
    """A part of the process could not be sampled, because of a bug. Snapshots and gauges lack it
    from now on.
    """

    sample: str
    """The function that failed."""
    reason: str


@event()
class EventConnectionFailed(NamedTuple):
    """Serving a connection of the event socket raised an unexpected exception, so it was closed.
    The process goes on.
    """

    peer: str
    doing: str
    """The work that failed: an act of the supervisor, for example."""
    error: str
