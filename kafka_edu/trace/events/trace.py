"""Events about the tracing itself: gaps, snapshots, the ring and failed outputs."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class Gap(NamedTuple):
    """A subscriber or a file was too slow, and `dropped` events are missing at this place. A new
    snapshot follows, unless the subscriber itself dropped only hops or samples.
    """

    dropped: int
    by_type: tuple[tuple[str, int], ...] = ()
    """Pairs of an event's name and how many events of this type are missing, the most frequent
    first. Empty if that is unknown.
    """


@event(kind=Kind.SNAPSHOT)
class SnapshotBegins(NamedTuple):
    """The events from here to SnapshotEnds are the whole state after the fact with the number
    `as_of`. The reader must drop what it knew of this process's state before.
    """

    as_of: int


@event(kind=Kind.SNAPSHOT)
class SnapshotEnds(NamedTuple):
    """The snapshot is complete."""

    events: int


@event(kind=Kind.SNAPSHOT)
class RingBegins(NamedTuple):
    """The events from here to RingEnds are from the past: the facts that this process still keeps
    in its ring.

    The first `stateless` facts come before the first keyframe, so no snapshot shows the state at
    their time. A keyframe is a snapshot from the past, between SnapshotBegins and SnapshotEnds.
    """

    from_us: int
    """The monotonic time of the ring's first fact in µs. 0 if the ring is empty."""
    facts: int
    stateless: int
    shed: int
    """How many facts the ring dropped early, because they came too fast for its size in bytes."""
    enabled: bool = True
    """Whether this process has a ring."""


@event(kind=Kind.SNAPSHOT)
class RingEnds(NamedTuple):
    """All facts of the past were sent. Next comes a snapshot of the present, and then new facts."""

    facts: int


@event(kind=Kind.SNAPSHOT)
class HopsLeftOut(NamedTuple):
    """A broker had more hops than its recording may contain (edu.record.hops.per.second). During
    the time that ends now, it recorded only events of level `state`.
    """

    for_us: int


@event()
class SinkFailed(NamedTuple):
    """An output of events failed and was removed, for example a recording on a full disk. The
    process continues without this output.
    """

    sink: str
    """The output in words, for example the recording with its path."""
    reason: str
    after: int
    """The number of the last fact that the process had emitted before the failure. This fact may be
    missing in the output.
    """


@event()
class SampleFailed(NamedTuple):
    """A part of the process could not be sampled because of a bug. From now on, its samples are
    missing in snapshots and gauges.
    """

    sample: str
    """The name of the function that failed."""
    reason: str


@event()
class EventConnectionFailed(NamedTuple):
    """There was an unexpected exception while the process served a connection of its event socket.
    The process closed this connection and continues.
    """

    peer: str
    doing: str
    """The work that failed, for example an action of the supervisor."""
    error: str
