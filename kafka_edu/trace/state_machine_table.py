"""The table of a state machine as an event, for pictures of the machine."""

from collections.abc import Mapping, Set
from enum import StrEnum
from typing import TypeVar

from kafka_edu.trace.events.controller import StateMachineSnapshot

S = TypeVar("S", bound=StrEnum)


def state_machine_table(machine: str, previous: Mapping[S, Set[S]]) -> StateMachineSnapshot:
    """Return the table of a machine; `previous` says from which states each may be entered."""
    return StateMachineSnapshot(
        machine=machine,
        states=tuple(state.value for state in previous),
        transitions=tuple(
            (before.value, state.value)
            for state, sources in previous.items()
            for before in previous
            if before in sources
        ),
    )
