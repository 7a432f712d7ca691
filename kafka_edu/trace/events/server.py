"""Events of the broker as a whole: its life, its configuration, what it knows of the cluster, and
the handlers' hops (spec N2, A2, G1).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event()
class ServerStarting(NamedTuple):
    """KafkaServer.startup has begun. Next: ClusterJoined."""

    api_level: str
    pid: int


@event(joins=("cluster_id",))
class ClusterJoined(NamedTuple):
    """Connected to ZooKeeper; the cluster's id was read or created, the broker's id settled
    (`id_source`: configured, stored or generated).
    """

    cluster_id: str
    broker_id: int
    id_source: str


@event(joins=("broker_epoch",))
class BrokerRegistered(NamedTuple):
    """Our ephemeral znode /brokers/ids/<id> stands; its czxid is the broker's epoch (KIP-380). Told
    again after a session expired.
    """

    broker_id: int
    broker_epoch: int
    end_points: tuple[str, ...]
    session_id: int


@event()
class ServerStarted(NamedTuple):
    """All parts run and the listeners take connections."""

    broker_id: int
    end_points: tuple[str, ...]
    startup_ms: int


@event()
class BrokerStateChanged(NamedTuple):
    """The broker's life went on: NotRunning, Starting, RunningAsBroker, PendingControlledShutdown,
    BrokerShuttingDown.
    """

    broker_id: int
    before: str
    after: str


@event()
class ServerStopping(NamedTuple):
    """Shutdown has begun, and why (a signal, a fatal error). Next: ControlledShutdownAttempted,
    unless it is switched off.
    """

    broker_id: int
    reason: str


@event()
class ControlledShutdownAttempted(NamedTuple):
    """One attempt to have the controller move our leaders away (book §6.4.2, steps 1 to 4).
    Success: error 0 and no partition remaining.
    """

    attempt: int
    controller_id: int
    error: str
    partitions_remaining: int


@event()
class ServerStopped(NamedTuple):
    """A broker's last event, but for LearnerServed. `clean`: its logs were flushed and
    .kafka_cleanshutdown written.
    """

    broker_id: int
    clean: bool
    shutdown_ms: int


@event()
class SessionLost(NamedTuple):
    """ZooKeeper expired our session: our ephemerals are gone, the cluster takes us for dead. Next:
    BrokerRegistered.
    """

    broker_id: int
    session_id: int


@event()
class LinkFaultChanged(NamedTuple):
    """The supervisor set the fault of the connections that this broker opens to these ports. With
    no delay and not cut, the fault is gone.
    """

    ports: tuple[int, ...]
    delay_ms: int
    cut: bool


@event()
class LinkReset(NamedTuple):
    """The supervisor had this broker close the connections that it had opened to these ports, as
    after a TCP reset. The broker opens new ones.
    """

    ports: tuple[int, ...]
    connections: int


@event()
class BackgroundTaskFailed(NamedTuple):
    """A background task raised. The broker stops: a part that is silently gone is worse than a
    broker that is gone.
    """

    task: str
    error: str


@event()
class LoopStalled(NamedTuple):
    """The broker's one loop was late by `stalled_ms` on the clock. How much of that was our own
    work is `turn_cpu_ms`. The rest it waited: for a core, the disk, or another thread.

    `held_by`: the call that a look at the loop's stack found, innermost first; empty if nobody
    looked in time.
    """

    stalled_ms: int
    cpu_ms: int
    """Processor time of the loop's thread since its last tick, at most 100 ms before the stall."""
    held_by: str = ""
    turn_cpu_ms: int = -1
    """Processor time of the loop's thread in the turn that held the loop; -1 if nobody looked."""
    core_wait_ms: int = -1
    """How long the thread was ready in that turn and got no core; -1 where the system does not
    say."""


@event(joins=("controller_epoch",))
class MetadataUpdated(NamedTuple):
    """An UpdateMetadata request changed what this broker answers to clients. Partitions as
    `topic-n`; deleted ones left the cache.
    """

    controller_id: int
    controller_epoch: int
    live_brokers: tuple[int, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]


@event(joins=("topic",))
class TopicCreated(NamedTuple):
    """This broker wrote a new topic's znode /brokers/topics/<topic>; the controller's watch does
    the rest. `assignment`: replicas by partition.
    """

    topic: str
    assignment: tuple[tuple[int, ...], ...]
    automatic: bool


@event()
class EntityConfigWritten(NamedTuple):
    """This broker wrote the whole configuration of an entity, as in `topics/web`, and a
    notification. Next: EntityConfigTaken, on every broker.
    """

    entity: str
    configs: tuple[tuple[str, str], ...]


@event()
class EntityConfigTaken(NamedTuple):
    """This broker read a notification of /config/changes, and has taken the entity's configuration
    up.
    """

    entity: str
    notification: int


@event()
class BrokerConfigChanged(NamedTuple):
    """Keys of this broker's configuration have other values now: (key, before, after), as text."""

    changes: tuple[tuple[str, str, str], ...]


@event(joins=("topic",))
class TopicConfigChanged(NamedTuple):
    """This broker's logs of a topic go by other settings now: (key, before, after), as text."""

    topic: str
    changes: tuple[tuple[str, str, str], ...]


@event()
class LoggerLevelChanged(NamedTuple):
    """A logger of this broker's process has another level; empty: its parent's."""

    logger: str
    level: str


@event()
class HandlerPoolResized(NamedTuple):
    """The number of request handlers (num.io.threads) changed."""

    before: int
    after: int


@event(joins=("topic",))
class PartitionsCreated(NamedTuple):
    """This broker added partitions to a topic's znode: from the number `first` on, with these
    replicas. Next: the controller's PartitionModifications.
    """

    topic: str
    first: int
    assignment: tuple[tuple[int, ...], ...]


@event(joins=("topic",))
class TopicDeletionOrdered(NamedTuple):
    """This broker wrote /admin/delete_topics/<topic>. Next: the controller's
    TopicDeletionChanged.
    """

    topic: str


@event()
class ProducerIdBlockAllocated(NamedTuple):
    """A block of producer ids is ours: /latest_producer_id_block was moved on by compare-and-set
    (KIP-98).
    """

    first: int
    last: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestDequeued(NamedTuple):
    """Hop: a handler took the request from the channel. Next: RequestHandled."""

    connection_id: str
    correlation_id: int
    api_key: int
    handler: int
    queued_us: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestHandled(NamedTuple):
    """Hop: the handler is done with the request. `answered` False: it waits in a purgatory, or
    asked for no answer.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    handler: int
    handler_us: int
    answered: bool


@event(kind=Kind.SNAPSHOT)
class TroubleSnapshot(NamedTuple):
    """Something that went wrong in this broker since its start: how often, and what was said the
    last time.
    """

    event: str
    """The name of the fact."""
    text: str
    times: int
    last_ms_ago: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class ProduceAnswered(NamedTuple):
    """Hop: a produce is about to be answered. Next: ResponseSent. Told at level `state` when
    another fact completes the produce.

    Each partition is (topic, partition, first offset, end offset, error): its records have the
    offsets from the first up to the end, which is not among them.
    """

    connection_id: str
    correlation_id: int
    acks: int
    partitions: tuple[tuple[str, int, int, int, str], ...]


@event(joins=("connection_id", "correlation_id"))
class RequestFailed(NamedTuple):
    """A handler raised what no error code foresees: the client got UNKNOWN_SERVER_ERROR or lost its
    connection. The log has the stack.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    api_version: int
    error: str


@event(joins=("connection_id", "correlation_id"))
class RequestStuck(NamedTuple):
    """A request is neither answered nor its connection closed, one second after its time-out. `hop`
    says where it stands (docs/answers.md).

    In the hop `unread` there is no request yet: bytes have come that nobody reads; key and
    correlation id are -1.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    client_id: str
    hop: str
    waited_ms: int
    timeout_ms: int


@event(joins=("connection_id",))
class RequestRefused(NamedTuple):
    """A request that cannot be read, or of a key or version not served: its connection is
    closed.
    """

    connection_id: str
    api_key: int
    api_version: int
    reason: str


@event(kind=Kind.GAUGE)
class ServerSampled(NamedTuple):
    """The broker at this moment. `requests` are (api key, requests so far) pairs; memory is
    resident and anonymous, in bytes (0: not known).
    """

    handlers_busy: int
    handlers: int
    requests: tuple[tuple[int, int], ...]
    rss_bytes: int
    rss_anon_bytes: int


@event(kind=Kind.SNAPSHOT)
class BrokerSnapshot(NamedTuple):
    """This broker: its ids, its state, its end points."""

    broker_id: int
    broker_epoch: int
    cluster_id: str
    state: str
    end_points: tuple[str, ...]
    rack: str | None
    pid: int
    session_id: int = 0
    """Its session with ZooKeeper; 0 before there is one."""


@event(kind=Kind.SNAPSHOT)
class MetadataSnapshot(NamedTuple):
    """This broker's knowledge of the cluster: brokers as (id, end points) pairs."""

    controller_id: int
    live_brokers: tuple[tuple[int, tuple[str, ...]], ...]


@event(kind=Kind.SNAPSHOT)
class PartitionMetadataSnapshot(NamedTuple):
    """One partition, as this broker would answer a client."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
