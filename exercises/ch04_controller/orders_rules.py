"""Compute the right answers of exercise 04-5. `tests/unit/exercises/test_zombie_orders.py` compares
them with the answers of a real broker.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey

NONE: Final = Errors.NONE.name
STALE: Final = Errors.STALE_CONTROLLER_EPOCH.name
ANSWERS: Final = {NONE: "obeyed", STALE: "refused"}
METHODS: Final[Mapping[ApiKey, str]] = {
    ApiKey.LEADER_AND_ISR: "leader_and_isr",
    ApiKey.UPDATE_METADATA: "update_metadata",
    ApiKey.STOP_REPLICA: "stop_replica",
}
NAMES: Final[Mapping[ApiKey, str]] = {
    ApiKey.LEADER_AND_ISR: "LeaderAndIsr",
    ApiKey.UPDATE_METADATA: "UpdateMetadata",
    ApiKey.STOP_REPLICA: "StopReplica",
}


class State(NamedTuple):
    """The part of a request that concerns one partition. StopReplica uses only the name of the
    partition, and UpdateMetadata does not use the leader epoch.
    """

    partition: str
    leader: int
    leader_epoch: int


class Order(NamedTuple):
    """One request of a controller."""

    api: ApiKey
    controller: int
    controller_epoch: int
    states: tuple[State, ...]

    @property
    def arguments(self) -> tuple[int, int, list[object]]:
        """The arguments for the learner's method that handles this request."""
        match self.api:
            case ApiKey.LEADER_AND_ISR:
                about: list[object] = [tuple(state) for state in self.states]
            case ApiKey.UPDATE_METADATA:
                about = [(state.partition, state.leader) for state in self.states]
            case _:
                about = [state.partition for state in self.states]
        return self.controller, self.controller_epoch, about

    @property
    def request(self) -> str:
        """The request as one readable line, without the controller that sent it."""
        match self.api:
            case ApiKey.LEADER_AND_ISR:
                about = [
                    f"{name} (leader {leader}, leader epoch {epoch})"
                    for name, leader, epoch in self.states
                ]
            case ApiKey.UPDATE_METADATA:
                about = [f"{name} (leader {leader})" for name, leader, _ in self.states]
            case _:
                about = [state.partition for state in self.states]
        return f"{NAMES[self.api]} {', '.join(about)}".rstrip()

    @property
    def text(self) -> str:
        """The request as one readable line, with the controller that sent it."""
        return f"controller {self.controller}, epoch {self.controller_epoch}: {self.request}"


PartitionErrors = tuple[tuple[str, str], ...]
Answer = str | tuple[str, PartitionErrors]


class RightOrders:
    """The reference for the learner's ControllerOrders. It gives the right answers."""

    def __init__(self) -> None:
        self.controller_epoch = 0
        self.replicas: dict[str, tuple[int, int]] = {}
        self.leaders: dict[str, int] = {}

    def do(self, order: Order) -> Answer:
        """Obey or refuse a request, and return the right answer to it."""
        if order.controller_epoch < self.controller_epoch:
            return STALE if order.api is ApiKey.UPDATE_METADATA else (STALE, ())
        self.controller_epoch = order.controller_epoch
        if order.api is ApiKey.UPDATE_METADATA:
            self.leaders.update((state.partition, state.leader) for state in order.states)
            return NONE
        if order.api is ApiKey.STOP_REPLICA:
            for state in order.states:
                self.replicas.pop(state.partition, None)
            return NONE, tuple((state.partition, NONE) for state in order.states)
        return NONE, tuple((state.partition, self._lead(state)) for state in order.states)

    def _lead(self, state: State) -> str:
        _, known = self.replicas.get(state.partition, (-1, -1))
        if state.leader_epoch <= known:
            return STALE
        self.replicas[state.partition] = (state.leader, state.leader_epoch)
        return NONE

    def state(self) -> tuple[Sequence[State], Sequence[tuple[str, int]]]:
        """Return the replicas, and the leaders that clients see. Both are sorted by partition."""
        replicas = tuple(sorted((name, *state) for name, state in self.replicas.items()))
        return replicas, tuple(sorted(self.leaders.items()))  # type: ignore[return-value]  # plain tuples, as a learner's answer has them
