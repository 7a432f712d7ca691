"""The states of a replica, as the controller sees them (Kafka: ReplicaStateMachine.scala).

(Book 000 §6.4.)

    NonExistent → New → Online ⇄ Offline
    Offline → DeletionStarted → DeletionSuccessful → NonExistent
                     └→ DeletionIneligible → Offline (the deletion is tried again)
                                           → Online (its broker came back; the topic stays)

- New: the replica was just assigned, and may only become a follower.
- Online: the replica works, as leader or follower.
- Offline: its broker has died or its disk has failed. The replica is removed from the ISR.
- DeletionStarted: its broker has been sent the request to delete the replica.
- DeletionSuccessful: its broker has deleted the replica.
- DeletionIneligible: its broker could not delete the replica, or is dead. The deletion of the whole
  topic waits for this replica.

Next: `ZkReplicaStateMachine.handle_state_changes` (zk_replica_state_machine.py).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ReplicaState(StrEnum):
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


#: New state → the old states from which a replica may enter it. Any other transition is refused.
VALID_PREVIOUS_STATES: Final[Mapping[ReplicaState, frozenset[ReplicaState]]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: frozenset(
        {
            ReplicaState.NEW,
            ReplicaState.ONLINE,
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_INELIGIBLE,
        }
    ),
    ReplicaState.OFFLINE: frozenset(
        {
            ReplicaState.NEW,
            ReplicaState.ONLINE,
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_INELIGIBLE,
        }
    ),
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset(
        {ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}
    ),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}


def may_become(before: ReplicaState, after: ReplicaState) -> bool:
    """Return whether VALID_PREVIOUS_STATES allows a replica to go from `before` to `after`."""
    return before in VALID_PREVIOUS_STATES[after]
