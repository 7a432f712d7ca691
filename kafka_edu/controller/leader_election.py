"""Who shall lead: four strategies, pure functions of sets (Kafka: PartitionLeaderElectionAlgorithms, Election.scala; book 000 §6.4.3).

AR are the assigned replicas, in their order, the preferred one first; ISR those in sync; live those whose broker is alive (and whose disk is).
All strategies go by the order of AR, never by that of the ISR: AR keeps its order until the partition is reassigned, the ISR does not.

    AR [1, 2, 0]   ISR [2, 0, 1]   live {0, 2}      → OfflinePartition elects 2: the first of AR that lives and is in sync
    AR [1, 2, 0]   ISR [1]         live {0, 2}      → nobody; or 2, with unclean.leader.election.enable, and what 1 alone had is lost

Each is O(replicas).
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr


class ElectionStrategy(StrEnum):
    OFFLINE_PARTITION = "OfflinePartition"
    """A partition is created, or has lost its leader."""
    REASSIGN_PARTITION = "ReassignPartition"
    """Its replicas are moved, and the leader is not among the new ones."""
    PREFERRED_REPLICA = "PreferredReplica"
    """Give leadership back to the first of AR."""
    CONTROLLED_SHUTDOWN = "ControlledShutdown"
    """The leader's broker is about to go."""


def offline_partition_leader_election(
    assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int], unclean_leader_election_enabled: bool
) -> int | None:
    """The first of AR that is alive and in the ISR; with unclean election, if there is none, the first that is alive."""
    clean = next((replica for replica in assignment if replica in live_replicas and replica in isr), None)
    if clean is not None or not unclean_leader_election_enabled:
        return clean
    return next((replica for replica in assignment if replica in live_replicas), None)


def reassign_partition_leader_election(reassignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]) -> int | None:
    """The first of the *new* AR that is alive and in the ISR."""
    return next((replica for replica in reassignment if replica in live_replicas and replica in isr), None)


def preferred_replica_partition_leader_election(assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]) -> int | None:
    """The first of AR, if it is alive and in the ISR; else nobody: the leader stays."""
    return next((replica for replica in assignment[:1] if replica in live_replicas and replica in isr), None)


def controlled_shutdown_partition_leader_election(
    assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int], shutting_down_brokers: Collection[int]
) -> int | None:
    """The first of AR that is alive, in the ISR, and not itself about to go. `live_replicas` counts those about to go as alive."""
    return next((replica for replica in assignment if replica in live_replicas and replica in isr and replica not in shutting_down_brokers), None)


def elect(
    strategy: ElectionStrategy,
    current: LeaderAndIsr,
    assignment: Sequence[int],
    live_replicas: Collection[int],
    shutting_down_brokers: Collection[int] = (),
    unclean_leader_election_enabled: bool = False,
) -> LeaderAndIsr | None:
    """The new leader with its new ISR and the next leader epoch, or None if nobody may lead.

    The ISR keeps its order and loses whoever is dead (offline) or about to go (shutdown). An unclean leader is alone in its ISR: whatever the
    others have beyond its log is not committed any more.
    """
    isr = current.isr
    match strategy:
        case ElectionStrategy.OFFLINE_PARTITION:
            leader = offline_partition_leader_election(assignment, isr, live_replicas, unclean_leader_election_enabled)
            if leader in isr:
                isr = tuple(replica for replica in isr if replica in live_replicas)
            elif leader is not None:
                isr = (leader,)
        case ElectionStrategy.REASSIGN_PARTITION:
            leader = reassign_partition_leader_election(assignment, isr, live_replicas)
        case ElectionStrategy.PREFERRED_REPLICA:
            leader = preferred_replica_partition_leader_election(assignment, isr, live_replicas)
        case ElectionStrategy.CONTROLLED_SHUTDOWN:
            leader = controlled_shutdown_partition_leader_election(assignment, isr, live_replicas, shutting_down_brokers)
            isr = tuple(replica for replica in isr if replica not in shutting_down_brokers)
    return None if leader is None else current.with_leader(leader, isr)
