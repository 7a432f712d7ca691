"""Events of clients that we drive: demos, tests and `kafka-edu load`."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


class LoadState(NamedTuple):
    """A load at one moment: what its producers sent and its consumers read. A value within events.

    Every record has a number, so each acked record can be found again among those that were read.
    """

    topic: str
    group: str
    acks: str
    rate: int
    """The wanted records per second."""
    producers: int
    consumers: int
    sent: int
    acked: int
    refused: int
    """Records for which the producer's callback got an error: not stored, or not known."""
    waiting: int
    """Records that are sent and have no answer yet."""
    oldest_ms: int
    """How long the oldest of them has waited; 0 if none waits."""
    read: int
    read_again: int
    """Records that were read more than once, after a rebalance for example."""
    lost: int
    """Acked records that the consumers have passed without finding them."""
    error: str
    """The last error of a producer or consumer; empty before the first."""


@event(joins=("topic", "partition", "offset"))
class RecordAcknowledged(NamedTuple):
    """A producer's callback was called: the record is stored at this offset, as its acks
    promise.
    """

    client: str
    topic: str
    partition: int
    offset: int


@event(joins=("topic",))
class LoadStarted(NamedTuple):
    """`kafka-edu load` begins to send and to read."""

    load: LoadState


@event(joins=("topic",))
class LoadStalled(NamedTuple):
    """No record was acknowledged for a second, although records wait for it. Next: LoadGoesOn."""

    topic: str
    waiting: int
    oldest_ms: int
    error: str


@event(joins=("topic", "partition", "offset"))
class LoadGoesOn(NamedTuple):
    """The first acknowledgement after LoadStalled, which is its cause. With acks=0: the first
    record that the client could send.
    """

    topic: str
    partition: int
    offset: int
    """-1 with acks=0, because no broker says where the record is."""
    stalled_ms: int


@event(joins=("topic", "partition", "offset"))
class RecordLost(NamedTuple):
    """An acked record is gone: a consumer has read past its offset and found another record there,
    or none.
    """

    topic: str
    partition: int
    offset: int
    number: int
    """The record's number within this load."""


@event(joins=("topic",))
class LoadStopped(NamedTuple):
    """The load has stopped. All records are answered, and read as far as they could be."""

    load: LoadState


@event()
class ClientBooted(NamedTuple):
    """A client asked its bootstrap.servers for the metadata. Next: ClientProduced."""

    client: str
    servers: str
    partitions: int
    """Of its topic, as far as it knows now; 0 if it received no metadata."""
    error: str
    """Why it could not boot; empty if it could."""


@event()
class ClientProduced(NamedTuple):
    """A client sent records to the brokers that it knows, and has the answers."""

    client: str
    sent: int
    acked: int
    error: str
    """Of the last record that was not acknowledged; empty if all were."""


@event()
class BytesCounted(NamedTuple):
    """The bytes that came into sockets while clients worked."""

    what: str
    """Whose sockets."""
    bytes_in: int


@event(kind=Kind.GAUGE)
class LoadSampled(NamedTuple):
    """A load at this moment."""

    load: LoadState


@event(kind=Kind.SNAPSHOT)
class LoadSnapshot(NamedTuple):
    """A load, sent to a new subscriber."""

    load: LoadState
