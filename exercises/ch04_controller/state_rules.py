"""Compute the right answers of exercise 04-1 with the controller's own tables."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.controller import partition_state_machine, replica_state_machine

GONE: Final = "NonExistent"
TABLES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "partition": {
        after.value.replace("Partition", ""): frozenset(
            before.value.replace("Partition", "") for before in befores
        )
        for after, befores in partition_state_machine.VALID_PREVIOUS_STATES.items()
    },
    "replica": {
        after.value.replace("Replica", ""): frozenset(
            before.value.replace("Replica", "") for before in befores
        )
        for after, befores in replica_state_machine.VALID_PREVIOUS_STATES.items()
    },
}
Named = tuple[tuple[str, str], ...]


class RightMachine:
    """The reference for the learner's StateMachine. It gives the right answers."""

    def __init__(self, machine: str) -> None:
        self.table = TABLES[machine]
        self.known: dict[str, str] = {}

    def handle(self, names: Sequence[str], wanted: str) -> tuple[Named, Named]:
        changed: list[tuple[str, str]] = []
        refused: list[tuple[str, str]] = []
        for name in names:
            before = self.known.pop(name, GONE)
            right = before in self.table.get(wanted, ())
            (changed if right else refused).append((name, before))
            now = wanted if right else before
            if now != GONE:
                self.known[name] = now
        return tuple(changed), tuple(refused)

    def states(self) -> Named:
        return tuple(sorted(self.known.items()))
