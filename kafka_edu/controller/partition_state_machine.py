"""The states of a partition, as the controller sees them (Kafka: PartitionStateMachine.scala; book
000 §6.4.2).

    NonExistent → New → Online ⇄ Offline → NonExistent

NonExistent: never created, or deleted. New: it has an assignment, but no leader yet and no ISR.
Online: a leader has been elected; only the election may bring it here. Offline: the leader has
died, and nobody has been found yet to take its place. From New to Online the first live replica of
the assignment leads, and all live ones are the ISR; from Offline (or Online, when leadership is
moved) an `ElectionStrategy` decides.

Next hop: zk_partition_state_machine, which writes to ZooKeeper what is decided.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class PartitionState(StrEnum):
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


#: state → the states it may be entered from. What is not here is refused.
VALID_PREVIOUS_STATES: Final[Mapping[PartitionState, frozenset[PartitionState]]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset(
        {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}
    ),
    PartitionState.OFFLINE: frozenset(
        {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}
    ),
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}


def may_become(before: PartitionState, after: PartitionState) -> bool:
    """Whether the table has this transition."""
    return before in VALID_PREVIOUS_STATES[after]
