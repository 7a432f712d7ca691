"""Events of the Spark jobs in a chapter. The driver of a job emits them."""

from typing import NamedTuple

from kafka_edu.trace.event import event


@event()
class JobStarted(NamedTuple):
    """A job of a chapter begins. If the job uses Spark, Spark has started. Next: QueryStarted."""

    job: str


@event()
class QueryStarted(NamedTuple):
    """A streaming query begins, or continues from its checkpoint. Next: MicroBatchDone."""

    query: str
    topic: str
    """The topic that the query reads."""


@event(joins=("topic", "partition"))
class OffsetsRead(NamedTuple):
    """A micro-batch has read the offsets of a partition from `start` to just below `end`. Next:
    MicroBatchDone.
    """

    query: str
    batch: int
    topic: str
    partition: int
    start: int
    end: int
    records: int
    """The number of records, `end` minus `start`."""


@event()
class MicroBatchDone(NamedTuple):
    """A micro-batch was read and written, and the query's checkpoint records this."""

    query: str
    batch: int
    """Spark's number of the batch."""
    rows: int
    """The number of rows that the batch has read."""
    watermark: str
    """The batch's watermark as HH:MM:SS in UTC. Empty if the query has no watermark yet."""
    dropped: int
    """The number of rows that the query's windows have dropped because they came too late."""
    took_ms: int


@event()
class WindowWritten(NamedTuple):
    """A window of a query with a watermark is complete. The batch has written it, and Spark has
    removed it from the query's state.
    """

    query: str
    batch: int
    begin: str
    """The beginning of the window as HH:MM in UTC."""
    rows: int
    """The number of rows in the window."""


@event()
class CommitMarkRemoved(NamedTuple):
    """The commit mark of a query's last batch was removed from its checkpoint. Spark will run this
    batch again, as after a crash between the sink's last write and the commit mark.
    """

    query: str
    batch: int


@event()
class SinkCounted(NamedTuple):
    """A job has read everything in a sink. The sink is a topic, read by a consumer with
    `read_committed`, or a folder.
    """

    sink: str
    rows: int
    different: int
    """The number of different rows."""


@event()
class QueryEnded(NamedTuple):
    """A streaming query has ended, because it has read everything or because it was stopped."""

    query: str
    batches: int
    """The number of micro-batches with rows since QueryStarted."""
    position: int
    """The sum of the offsets up to which the query has read, over all partitions, as its checkpoint
    says.
    """
    groups: int
    """The number of consumer groups that the brokers know now."""
