"""The states of a broker's life (Kafka: BrokerStates.scala)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class BrokerState(StrEnum):
    NOT_RUNNING = "NotRunning"
    STARTING = "Starting"
    RECOVERING = "RecoveringFromUncleanShutdown"
    RUNNING = "RunningAsBroker"
    PENDING_CONTROLLED_SHUTDOWN = "PendingControlledShutdown"
    SHUTTING_DOWN = "BrokerShuttingDown"


#: Each state → the states that may follow it. If the start fails, the next state is shutting down.
VALID_NEXT_STATES: Final[Mapping[BrokerState, frozenset[BrokerState]]] = {
    BrokerState.NOT_RUNNING: frozenset({BrokerState.STARTING}),
    BrokerState.STARTING: frozenset(
        {BrokerState.RECOVERING, BrokerState.RUNNING, BrokerState.SHUTTING_DOWN}
    ),
    BrokerState.RECOVERING: frozenset({BrokerState.RUNNING, BrokerState.SHUTTING_DOWN}),
    BrokerState.RUNNING: frozenset(
        {BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN}
    ),
    BrokerState.PENDING_CONTROLLED_SHUTDOWN: frozenset({BrokerState.SHUTTING_DOWN}),
    BrokerState.SHUTTING_DOWN: frozenset({BrokerState.NOT_RUNNING}),
}
