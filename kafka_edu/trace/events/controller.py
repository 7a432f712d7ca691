"""Events of the controller: its election, its queue of events, its two state machines, and the
requests that it sends (spec C, L).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event(joins=("path",))
class ZkWatchFired(NamedTuple):
    """ZooKeeper notified this broker of a change. The controller puts an event about the change
    into its queue.

    A watch fires at the first change of its kind at `path` whose zxid is above `after_zxid`.
    `after_zxid` is the zxid of the last answer that this session got before the change, or -1 if it
    is unknown. So session, path, type and `after_zxid` identify the change.
    """

    path: str
    type: str
    session_id: int = 0
    after_zxid: int = -1


@event(joins=("epoch",))
class ControllerElected(NamedTuple):
    """This broker created the znode /controller. It is the controller with this epoch."""

    epoch: int
    epoch_zk_version: int


@event(joins=("epoch",))
class ControllerResigned(NamedTuple):
    """This broker is no longer the controller, and has cleared the controller's state."""

    epoch: int
    reason: str


@event(joins=("controller_id",))
class ActiveControllerChanged(NamedTuple):
    """This broker read /controller. `controller_id` is the id in this znode, or -1 if there is no
    controller.
    """

    controller_id: int


@event()
class ControllerEventQueued(NamedTuple):
    """Something happened that the controller must handle. An event about it waits in the
    controller's queue.
    """

    name: str
    detail: str
    queue_size: int


@event()
class ControllerEventStarted(NamedTuple):
    """The controller's event task has begun with this event. Everything that the controller emits
    until ControllerEventProcessed belongs to this event.
    """

    name: str
    detail: str
    queued_us: int


@event()
class ControllerEventProcessed(NamedTuple):
    """The controller's event task has finished this event. `error` is empty, or says that ZooKeeper
    did not answer, or that another controller has been elected.
    """

    name: str
    queued_us: int
    took_us: int
    error: str


@event(joins=("topic", "partition", "controller_epoch"))
class PartitionStateChanged(NamedTuple):
    """A partition changed from one of its four states to another one."""

    topic: str
    partition: int
    before: str
    after: str
    reason: str
    controller_epoch: int


@event(joins=("topic", "partition", "replica", "controller_epoch"))
class ReplicaStateChanged(NamedTuple):
    """A replica changed from one of its seven states to another one."""

    topic: str
    partition: int
    replica: int
    before: str
    after: str
    reason: str
    controller_epoch: int


@event(joins=("topic", "partition"))
class StateChangeRefused(NamedTuple):
    """A state machine refused a change of state. The table does not allow the change, or an error
    prevented it. For a partition, `replica` is -1.
    """

    topic: str
    partition: int
    replica: int
    before: str
    after: str
    reason: str


@event(joins=("topic", "partition", "leader_epoch", "zk_version"))
class IsrAltered(NamedTuple):
    """The controller wrote the ISR that a leader had requested (AlterIsr). Next: MetadataUpdated,
    on every broker.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr_before: tuple[int, ...]
    isr: tuple[int, ...]
    zk_version: int


@event(joins=("topic", "partition", "leader_epoch", "controller_epoch"))
class LeaderElected(NamedTuple):
    """The controller elected a leader by `strategy`, and wrote it into the partition's znode with
    this version.

    `why` explains the choice in words. `passed_over` lists the other replicas, in the order of AR,
    with the reason why each does not lead. The event contains the sets AR, ISR and live replicas,
    because these sets change later.
    """

    topic: str
    partition: int
    strategy: str
    replicas: tuple[int, ...]
    isr_before: tuple[int, ...]
    live: tuple[int, ...]
    old_leader: int
    new_leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    unclean: bool
    controller_epoch: int
    zk_path: str
    zk_version: int
    shutting_down: tuple[int, ...] = ()
    why: str = ""
    passed_over: tuple[tuple[int, str], ...] = ()


@event(joins=("topic", "partition"))
class LeaderElectionFailed(NamedTuple):
    """The controller found no replica that may lead by this strategy. The partition stays as it
    was. `reason` and `passed_over` say why.
    """

    topic: str
    partition: int
    strategy: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    live: tuple[int, ...]
    reason: str
    shutting_down: tuple[int, ...] = ()
    passed_over: tuple[tuple[int, str], ...] = ()


@event()
class ElectionsHeld(NamedTuple):
    """The controller held elections that an admin client, a znode or the rebalance timer had
    requested. The event says how many were won. `refused` lists the partitions without a new
    leader, with the reasons.
    """

    trigger: str
    election_type: str
    asked: int
    elected: int
    refused: tuple[tuple[str, str], ...]


@event(joins=("broker_id",))
class LeaderImbalanceMeasured(NamedTuple):
    """auto.leader.rebalance: the controller measured how many of the partitions that prefer this
    broker are led by other brokers. If the percentage is above `allowed_percentage`, these
    partitions get their preferred leader back. Partitions whose replica on this broker is not alive
    and in sync are left out.
    """

    broker_id: int
    preferred_here: int
    led_elsewhere: int
    allowed_percentage: int
    given_back: int


@event(joins=("topic", "partition", "leader_epoch", "zk_path", "zk_version"))
class ReplicaRemovedFromIsr(NamedTuple):
    """The controller removed an offline replica from an ISR. `leader` is -1 if the replica was the
    leader.
    """

    topic: str
    partition: int
    replica: int
    isr_before: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    zk_path: str
    zk_version: int


@event(joins=("broker_id", "broker_epoch"))
class BrokerJoined(NamedTuple):
    """The controller saw a new broker: its znode appeared. If `bounced`, the znode replaced an
    older one of the same broker, which has restarted.
    """

    broker_id: int
    broker_epoch: int
    bounced: bool


@event(joins=("broker_id", "broker_epoch"))
class BrokerListenersChanged(NamedTuple):
    """A broker wrote new listeners into its znode. The controller noticed it and informs all
    brokers.
    """

    broker_id: int
    broker_epoch: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@event(joins=("broker_id",))
class BrokerFailed(NamedTuple):
    """The controller saw that a broker's znode is gone. `shutting_down` says whether the broker had
    announced it (ControlledShutdown).
    """

    broker_id: int
    shutting_down: bool


@event(joins=("broker_id", "broker_epoch"))
class ControlledShutdownProcessed(NamedTuple):
    """A broker requested permission to shut down. The event says how many partitions
    it led and followed, and how many it still leads. With 0, it may shut down.
    """

    broker_id: int
    broker_epoch: int
    led: int
    followed: int
    remaining: int


@event(joins=("topic",))
class TopicDeletionChanged(NamedTuple):
    """The deletion of a topic changed its state: `queued`, `started`, `ineligible` (some replica
    cannot be deleted now) or `complete`.
    """

    topic: str
    step: str
    reason: str


@event(joins=("broker_id", "api_key", "local", "correlation_id"))
class ControllerRequestSent(NamedTuple):
    """The controller sends a request to a broker. The request leaves the queue for this broker.
    `local` is the controller's end of the connection. The broker's events name it as the peer.
    """

    broker_id: int
    api_key: int
    api_version: int
    correlation_id: int
    local: str
    partitions: int
    queue_size: int


@event(joins=("broker_id", "api_key", "local", "correlation_id"))
class ControllerResponseReceived(NamedTuple):
    """The controller received a broker's response."""

    broker_id: int
    api_key: int
    correlation_id: int
    local: str
    error_code: int
    took_us: int


@event(joins=("broker_id",))
class ControllerRequestFailed(NamedTuple):
    """A broker could not be reached, or did not answer the controller's request. The controller
    tries again until the broker's znode is gone.
    """

    broker_id: int
    api_key: int
    reason: str


@event(kind=Kind.SNAPSHOT)
class StateMachineSnapshot(NamedTuple):
    """The table of a state machine, which says what changes of state are allowed. `machine` is
    `partition` or `replica` (the controller's machines), or `group` or `transaction` (the
    coordinators' machines).

    `states` are in the order of the code. Each of `transitions` is a pair (before, after). Every
    broker sends all tables, because every broker may become the controller or a coordinator.
    """

    machine: str
    states: tuple[str, ...]
    transitions: tuple[tuple[str, str], ...]


@event(kind=Kind.SNAPSHOT)
class ControllerSnapshot(NamedTuple):
    """The controller as this broker knows it, and whether this broker is the controller itself
    (`active`). If it is, events with the controller's brokers and partitions follow.
    """

    active: bool
    controller_id: int
    epoch: int
    epoch_zk_version: int
    queue_size: int


@event(kind=Kind.SNAPSHOT)
class ControllerBrokerSnapshot(NamedTuple):
    """One live broker, as the controller knows it."""

    broker_id: int
    broker_epoch: int
    end_points: tuple[str, ...]
    rack: str | None
    shutting_down: bool


@event(kind=Kind.SNAPSHOT)
class ControllerPartitionSnapshot(NamedTuple):
    """One partition, as the controller knows it. `replica_states` are in the order of `replicas`.
    `leader` is -1 if there is no leader. `zk_version` is -1 if the partition has no state in
    ZooKeeper yet.
    """

    topic: str
    partition: int
    state: str
    replicas: tuple[int, ...]
    replica_states: tuple[str, ...]
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int


@event(kind=Kind.GAUGE)
class ControllerSampled(NamedTuple):
    """A sample of the controller's numbers (Kafka: the metrics of KafkaController and
    ControllerEventManager).
    """

    active: bool
    queue_size: int
    queue_time_ms: int
    """How long the oldest event in the controller's queue has waited, in ms."""
    live_brokers: int
    topics: int
    partitions: int
    offline_partitions: int
    preferred_replica_imbalance: int
    requests_queued: int
    unclean_elections: int = 0
    """How many unclean elections this controller has held since its own election (Kafka:
    UncleanLeaderElectionsPerSec).
    """
