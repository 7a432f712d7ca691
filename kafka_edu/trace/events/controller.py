"""Events of the controller: its election, its events, its two state machines, and what it sends
(spec C, L).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event(joins=("path",))
class ZkWatchFired(NamedTuple):
    """ZooKeeper notified this broker of a change; the controller turns it into one of its events.

    A watch fires at the first change of its kind at `path` whose zxid is above `after_zxid`, the
    zxid of the last answer that this session had before. So session, path, type and that range name
    the change. -1: not known.
    """

    path: str
    type: str
    session_id: int = 0
    after_zxid: int = -1


@event(joins=("epoch",))
class ControllerElected(NamedTuple):
    """This broker made /controller and is the controller of that epoch."""

    epoch: int
    epoch_zk_version: int


@event(joins=("epoch",))
class ControllerResigned(NamedTuple):
    """This broker is the controller no more and has let go of everything."""

    epoch: int
    reason: str


@event(joins=("controller_id",))
class ActiveControllerChanged(NamedTuple):
    """The id that this broker last read in /controller; -1: none."""

    controller_id: int


@event()
class ControllerEventQueued(NamedTuple):
    """Something happened that the controller will deal with, in its turn."""

    name: str
    detail: str
    queue_size: int


@event()
class ControllerEventStarted(NamedTuple):
    """The event task has begun with this event: what follows until ControllerEventProcessed is its
    doing.
    """

    name: str
    detail: str
    queued_us: int


@event()
class ControllerEventProcessed(NamedTuple):
    """The event task is done with this event. `error` is empty unless ZooKeeper or a newer
    controller got in the way.
    """

    name: str
    queued_us: int
    took_us: int
    error: str


@event(joins=("topic", "partition", "controller_epoch"))
class PartitionStateChanged(NamedTuple):
    """A partition went from one of its four states to another."""

    topic: str
    partition: int
    before: str
    after: str
    reason: str
    controller_epoch: int


@event(joins=("topic", "partition", "replica", "controller_epoch"))
class ReplicaStateChanged(NamedTuple):
    """A replica went from one of its seven states to another."""

    topic: str
    partition: int
    replica: int
    before: str
    after: str
    reason: str
    controller_epoch: int


@event(joins=("topic", "partition"))
class StateChangeRefused(NamedTuple):
    """The table has no such transition, or it could not be done. `replica` is -1 for a
    partition's.
    """

    topic: str
    partition: int
    replica: int
    before: str
    after: str
    reason: str


@event(joins=("topic", "partition", "leader_epoch", "zk_version"))
class IsrAltered(NamedTuple):
    """The controller wrote the ISR that a leader requested (AlterIsr). Next: MetadataUpdated, on
    every broker.
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
    """A leader was chosen by the strategy from these sets, and it stands in the partition's znode
    as of that version.

    `why` explains the choice in words. `passed_over` lists the other replicas, in AR order, with
    the reason why each does not lead. The event holds the sets, because they change.
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
    """No replica may lead by this strategy: the partition stays as it was. `reason` and
    `passed_over` say why.
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
    """Elections that were requested by an admin client, a znode or the rebalance timer: how many
    were won. `refused`: partitions and why not.
    """

    trigger: str
    election_type: str
    asked: int
    elected: int
    refused: tuple[tuple[str, str], ...]


@event(joins=("broker_id",))
class LeaderImbalanceMeasured(NamedTuple):
    """auto.leader.rebalance: of the partitions that prefer this broker, so many are led by others.
    Over `allowed_percentage`, they are given back, but for those whose replica here is not alive
    and in sync.
    """

    broker_id: int
    preferred_here: int
    led_elsewhere: int
    allowed_percentage: int
    given_back: int


@event(joins=("topic", "partition", "leader_epoch", "zk_path", "zk_version"))
class ReplicaRemovedFromIsr(NamedTuple):
    """The controller took an offline replica out of an ISR; leader -1 if it was the leader."""

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
    """The controller saw a broker come: a new znode, or a new one in place of the old
    (`bounced`).
    """

    broker_id: int
    broker_epoch: int
    bounced: bool


@event(joins=("broker_id", "broker_epoch"))
class BrokerListenersChanged(NamedTuple):
    """The controller saw a broker write other listeners into its znode, and informs all
    brokers.
    """

    broker_id: int
    broker_epoch: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@event(joins=("broker_id",))
class BrokerFailed(NamedTuple):
    """The controller saw a broker go. `shutting_down`: it had said so before
    (ControlledShutdown).
    """

    broker_id: int
    shutting_down: bool


@event(joins=("broker_id", "broker_epoch"))
class ControlledShutdownProcessed(NamedTuple):
    """A broker asked to go: how many partitions it led and followed, and how many it leads still
    (0: it may go).
    """

    broker_id: int
    broker_epoch: int
    led: int
    followed: int
    remaining: int


@event(joins=("topic",))
class TopicDeletionChanged(NamedTuple):
    """A topic's deletion: `queued`, `started`, `ineligible` (some replica cannot be deleted now),
    `complete`.
    """

    topic: str
    step: str
    reason: str


@event(joins=("broker_id", "api_key", "local", "correlation_id"))
class ControllerRequestSent(NamedTuple):
    """The controller's request to a broker leaves its queue. `local` is our end of the connection:
    the broker's events name it as the peer.
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
    """A broker answered the controller."""

    broker_id: int
    api_key: int
    correlation_id: int
    local: str
    error_code: int
    took_us: int


@event(joins=("broker_id",))
class ControllerRequestFailed(NamedTuple):
    """A broker could not be reached, or did not answer: the controller tries again until the
    broker's znode is gone.
    """

    broker_id: int
    api_key: int
    reason: str


@event(kind=Kind.SNAPSHOT)
class StateMachineSnapshot(NamedTuple):
    """The table of a state machine. `machine` is partition or replica, of the controller, or group
    or transaction, of a coordinator.

    `states` stand in the order of the code, and each of `transitions` is (before, after). Every
    broker has the tables, because each may become the controller, and a coordinator.
    """

    machine: str
    states: tuple[str, ...]
    transitions: tuple[tuple[str, str], ...]


@event(kind=Kind.SNAPSHOT)
class ControllerSnapshot(NamedTuple):
    """The controller as this broker knows it, and whether it is the controller itself; parts of its
    context follow if it is active.
    """

    active: bool
    controller_id: int
    epoch: int
    epoch_zk_version: int
    queue_size: int


@event(kind=Kind.SNAPSHOT)
class ControllerBrokerSnapshot(NamedTuple):
    """One live broker, as the controller's context has it."""

    broker_id: int
    broker_epoch: int
    end_points: tuple[str, ...]
    rack: str | None
    shutting_down: bool


@event(kind=Kind.SNAPSHOT)
class ControllerPartitionSnapshot(NamedTuple):
    """One partition, as the controller has it; `replica_states` in the order of `replicas`. Leader
    -1: none; zk_version -1: no state yet.
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
    """The controller in numbers (Kafka: the KafkaController and ControllerEventManager metrics)."""

    active: bool
    queue_size: int
    queue_time_ms: int
    """The wait of the oldest event."""
    live_brokers: int
    topics: int
    partitions: int
    offline_partitions: int
    preferred_replica_imbalance: int
    requests_queued: int
    unclean_elections: int = 0
    """Of this term (Kafka: UncleanLeaderElectionsPerSec)."""
