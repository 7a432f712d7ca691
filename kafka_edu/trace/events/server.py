"""Events of the broker as a whole: its start and stop, its configuration, its knowledge of the
cluster, and the hops of requests in the handlers (spec N2, A2, G1).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event()
class ServerStarting(NamedTuple):
    """The broker begins to start (KafkaServer.startup). Next: ClusterJoined."""

    api_level: str
    pid: int


@event(joins=("cluster_id",))
class ClusterJoined(NamedTuple):
    """The broker has connected to ZooKeeper. It has read or created the cluster's id, and knows its
    own broker id. `id_source` says where the broker id comes from: configured, stored or generated.
    """

    cluster_id: str
    broker_id: int
    id_source: str


@event(joins=("broker_epoch",))
class BrokerRegistered(NamedTuple):
    """The broker created its ephemeral znode /brokers/ids/<id>. The znode's czxid is the broker's
    epoch (KIP-380). After a session has expired, the broker registers and emits this event again.
    """

    broker_id: int
    broker_epoch: int
    end_points: tuple[str, ...]
    session_id: int


@event()
class ServerStarted(NamedTuple):
    """All parts of the broker run, and its listeners accept connections."""

    broker_id: int
    end_points: tuple[str, ...]
    startup_ms: int


@event()
class BrokerStateChanged(NamedTuple):
    """The state of the broker changed. The states are NotRunning, Starting, RunningAsBroker,
    PendingControlledShutdown and BrokerShuttingDown.
    """

    broker_id: int
    before: str
    after: str


@event()
class ServerStopping(NamedTuple):
    """The broker begins to shut down. The event says why (a signal, a fatal error). The next event
    is ControlledShutdownAttempted, unless the controlled shutdown is switched off.
    """

    broker_id: int
    reason: str


@event()
class ControlledShutdownAttempted(NamedTuple):
    """The broker requested that the controller moves its leaders to other brokers (book §6.4.2,
    steps 1 to 4). The attempt was successful if `error` is 0 and no partition remains.
    """

    attempt: int
    controller_id: int
    error: str
    partitions_remaining: int


@event()
class ServerStopped(NamedTuple):
    """The last event of a broker, except for LearnerServed. `clean` says whether its logs were
    flushed and the file .kafka_cleanshutdown was written.
    """

    broker_id: int
    clean: bool
    shutdown_ms: int


@event()
class SessionLost(NamedTuple):
    """ZooKeeper expired this broker's session. The broker's ephemeral znodes are gone, and the
    cluster regards the broker as dead. Next: BrokerRegistered.
    """

    broker_id: int
    session_id: int


@event()
class LinkFaultChanged(NamedTuple):
    """The supervisor set a fault (a delay or a cut) for the connections that this broker opens to
    these ports. If `delay_ms` is 0 and `cut` is false, there is no fault any more.
    """

    ports: tuple[int, ...]
    delay_ms: int
    cut: bool


@event()
class LinkReset(NamedTuple):
    """The supervisor made this broker close the connections that it had opened to these ports, as
    if by a TCP reset. The broker opens new connections.
    """

    ports: tuple[int, ...]
    connections: int


@event()
class BackgroundTaskFailed(NamedTuple):
    """A background task ended with an exception. The broker stops, because a broker with a missing
    part would be worse than a stopped broker.
    """

    task: str
    error: str


@event()
class LoopStalled(NamedTuple):
    """The broker's asyncio loop was blocked for `stalled_ms`. `turn_cpu_ms` says how much of this
    time the loop's thread worked. The rest of the time, the thread waited for a processor core, the
    disk or another thread.

    `held_by` is the blocking call, read from the loop's stack, with the innermost call first. It
    is empty if the stack was not read in time.
    """

    stalled_ms: int
    cpu_ms: int
    """Processor time of the loop's thread since its last tick, in ms. That tick was at most 100 ms
    before the stall.
    """
    held_by: str = ""
    turn_cpu_ms: int = -1
    """Processor time of the loop's thread in the blocked turn, in ms. -1 if it was not read."""
    core_wait_ms: int = -1
    """How long the thread could have run in that turn but got no processor core, in ms. -1 if the
    system does not report it.
    """


@event(joins=("controller_epoch",))
class MetadataUpdated(NamedTuple):
    """An UpdateMetadata request changed this broker's metadata cache, from which clients get
    answers. Partitions are written as `topic-n`. The deleted partitions were removed from the
    cache.
    """

    controller_id: int
    controller_epoch: int
    live_brokers: tuple[int, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]


@event(joins=("topic",))
class TopicCreated(NamedTuple):
    """This broker wrote the znode /brokers/topics/<topic> of a new topic. The controller sees it by
    its watch and does the rest. `assignment` lists the replicas of each partition.
    """

    topic: str
    assignment: tuple[tuple[int, ...], ...]
    automatic: bool


@event()
class EntityConfigWritten(NamedTuple):
    """This broker wrote the whole configuration of an entity, for example of `topics/web`, and a
    notification about it. Next: EntityConfigTaken, on every broker.
    """

    entity: str
    configs: tuple[tuple[str, str], ...]


@event()
class EntityConfigTaken(NamedTuple):
    """This broker read a notification in /config/changes, and now uses the entity's new
    configuration.
    """

    entity: str
    notification: int


@event()
class BrokerConfigChanged(NamedTuple):
    """Values in this broker's configuration have changed. Each change is (key, value before, value
    after), as text.
    """

    changes: tuple[tuple[str, str, str], ...]


@event(joins=("topic",))
class TopicConfigChanged(NamedTuple):
    """This broker's logs of a topic use changed settings from now on. Each change is (key, value
    before, value after), as text.
    """

    topic: str
    changes: tuple[tuple[str, str, str], ...]


@event()
class LoggerLevelChanged(NamedTuple):
    """The level of a logger in this broker's process was changed. An empty level means the level of
    the parent logger.
    """

    logger: str
    level: str


@event()
class HandlerPoolResized(NamedTuple):
    """The number of request handlers (num.io.threads) changed."""

    before: int
    after: int


@event(joins=("topic",))
class PartitionsCreated(NamedTuple):
    """This broker added partitions to a topic's znode. The first new partition has the number
    `first`. Next: the controller's event PartitionModifications.
    """

    topic: str
    first: int
    assignment: tuple[tuple[int, ...], ...]


@event(joins=("topic",))
class TopicDeletionOrdered(NamedTuple):
    """This broker requested the deletion of a topic with the znode /admin/delete_topics/<topic>.
    Next: the controller's TopicDeletionChanged.
    """

    topic: str


@event()
class ProducerIdBlockAllocated(NamedTuple):
    """This broker reserved a block of producer ids: it changed /latest_producer_id_block by
    compare-and-set (KIP-98).
    """

    first: int
    last: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestDequeued(NamedTuple):
    """Hop: a handler took the request from the request channel. Next: RequestHandled."""

    connection_id: str
    correlation_id: int
    api_key: int
    handler: int
    queued_us: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestHandled(NamedTuple):
    """Hop: the handler has finished the request. If `answered` is false, the request waits in a
    purgatory, or needs no answer.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    handler: int
    handler_us: int
    answered: bool


@event(kind=Kind.SNAPSHOT)
class TroubleSnapshot(NamedTuple):
    """A kind of problem that this broker has had since its start: how often it happened, and the
    text of its last event.
    """

    event: str
    """The name of the event that reported the problem."""
    text: str
    times: int
    last_ms_ago: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class ProduceAnswered(NamedTuple):
    """Hop: the broker is about to answer a produce. Next: ResponseSent. The event has level `state`
    if another fact completes the produce.

    Each partition is (topic, partition, first offset, end offset, error). The records have the
    offsets from the first offset to just below the end offset.
    """

    connection_id: str
    correlation_id: int
    acks: int
    partitions: tuple[tuple[str, int, int, int, str], ...]


@event(joins=("connection_id", "correlation_id"))
class RequestFailed(NamedTuple):
    """A handler got an unexpected exception, for which there is no error code. The client got
    UNKNOWN_SERVER_ERROR, or its connection was closed. The broker's log has the stack trace.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    api_version: int
    error: str


@event(joins=("connection_id", "correlation_id"))
class RequestStuck(NamedTuple):
    """One second after a request's time-out, the request has no answer and its connection is still
    open. `hop` says where the request is (docs/answers.md).

    In the hop `unread` there is no request yet: bytes have arrived, but the broker has not read
    them. Then API key and correlation id are -1.
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
    """The broker closed a connection, because a request could not be decoded, or had an API key or
    version that the broker does not serve.
    """

    connection_id: str
    api_key: int
    api_version: int
    reason: str


@event(kind=Kind.GAUGE)
class ServerSampled(NamedTuple):
    """A sample of the broker. `requests` are pairs (API key, number of requests since the start).
    The two memory sizes, resident and anonymous, are in bytes. 0 means unknown.
    """

    handlers_busy: int
    handlers: int
    requests: tuple[tuple[int, int], ...]
    rss_bytes: int
    rss_anon_bytes: int


@event(kind=Kind.SNAPSHOT)
class BrokerSnapshot(NamedTuple):
    """This broker's ids, state and end points, sent to a new subscriber."""

    broker_id: int
    broker_epoch: int
    cluster_id: str
    state: str
    end_points: tuple[str, ...]
    rack: str | None
    pid: int
    session_id: int = 0
    """The id of the broker's session with ZooKeeper. 0 before its first session."""


@event(kind=Kind.SNAPSHOT)
class MetadataSnapshot(NamedTuple):
    """This broker's view of the cluster, sent to a new subscriber. The brokers are pairs (id,
    end points).
    """

    controller_id: int
    live_brokers: tuple[tuple[int, tuple[str, ...]], ...]


@event(kind=Kind.SNAPSHOT)
class PartitionMetadataSnapshot(NamedTuple):
    """This broker's answer to clients about one partition, sent to a new subscriber."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
