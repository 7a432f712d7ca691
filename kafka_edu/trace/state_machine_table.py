"""Make an event with the table of a state machine, from which a picture of the machine can be
drawn.
"""

from collections.abc import Mapping, Set
from enum import StrEnum
from typing import TypeVar

from kafka_edu.trace.events.controller import StateMachineSnapshot

S = TypeVar("S", bound=StrEnum)


def state_machine_table(machine: str, previous: Mapping[S, Set[S]]) -> StateMachineSnapshot:
    """Return the table of a machine as an event. `previous` lists, for each state, the states from
    which it may be entered.
    """
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
