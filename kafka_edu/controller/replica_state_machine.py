"""The states of a replica, as the controller sees them (Kafka: ReplicaStateMachine.scala; book 000
§6.4).

    NonExistent → New → Online ⇄ Offline
    Offline → DeletionStarted → DeletionSuccessful → NonExistent
                     └→ DeletionIneligible → Offline (tried again) or Online (its broker came back and the topic lives)

New: just assigned; it may only be told to follow. Online: it takes part, as leader or follower.
Offline: its broker has died or its disk has failed; it is taken out of the ISR. DeletionStarted:
its broker has been told to delete it. DeletionSuccessful: it has. DeletionIneligible: it could not,
or its broker is dead: the deletion of the whole topic waits for it.

Next hop: zk_replica_state_machine, which takes replicas out of ISRs in ZooKeeper.
"""  # noqa: E501

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


#: state → the states it may be entered from. What is not here is refused.
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
    """Whether the table has this transition."""
    return before in VALID_PREVIOUS_STATES[after]
