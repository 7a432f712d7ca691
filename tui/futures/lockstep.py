"""Keeps two simulated runs at the same moment.

The present run is sampled at some moments, its points. The stored run is sent to the same points,
in their order, and is sampled there too. No event after a point is shown before the other run has
come to this point. So a value that differs on the screen differs in the runs, and is not only
older.
"""

from collections.abc import Iterable

from kafka_edu.trace.events.simulation import SimulationSampled


class Lockstep:
    """Numbers the points of the present run, and knows how far both runs have come."""

    def __init__(
        self, passed: Iterable[SimulationSampled], waiting: Iterable[SimulationSampled]
    ) -> None:
        """`passed` are the points of the past that can be shown. `waiting` are points that have
        arrived and are not shown yet.
        """
        self.unsent: list[str] = []
        """The points to which the stored run has not been sent yet."""
        self._numbers: dict[str, int] = {}
        self._next = 0
        self._present = self._stored = -1
        """The numbers of the last points that both runs have reached."""
        self._turns = -1
        self._over = False
        self._stale = -1
        """Samples of the stored run with this number of turns are void: it has still to go back."""
        self._stored_at: tuple[int, SimulationSampled | None] = (0, None)
        for sampled in passed:
            self.arrived_in_present(sampled)
        self._present = self._next - 1
        for sampled in waiting:
            self.arrived_in_present(sampled)

    @property
    def together(self) -> bool:
        """Whether the stored run has come to the point that the present one shows."""
        return self._over or self._stored >= self._present

    def arrived_in_present(self, sampled: SimulationSampled) -> None:
        """Note a point of the present run. If the run has gone back in time (it has a new number of
        turns), all points before are void.
        """
        if sampled.state == "replaying":
            return
        if sampled.turns != self._turns:
            self._turns = sampled.turns
            self._numbers.clear()
            self._next = 0
            self.unsent.clear()
            self._present = self._stored = -1
            turns, last = self._stored_at
            behind = last is None or _place(last) <= _place(sampled)
            self._stale, self._over = -1 if behind else turns, self._over and behind
        if sampled.point not in self._numbers:
            self._numbers[sampled.point] = self._next
            self._next += 1
            self.unsent.append(sampled.point)

    def arrived_in_stored(self, sampled: SimulationSampled) -> None:
        """Note how far the stored run has come."""
        if sampled.state == "replaying" or sampled.turns == self._stale:
            return
        self._stored_at = sampled.turns, sampled
        self._over = sampled.state == "ended"
        self._stored = max(self._stored, self._numbers.get(sampled.point, -1))

    def fail(self) -> None:
        """Let the present run go on alone: the stored one will not come."""
        self._over = True

    def may_pass_present(self, sampled: SimulationSampled) -> bool:
        """Return whether events of the present run after this point may be shown."""
        number = self._numbers.get(sampled.point, -1)
        if number > self._stored and not self._over:
            return False
        self._present = max(self._present, number)
        self._forget()
        return True

    def may_pass_stored(self, sampled: SimulationSampled) -> bool:
        """Return whether events of the stored run after this point may be shown."""
        return self._numbers.get(sampled.point, -1) <= self._present

    def _forget(self) -> None:
        """Forget the points that both runs have left."""
        least = min(self._present, self._stored)
        for point, number in list(self._numbers.items()):
            if number >= least:
                break
            del self._numbers[point]


def _place(sampled: SimulationSampled) -> tuple[int, int, int]:
    return sampled.at_us, sampled.instant_ns, sampled.turns_there
