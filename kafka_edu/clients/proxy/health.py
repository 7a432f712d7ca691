"""Decide whether a target is up or down, from its answers and failures. No I/O.

    Unknown → Up ⇄ Down
    Unknown → Down

The first result sets the state at once. After that, a target is Down when it has failed
`down_after` times in a row, and Up again when it has answered `up_after` times in a row. So one
lost connection does not move all clients of the target.
"""

from enum import StrEnum
from typing import Final

DOWN_AFTER: Final = 2
UP_AFTER: Final = 1


class TargetState(StrEnum):
    """Whether the target is up, down, or not known yet."""

    UNKNOWN = "Unknown"
    UP = "Up"
    DOWN = "Down"
    RECORDED = "Recorded"


class Health:
    """The health of one target: its state, and the results that could change it."""

    def __init__(self, down_after: int = DOWN_AFTER, up_after: int = UP_AFTER) -> None:
        """`down_after` failures in a row make the target Down.

        `up_after` answers in a row make it Up. Both numbers are at least 1.
        """
        self._down_after = down_after
        self._up_after = up_after
        self._state = TargetState.UNKNOWN
        self._against = 0
        """Number of results in a row that contradict the current state."""

    def saw(self, answered: bool) -> TargetState:
        """Record whether the target has answered this time. Return its new state. O(1)."""
        wanted = TargetState.UP if answered else TargetState.DOWN
        if wanted is self._state:
            self._against = 0
            return self._state
        self._against += 1
        needed = self._up_after if answered else self._down_after
        if self._state is TargetState.UNKNOWN or self._against >= needed:
            self._state, self._against = wanted, 0
        return self._state
