"""Events of clients that this project runs: in demos, in tests and in `kafka-edu load`."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


class LoadState(NamedTuple):
    """The state of a load (`kafka-edu load`) at one moment: what its producers have sent and what
    its consumers have read. Events have this value as a field.

    Every record has a number, so each acknowledged record can be found again among the records that
    were read.
    """

    topic: str
    group: str
    acks: str
    rate: int
    """How many records per second the load is set to send."""
    producers: int
    consumers: int
    sent: int
    acked: int
    refused: int
    """The number of records for which the producer's callback got an error. Such a record is not
    stored, or it is unknown whether it is stored.
    """
    waiting: int
    """The number of records that were sent and have no answer yet."""
    oldest_ms: int
    """How long the oldest record without an answer has waited, in ms. 0 if no record waits."""
    read: int
    read_again: int
    """The number of records that were read more than once, for example after a rebalance."""
    lost: int
    """The number of acknowledged records that are lost: the consumers have read past their offsets
    and did not find them.
    """
    error: str
    """The last error of a producer or consumer. Empty if there was none."""


@event(joins=("topic", "partition", "offset"))
class RecordAcknowledged(NamedTuple):
    """A producer's callback was called without an error: the record is stored at this offset, with
    the safety that `acks` promises.
    """

    client: str
    topic: str
    partition: int
    offset: int


@event(joins=("topic",))
class LoadStarted(NamedTuple):
    """`kafka-edu load` begins to send and read records."""

    load: LoadState


@event(joins=("topic",))
class LoadStalled(NamedTuple):
    """No record was acknowledged during the last second, although records wait for an answer. Next:
    LoadGoesOn.
    """

    topic: str
    waiting: int
    oldest_ms: int
    error: str


@event(joins=("topic", "partition", "offset"))
class LoadGoesOn(NamedTuple):
    """The load has received its first acknowledgement after LoadStalled, the cause of this event.
    With acks=0 there are no acknowledgements. In this case the event says that the client has sent
    a record after the stall.
    """

    topic: str
    partition: int
    offset: int
    """The record's offset. It is -1 with acks=0, because then no broker reports the offset."""
    stalled_ms: int


@event(joins=("topic", "partition", "offset"))
class RecordLost(NamedTuple):
    """An acknowledged record is lost: a consumer has read past the record's offset, and found no
    record or another record there.
    """

    topic: str
    partition: int
    offset: int
    number: int
    """The number of the lost record within this load."""


@event(joins=("topic",))
class LoadStopped(NamedTuple):
    """The load has stopped. All its records have an answer, and its consumers have read as many
    records as they could.
    """

    load: LoadState


@event()
class ClientBooted(NamedTuple):
    """A client requested metadata from the brokers in bootstrap.servers. Next:
    ClientProduced.
    """

    client: str
    servers: str
    partitions: int
    """The number of partitions of the client's topic, as the metadata say. 0 if the client got no
    metadata.
    """
    error: str
    """Why the client could not start. Empty if it could."""


@event()
class ClientProduced(NamedTuple):
    """A client sent records to the brokers that it knows, and has received all answers."""

    client: str
    sent: int
    acked: int
    error: str
    """The error of the last record that was not acknowledged. Empty if all records were
    acknowledged.
    """


@event()
class ClientRead(NamedTuple):
    """A client read a partition to its end, and looked for records that it had sent."""

    client: str
    answer: str
    """Empty if these records had been acknowledged. If not, the error that they got."""
    sent: int
    found: int


@event(joins=("group", "topic", "partition"))
class GroupOffsetSeen(NamedTuple):
    """A client looked up how far a group is in a partition. The lag is `end - committed`."""

    client: str
    group: str
    topic: str
    partition: int
    position: int
    """The offset of the next record that the group's consumer gets. -1 if it has no consumer."""
    committed: int
    """The committed offset. -1 if there is none."""
    end: int
    """The offset after the partition's last record."""


@event()
class ClientListed(NamedTuple):
    """A client read a topic or partition, and lists the records in the order in which it got
    them.
    """

    client: str
    records: int
    values: str
    """The value of each record, or its place (topic/partition).

    Joined by "-", or by spaces if a value may contain that.
    """


@event()
class RecordsCounted(NamedTuple):
    """A client counted how often each of some records is in `place`, for example in a topic. With
    exactly-once semantics, no record is missing, and none is there more than once.
    """

    client: str
    place: str
    """Where the client looked, in words."""
    records: int
    """The number of different records that should be there."""
    missing: int
    """How many of them are not there."""
    again: int
    """How many extra copies of them are there."""


@event()
class ProducerMeasured(NamedTuple):
    """A producer sent records with one setting, and has received all acknowledgements. A comparison
    of such events shows the effect of batching: fewer requests and bytes, but more latency.
    """

    client: str
    linger_ms: int
    records: int
    requests: int
    """The number of Produce requests."""
    bytes: int
    """The bytes of all Produce requests."""
    median_ms: int
    """The median of the times from `send()` to the acknowledgement, in ms."""


@event(joins=("group",))
class GroupRead(NamedTuple):
    """The members of a group have read all records that were sent for them. Without a group, each
    consumer counts as a group of its own.
    """

    client: str
    """The name of the trial. The members' client ids begin with it."""
    group: str
    """The group's id. Empty if the consumers had none."""
    members: int
    idle: int
    """The number of members without a partition."""
    sent: int
    read: int
    """The number of records that the members got, all together."""


@event(joins=("group",))
class RebalanceMeasured(NamedTuple):
    """The members of a group have changed, and the group is stable again."""

    client: str
    """The name of the trial. The members' client ids begin with it."""
    group: str
    assignor: str
    rebalances: int
    """How many rebalances it took."""
    given_up: int
    """How many partitions the members that stayed gave up in these rebalances. They may have got
    some of them back.
    """
    moved: int
    """How many of these partitions belong to another member now."""
    took_ms: int
    """The time from the change to the last new assignment, in ms. 0 without a rebalance."""


@event()
class BytesCounted(NamedTuple):
    """How many bytes some sockets received while clients worked."""

    what: str
    """The process or part whose sockets were counted, in words."""
    bytes_in: int


@event(kind=Kind.GAUGE)
class LoadSampled(NamedTuple):
    """A sample of a load: its state at this moment."""

    load: LoadState


@event(kind=Kind.SNAPSHOT)
class LoadSnapshot(NamedTuple):
    """The state of a load, sent to a new subscriber."""

    load: LoadState
