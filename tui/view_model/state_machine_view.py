"""The controller's two state machines: how many objects are in each state, and the transitions.

The tables come from the controller's code, in a snapshot. A transition that a table does not
contain is drawn as well: a new controller sets states directly from the data in ZooKeeper.
"""

from collections import Counter
from typing import Final, NamedTuple

from kafka_edu.trace.events.controller import StateMachineSnapshot

from .glow import Glow

PARTITION: Final = "partition"
REPLICA: Final = "replica"


class Edge(NamedTuple):
    """A transition out of one state, and how often it was seen."""

    after: str
    times: int
    glows: bool
    in_table: bool


class StateMachineView:
    """One machine. `counts` has the number of objects in each state for the current controller."""

    def __init__(self, name: str, glow: Glow) -> None:
        self.name = name
        self.states: tuple[str, ...] = ()
        self.counts: Counter[str] = Counter()
        self._glow = glow
        self._table: dict[str, tuple[str, ...]] = {}
        self._times: Counter[tuple[str, str]] = Counter()

    @property
    def known(self) -> bool:
        """Whether the table of the machine is known. Old recordings do not contain it."""
        return bool(self._table)

    def learn(self, table: StateMachineSnapshot) -> None:
        """Store the table of states and transitions from a snapshot."""
        self.states = table.states
        self._table = {
            state: tuple(after for before, after in table.transitions if before == state)
            for state in table.states
        }

    def begin(self) -> None:
        """Reset the counts, because another controller counts from now on."""
        self.counts.clear()

    def hold(self, state: str) -> None:
        """Count one more object in a state, as a snapshot reports it."""
        self._know(state)
        self.counts[state] += 1

    def move(self, before: str, after: str, times: int = 1) -> None:
        """Count `times` transitions from `before` to `after`. O(1)."""
        self._know(before)
        self._know(after)
        if before != after:
            self.counts[before] = max(self.counts[before] - times, 0)
            self.counts[after] += times
        self._times[before, after] += times
        self._glow.touch(self.name, before, after)
        self._glow.touch(self.name, after)

    def edges(self, before: str) -> list[Edge]:
        """Return the transitions from a state: first those in the table, then others that were
        seen.
        """
        table = self._table.get(before, ())
        seen = [after for was, after in self._times if was == before and after not in table]
        return [
            Edge(
                after,
                self._times[before, after],
                self._glow.glows(self.name, before, after),
                after in table or not self.known,
            )
            for after in (*table, *seen)
        ]

    def glows(self, state: str) -> bool:
        return self._glow.glows(self.name, state)

    def short(self, state: str) -> str:
        """Return a state without the machine's name: `OnlinePartition` becomes `Online`."""
        return state.replace(self.name.capitalize(), "") or state

    @property
    def nowhere(self) -> str:
        """The state of objects that do not exist. Objects in this state are not counted."""
        return f"NonExistent{self.name.capitalize()}"

    def _know(self, state: str) -> None:
        if state not in self.states:
            self.states = (*self.states, state)
