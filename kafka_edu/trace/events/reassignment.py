"""Events of the controller while it moves replicas to other brokers, in the order of the phases
(docs/reassignment.md; spec C5). The *target* is the list of the brokers that have a replica when
the move is complete.

Between these events, the state machines emit their own events: ReplicaStateChanged, LeaderElected
(strategy ReassignPartition) and ReplicaRemovedFromIsr.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event(joins=("topic", "partition"))
class ReassignmentRefused(NamedTuple):
    """The controller refused a request to move a partition."""

    topic: str
    partition: int
    target: tuple[int, ...]
    """The requested replicas. Empty if the request was to cancel a reassignment."""
    error_code: int
    reason: str


@event(joins=("topic", "partition"))
class ReassignmentStarted(NamedTuple):
    """Phase U: the controller wrote the new assignment into the topic's znode.

    `ordered_by` says where the request came from: `api`, `znode` or `cancellation`, or `controller`
    if the controller continues an earlier reassignment. `before` lists the replicas that the
    partition had before. `replicas` lists the target's replicas first, and then the replicas that
    will be removed. `adding` and `removing` list the replicas that the reassignment adds and
    removes.
    """

    topic: str
    partition: int
    ordered_by: str
    """Where the request came from: `api`, `znode` or `cancellation`. It is `controller` if the
    controller continues an earlier reassignment, for example after its election.
    """
    before: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@event(joins=("topic", "partition", "leader_epoch", "zk_path", "zk_version"))
class LeaderEpochIncremented(NamedTuple):
    """Phases A1 and B3: the leader stays the same but gets a new epoch, so that all replicas learn
    the new assignment.
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
    """Phase A: some replicas of the target are not in the ISR yet. The controller waits for
    them.
    """

    topic: str
    partition: int
    isr: tuple[int, ...]
    target: tuple[int, ...]
    missing: tuple[int, ...]


@event(joins=("topic", "partition"))
class ReassignmentCaughtUp(NamedTuple):
    """Phase B begins: all replicas of the target are in the ISR. From now on the target is the
    partition's assignment.
    """

    topic: str
    partition: int
    isr: tuple[int, ...]
    target: tuple[int, ...]
    removing: tuple[int, ...]


@event(joins=("topic", "partition"))
class ReassignmentReplicasStopped(NamedTuple):
    """Phases U and B5: these replicas are no longer in the ISR, and their brokers must delete
    them.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    reason: str


@event(joins=("topic", "partition"))
class ReassignmentCompleted(NamedTuple):
    """Phases B6 to B8: the topic's znode has only the new assignment, and every broker is
    informed.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int


@event()
class ReassignmentOrderShrunk(NamedTuple):
    """The controller removed finished entries from /admin/reassign_partitions. `left` is the number
    of entries that are still there. If it is 0, the znode is deleted.
    """

    left: int


@event(kind=Kind.SNAPSHOT)
class ReassignmentSnapshot(NamedTuple):
    """One partition that is being reassigned, sent to a new subscriber. `replicas`, `adding` and
    `removing` have the same meaning as in ReassignmentStarted.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
