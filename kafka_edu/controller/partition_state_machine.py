"""The states of a partition, as the controller sees them.

(Kafka: PartitionStateMachine.scala; book 000 §6.4.2.)

    NonExistent → New → Online ⇄ Offline → NonExistent

- NonExistent: the partition was never created, or it was deleted.
- New: it has an assignment, but no leader and no ISR yet.
- Online: a leader has been elected. Only an election leads to this state.
- Offline: the leader has died, and no replica has taken its place yet.

From New to Online, the first live replica of the assignment leads, and all live replicas are the
ISR. From Offline, or from Online when leadership is moved, an `ElectionStrategy` decides.

Next hop: zk_partition_state_machine, which writes the decisions to ZooKeeper.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class PartitionState(StrEnum):
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


#: State → the states from which it may be entered. Any other transition is refused.
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
    """Return whether the table has this transition."""
    return before in VALID_PREVIOUS_STATES[after]
