"""The four strategies for the election of a partition's leader, as pure functions.

(Kafka: PartitionLeaderElectionAlgorithms, Election.scala; book 000 §6.4.3.) AR are the assigned
replicas in their order; the first of AR is the preferred replica. ISR are the replicas in sync.
Live replicas are those whose broker is alive and whose disk works. All strategies follow the order
of AR, never the order of the ISR. The order of AR stays the same until the partition is reassigned;
the order of the ISR changes.

    AR [1, 2, 0]   ISR [2, 0, 1]   live {0, 2}
        → OfflinePartition elects 2: the first of AR that is alive and in sync
    AR [1, 2, 0]   ISR [1]         live {0, 2}
        → elects nobody. With unclean.leader.election.enable=true it elects 2, and the records
          that only 1 had are lost

Each strategy is O(replicas). `explain` describes the reason of a decision in words, for the trace
and for error messages.

Next: `ZkPartitionStateMachine._elect_leaders` (zk_partition_state_machine.py) writes the result.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr


class ElectionStrategy(StrEnum):
    OFFLINE_PARTITION = "OfflinePartition"
    """For a partition that was just created, or whose leader is gone."""
    REASSIGN_PARTITION = "ReassignPartition"
    """For a partition that moved to other brokers, if its leader is not one of them or is dead."""
    PREFERRED_REPLICA = "PreferredReplica"
    """To give leadership back to the preferred replica, the first of AR."""
    CONTROLLED_SHUTDOWN = "ControlledShutdown"
    """For a partition whose leader's broker is about to shut down."""


def offline_partition_leader_election(
    assignment: Sequence[int],
    isr: Collection[int],
    live_replicas: Collection[int],
    unclean_leader_election_enabled: bool,
) -> int | None:
    """Return the first replica of AR that is alive and in the ISR, or None.

    If no replica is alive and in the ISR, and unclean election is enabled, return the first live
    replica of AR.
    """
    clean = next(
        (replica for replica in assignment if replica in live_replicas and replica in isr), None
    )
    if clean is not None or not unclean_leader_election_enabled:
        return clean
    return next((replica for replica in assignment if replica in live_replicas), None)


def reassign_partition_leader_election(
    reassignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
) -> int | None:
    """Return the first replica of the *new* AR that is alive and in the ISR, or None."""
    return next(
        (replica for replica in reassignment if replica in live_replicas and replica in isr), None
    )


def preferred_replica_partition_leader_election(
    assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
) -> int | None:
    """Return the first replica of AR if it is alive and in the ISR.

    Otherwise return None, which means that the leader does not change.
    """
    return next(
        (replica for replica in assignment[:1] if replica in live_replicas and replica in isr), None
    )


def controlled_shutdown_partition_leader_election(
    assignment: Sequence[int],
    isr: Collection[int],
    live_replicas: Collection[int],
    shutting_down_brokers: Collection[int],
) -> int | None:
    """Return the first replica of AR that is alive, in the ISR, and not shutting down; or None.

    `live_replicas` must include the replicas whose brokers are shutting down.
    """
    return next(
        (
            replica
            for replica in assignment
            if replica in live_replicas and replica in isr and replica not in shutting_down_brokers
        ),
        None,
    )


def elect(
    strategy: ElectionStrategy,
    current: LeaderAndIsr,
    assignment: Sequence[int],
    live_replicas: Collection[int],
    shutting_down_brokers: Collection[int] = (),
    unclean_leader_election_enabled: bool = False,
) -> LeaderAndIsr | None:
    """Return the new leader, ISR and leader epoch; None if no replica may lead.

    The remaining replicas of the ISR keep their order. OfflinePartition removes the dead replicas
    from the ISR, and ControlledShutdown removes the replicas whose brokers are shutting down. After
    an unclean election the ISR is the leader alone. Records that only other replicas have are lost.
    """
    isr = current.isr
    match strategy:
        case ElectionStrategy.OFFLINE_PARTITION:
            leader = offline_partition_leader_election(
                assignment, isr, live_replicas, unclean_leader_election_enabled
            )
            if leader in isr:
                isr = tuple(replica for replica in isr if replica in live_replicas)
            elif leader is not None:
                isr = (leader,)
        case ElectionStrategy.REASSIGN_PARTITION:
            leader = reassign_partition_leader_election(assignment, isr, live_replicas)
        case ElectionStrategy.PREFERRED_REPLICA:
            leader = preferred_replica_partition_leader_election(assignment, isr, live_replicas)
        case ElectionStrategy.CONTROLLED_SHUTDOWN:
            leader = controlled_shutdown_partition_leader_election(
                assignment, isr, live_replicas, shutting_down_brokers
            )
            isr = tuple(replica for replica in isr if replica not in shutting_down_brokers)
    return None if leader is None else current.with_leader(leader, isr)


class Explanation(NamedTuple):
    """The reason for the result of an election, in words for the trace."""

    why: str
    passed_over: tuple[tuple[int, str], ...]
    """For each other replica, in the order of AR: its broker id, and why it does not lead."""


def explain(
    strategy: ElectionStrategy,
    isr: Collection[int],
    assignment: Sequence[int],
    live_replicas: Collection[int],
    shutting_down_brokers: Collection[int],
    unclean_leader_election_enabled: bool,
    leader: int | None,
) -> Explanation:
    """Explain in words what `elect` has decided for the same arguments. O(replicas).

        AR [1, 2, 0]   ISR [2, 0, 1]   live {0, 2}
        why            2 is the first of AR [1, 2, 0] that is alive and in the ISR [2, 0, 1]
        passed over    1: it is not alive
                       0: it could lead too, but comes after 2 in AR;
                          the order of the ISR does not count

    `leader` None means that no replica may lead.
    """
    passed_over = tuple(
        (r, _objection(strategy, r, isr, assignment, live_replicas, shutting_down_brokers, leader))
        for r in assignment
        if r != leader
    )
    if strategy is ElectionStrategy.PREFERRED_REPLICA and leader is None and passed_over:
        (preferred, objection), *_ = passed_over
        return Explanation(
            f"{preferred} is the preferred replica, the first of AR {list(assignment)}, but"
            f" {objection}: the leader stays",
            passed_over,
        )
    return Explanation(
        _why(strategy, isr, assignment, unclean_leader_election_enabled, leader), passed_over
    )


def first_leader(assignment: Sequence[int], live_replicas: Sequence[int]) -> Explanation:
    """Explain the choice of the first leader of a new partition, or why it has none.

    `live_replicas` are in the order of AR, and the first of them leads. A new partition has no ISR
    yet, so the ISR plays no part.
    """
    leader = live_replicas[0] if live_replicas else None
    words = {True: f"it could lead too, but comes after {leader} in AR", False: "it is not alive"}
    passed_over = tuple(
        (replica, words[replica in live_replicas]) for replica in assignment if replica != leader
    )
    who = f"{leader} is the first" if live_replicas else "no replica"
    return Explanation(
        f"the partition is new, and {who} of AR {list(assignment)}"
        f" {'that ' if live_replicas else ''}is alive",
        passed_over,
    )


def _objection(
    strategy: ElectionStrategy,
    replica: int,
    isr: Collection[int],
    assignment: Sequence[int],
    live_replicas: Collection[int],
    going: Collection[int],
    leader: int | None,
) -> str:
    """Return the reason in words why `replica`, which is in AR, does not lead."""
    unclean = leader is not None and leader not in isr
    alive = replica in live_replicas
    if replica in going and (
        not alive or strategy is ElectionStrategy.CONTROLLED_SHUTDOWN
    ):  # only this strategy counts such a replica as alive
        return "its broker is shutting down"
    if not alive:
        return (
            "it is in the ISR, but not alive" if unclean and replica in isr else "it is not alive"
        )
    if replica not in isr and not unclean:
        return "it is not in the ISR: it may lack records that were acknowledged"
    if strategy is ElectionStrategy.PREFERRED_REPLICA and replica != assignment[0]:
        return "it is not the first of AR"
    return f"it could lead too, but comes after {leader} in AR; the order of the ISR does not count"


def _why(
    strategy: ElectionStrategy,
    isr: Collection[int],
    assignment: Sequence[int],
    unclean_allowed: bool,
    leader: int | None,
) -> str:
    ar, in_sync = list(assignment), list(isr)
    new = "the new " if strategy is ElectionStrategy.REASSIGN_PARTITION else ""
    conditions = f"alive and in the ISR {in_sync}"
    if strategy is ElectionStrategy.CONTROLLED_SHUTDOWN:
        conditions = f"alive, in the ISR {in_sync} and not shutting down"
    match strategy, leader:
        case ElectionStrategy.PREFERRED_REPLICA, int():
            return f"{leader} is the preferred replica, the first of AR {ar}, and {conditions}"
        case ElectionStrategy.OFFLINE_PARTITION, None if unclean_allowed:
            return f"no replica of AR {ar} is alive"
        case ElectionStrategy.OFFLINE_PARTITION, None:
            return (
                f"no replica of AR {ar} is {conditions}, and an unclean election is not allowed:"
                " the"
                " partition waits for its ISR"
            )
        case _, None:
            return f"no replica of {new}AR {ar} is {conditions}"
        case _, int() if leader not in isr:
            return (
                f"no replica of AR {ar} is {conditions}; an unclean election is allowed, and"
                f" {leader}"
                " is the first of AR that is alive: records that it lacks are lost"
            )
    return f"{leader} is the first of {new}AR {ar} that is {conditions}"
