"""The states of a partition, as the controller sees them.

(Kafka: PartitionStateMachine.scala; book 000 §6.4.2.)

    NonExistent → New → Online ⇄ Offline → NonExistent

- NonExistent: the partition was never created, or it was deleted.
- New: it has an assignment, but no leader and no ISR yet.
- Online: a leader has been elected. Only an election leads to this state.
- Offline: the leader has died, and no replica has taken its place yet.

When a New partition becomes Online, the first live replica of the assignment leads, and all live
replicas are the ISR. When an Offline partition becomes Online, or when leadership moves, an
`ElectionStrategy` decides who leads.

Next: `ZkPartitionStateMachine.handle_state_changes` (zk_partition_state_machine.py).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class PartitionState(StrEnum):
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


#: New state → the old states from which a partition may enter it. Any other transition is refused.
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
    """Return whether VALID_PREVIOUS_STATES allows a partition to go from `before` to `after`."""
    return before in VALID_PREVIOUS_STATES[after]
