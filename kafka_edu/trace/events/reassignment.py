"""Events of the controller while replicas move from broker to broker, in the order of the phases
(spec C5).

Between them come the state machines' own: ReplicaStateChanged, LeaderElected (strategy
ReassignPartition), ReplicaRemovedFromIsr.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event(joins=("topic", "partition"))
class ReassignmentRefused(NamedTuple):
    """A wish to move a partition was not taken up."""

    topic: str
    partition: int
    target: tuple[int, ...]
    """Empty: the wish was to cancel."""
    error_code: int
    reason: str


@event(joins=("topic", "partition"))
class ReassignmentStarted(NamedTuple):
    """Phase U: the new assignment stands in the topic's znode. `replicas` are those of the target,
    then those that are to go.
    """

    topic: str
    partition: int
    ordered_by: str
    """`api`, `znode` or `cancellation`; `controller` where a running one is taken up again, say
    after an election.
    """
    before: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@event(joins=("topic", "partition", "leader_epoch", "zk_path", "zk_version"))
class LeaderEpochIncremented(NamedTuple):
    """Phases A1 and B3: the leader stays, in a new epoch, so that all replicas take over the new
    assignment.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    zk_path: str
    zk_version: int


@event(joins=("topic", "partition"))
class ReassignmentWaits(NamedTuple):
    """Phase A: some of the target have yet to join the ISR."""

    topic: str
    partition: int
    isr: tuple[int, ...]
    target: tuple[int, ...]
    missing: tuple[int, ...]


@event(joins=("topic", "partition"))
class ReassignmentCaughtUp(NamedTuple):
    """Phase B begins: all of the target are in the ISR; from now on it is the assignment."""

    topic: str
    partition: int
    isr: tuple[int, ...]
    target: tuple[int, ...]
    removing: tuple[int, ...]


@event(joins=("topic", "partition"))
class ReassignmentReplicasStopped(NamedTuple):
    """Phases U and B5: these replicas are out of the ISR, and their brokers must delete
    them.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    reason: str


@event(joins=("topic", "partition"))
class ReassignmentCompleted(NamedTuple):
    """Phases B6 to B8: the topic's znode has the new assignment alone, and every broker hears of
    it.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int


@event()
class ReassignmentOrderShrunk(NamedTuple):
    """Entries were taken out of /admin/reassign_partitions; with the last one it goes."""

    left: int


@event(kind=Kind.SNAPSHOT)
class ReassignmentSnapshot(NamedTuple):
    """One partition that is being reassigned."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
