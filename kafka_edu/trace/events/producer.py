"""Events of our own producer: how a record goes from `send()` to its acknowledgement."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event(level=Level.HOPS, joins=("topic", "partition"))
class RecordAccumulated(NamedTuple):
    """The producer put a record into a batch of its partition. Next: BatchDrained."""

    client: str
    topic: str
    partition: int
    batch: int
    """The number of the batch within the producer, from 1."""
    place: int
    """The place of the record in the batch, from 0."""


@event(level=Level.HOPS, joins=("topic", "partition"))
class BatchDrained(NamedTuple):
    """The producer closed a batch and took it out of the accumulator, to send it. Next:
    ClientRequestSent.
    """

    client: str
    topic: str
    partition: int
    batch: int
    records: int
    bytes: int
    waited_ms: int
    """How long the batch existed, in ms."""
    base_sequence: int
    """The sequence number of the first record; -1 without idempotence."""


@event(level=Level.HOPS, joins=("local", "correlation_id"))
class ClientRequestSent(NamedTuple):
    """One of our clients sent a request to a broker. Next: RequestReceived on the broker, with this
    connection as the peer.
    """

    client: str
    broker_id: int
    """The broker's id. A bootstrap server has the id -1, -2 and so on."""
    local: str
    """The `host:port` of the client's side of the connection."""
    correlation_id: int
    api_key: int
    version: int


@event(level=Level.HOPS, joins=("local", "correlation_id"))
class ClientResponseReceived(NamedTuple):
    """One of our clients received a broker's response."""

    client: str
    broker_id: int
    local: str
    correlation_id: int
    api_key: int
    took_ms: int
    """The time since the request was sent, in ms."""


@event()
class ClientConnected(NamedTuple):
    """One of our clients is connected to a broker, and knows the broker's versions."""

    client: str
    broker_id: int
    local: str


@event()
class ClientDisconnected(NamedTuple):
    """One of our clients lost or could not open a connection to a broker. The event says why."""

    client: str
    broker_id: int
    local: str
    """The `host:port` of the client's side. Empty if the connection was never open."""
    reason: str
    in_flight: int
    """The number of requests that get no response because the connection is lost."""


@event(level=Level.HOPS, joins=("topic", "partition"))
class BatchAcknowledged(NamedTuple):
    """All records of a batch are acknowledged. The producer calls their callbacks."""

    client: str
    topic: str
    partition: int
    batch: int
    records: int
    base_offset: int
    """The offset of the first record. -1 if no broker reported it."""
    took_ms: int
    """The time since the batch began, in ms."""


@event(joins=("topic", "partition"))
class BatchRetried(NamedTuple):
    """A batch was not stored, or its response was lost. The producer puts it back to the front of
    its partition's queue.
    """

    client: str
    topic: str
    partition: int
    batch: int
    attempts: int
    error: str


@event(joins=("topic", "partition"))
class BatchSplit(NamedTuple):
    """A broker refused a batch as too large. The producer divides it into smaller ones."""

    client: str
    topic: str
    partition: int
    batch: int
    records: int
    into: int
    """The number of new batches."""


@event(joins=("topic", "partition"))
class BatchFailed(NamedTuple):
    """The producer gives up a batch. Each of its records gets the error."""

    client: str
    topic: str
    partition: int
    batch: int
    records: int
    error: str


@event()
class ProducerStateChanged(NamedTuple):
    """The state of an idempotent or transactional producer changed (Kafka:
    TransactionManager.State).
    """

    client: str
    before: str
    after: str
    producer_id: int
    epoch: int
    reason: str


@event()
class ProducerEpochBumped(NamedTuple):
    """An idempotent producer raised its epoch by itself, because there is a gap in the sequence
    numbers of these partitions (KIP-360). Their sequence numbers begin at 0 again.
    """

    client: str
    producer_id: int
    epoch: int
    partitions: tuple[str, ...]


@event(joins=("transactional_id",))
class TransactionCoordinatorChanged(NamedTuple):
    """The producer learned which broker coordinates its transactions. If the producer lost its
    coordinator, `broker_id` is -1.
    """

    client: str
    transactional_id: str
    broker_id: int
    reason: str


@event(joins=("transactional_id",))
class PartitionsAddedToTransaction(NamedTuple):
    """The coordinator has added partitions to the producer's transaction. Now the producer may send
    their batches.
    """

    client: str
    transactional_id: str
    partitions: tuple[str, ...]


@event(joins=("transactional_id", "group"))
class OffsetsAddedToTransaction(NamedTuple):
    """The coordinator of a group has stored offsets for the producer's transaction. They become
    valid when the transaction is committed.
    """

    client: str
    transactional_id: str
    group: str
    offsets: tuple[tuple[str, int], ...]
    """Each partition with its offset."""


class ClientLink(NamedTuple):
    """A client's connection to one broker at one moment. Events have this value as a field."""

    broker_id: int
    """The broker's id. A bootstrap server has the id -1, -2 and so on."""
    state: str
    """Kafka's name of the state: `CONNECTING`, `CHECKING_API_VERSIONS`, `READY`, or
    `DISCONNECTED`.
    """
    in_flight: int
    """The number of requests without a response."""
    oldest_ms: int
    """How long the oldest request without a response has waited, in ms. 0 if none waits."""
    muted_ms: int
    """For how many ms the client sends nothing, because the broker throttled it. 0 if it is not
    muted.
    """


class PartitionBuffer(NamedTuple):
    """The accumulator's batches of one partition at one moment. Events have this value as a
    field.
    """

    topic: str
    partition: int
    leader: int
    """The leader as the producer knows it. -1 if it knows none."""
    batches: int
    """The number of batches in the queue."""
    bytes: int
    """The bytes of the batches in the queue."""
    filling: int
    """The bytes of the last batch, if it still takes records; else 0."""
    records: int
    """The number of records in the batches in the queue."""
    age_ms: int
    """How long the oldest batch has existed, in ms. 0 if there is none."""
    attempts: int
    """How often the oldest batch was sent already."""
    wait: str
    """Why the oldest batch is not sent now: `linger`, `backoff`, `order` (a batch before it is in
    flight), `no leader`, `no connection`, `in flight` (the connection takes no more requests),
    `throttled`, `producer id`, `transaction` (the coordinator has not added the partition yet), or
    `ready`. Empty without a batch.
    """
    left_ms: int
    """How many ms the oldest batch still waits for linger.ms or retry.backoff.ms; else 0."""
    in_flight: int
    """The number of batches of the partition that were sent and have no answer."""
    sent: int
    """How many batches were sent so far. A batch that is sent again counts again."""
    sent_records: int
    """How many records all sent batches had."""
    last_records: int
    """The number of records in the last batch that was sent."""
    last_bytes: int
    last_waited_ms: int
    """How long the last sent batch had existed when it was sent, in ms."""


class ProducerDescription(NamedTuple):
    """One of our producers at one moment. Events have this value as a field."""

    client: str
    acks: int
    """The producer's setting acks; -1 stands for `all`."""
    batch_size: int
    linger_ms: int
    buffer_memory: int
    buffer_used: int
    """The bytes of buffer.memory that batches hold, in the queues or in flight."""
    waiting_sends: int
    """How many calls of `send()` wait for memory."""
    max_in_flight: int
    """max.in.flight.requests.per.connection."""
    delivery_timeout_ms: int
    oldest_ms: int
    """How long the oldest batch without an outcome has existed, in ms. 0 if there is none."""
    producer_id: int
    """The id of an idempotent producer. -1 if it has none yet or is not idempotent."""
    epoch: int
    acked: int
    """How many records are acknowledged. With acks=0, how many were sent."""
    failed: int
    """How many records failed."""
    retried: int
    """How many batches were put back, to be sent again."""
    partitions: tuple[PartitionBuffer, ...]
    """The partitions to which the producer has written."""
    links: tuple[ClientLink, ...]
    state: str = ""
    """The state of an idempotent or transactional producer; empty for any other."""
    transactional_id: str = ""
    """The producer's transactional id. Empty if it has no transactions."""


@event(kind=Kind.GAUGE, thing=("client",))
class ProducerSampled(NamedTuple):
    """A sample of one of our producers."""

    producer: ProducerDescription


@event(kind=Kind.SNAPSHOT)
class ProducerSnapshot(NamedTuple):
    """One of our producers, sent to a new subscriber."""

    producer: ProducerDescription


@event()
class ClientClosed(NamedTuple):
    """The program closed one of our producers or consumers."""

    client: str
    role: str = ""
    """`producer` or `consumer`, because both may have the same client id. Empty in recordings from
    before this field.
    """
