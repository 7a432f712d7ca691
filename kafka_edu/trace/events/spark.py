"""Events of Spark jobs that we run: the jobs of a chapter. The job's driver emits them."""

from typing import NamedTuple

from kafka_edu.trace.event import event


@event()
class JobStarted(NamedTuple):
    """A job of a chapter begins. If it is one of Spark's, Spark is up. Next: QueryStarted."""

    job: str


@event()
class QueryStarted(NamedTuple):
    """A streaming query begins, or goes on from its checkpoint. Next: MicroBatchDone."""

    query: str
    topic: str
    """The topic that it reads."""


@event(joins=("topic", "partition"))
class OffsetsRead(NamedTuple):
    """A micro-batch has read the offsets `start` ≤ offset < `end` of a partition. Next:
    MicroBatchDone.
    """

    query: str
    batch: int
    topic: str
    partition: int
    start: int
    end: int
    records: int
    """`end` minus `start`."""


@event()
class MicroBatchDone(NamedTuple):
    """A micro-batch has been read and written, and the checkpoint says so."""

    query: str
    batch: int
    """Spark's batch id."""
    rows: int
    """The rows that it has read."""
    watermark: str
    """The watermark of this batch as HH:MM:SS in UTC. Empty: the query has none yet."""
    dropped: int
    """The rows that its windows have dropped as too late."""
    took_ms: int


@event()
class WindowWritten(NamedTuple):
    """A window of a query with a watermark is complete: the batch has written it, and the state
    forgets it.
    """

    query: str
    batch: int
    begin: str
    """The beginning of the window as HH:MM in UTC."""
    rows: int
    """The rows that it has counted."""


@event()
class CommitMarkRemoved(NamedTuple):
    """The mark of a query's last batch was taken out of its checkpoint. Spark will run this batch
    again, as after a crash between the sink's last write and the mark.
    """

    query: str
    batch: int


@event()
class SinkCounted(NamedTuple):
    """A job has read all that a sink holds: a topic, as a consumer with `read_committed`, or a
    folder.
    """

    sink: str
    rows: int
    different: int
    """How many of the rows differ from each other."""


@event()
class QueryEnded(NamedTuple):
    """A streaming query has ended, because it has read everything or because it was stopped."""

    query: str
    batches: int
    """The micro-batches with rows that it ran since QueryStarted."""
    position: int
    """The offsets that its checkpoint counts as read, of all partitions together."""
    groups: int
    """How many consumer groups the brokers know now."""
