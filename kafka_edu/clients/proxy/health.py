"""Whether a target is up, from how it has answered: with hysteresis, so that one lost connection
does not move all its clients. A pure rule.

    Unknown → Up ⇄ Down
    Unknown → Down

The first look decides at once, because nothing is known. After that a target is Down when it has
failed `down_after` times in a row, and Up again when it has answered `up_after` times in a row.
"""

from enum import StrEnum
from typing import Final

DOWN_AFTER: Final = 2
UP_AFTER: Final = 1


class TargetState(StrEnum):
    """The state of a target."""

    UNKNOWN = "Unknown"
    UP = "Up"
    DOWN = "Down"
    RECORDED = "Recorded"


class Health:
    """The health of one target."""

    def __init__(self, down_after: int = DOWN_AFTER, up_after: int = UP_AFTER) -> None:
        """Both count looks in a row, and are at least 1."""
        self._down_after = down_after
        self._up_after = up_after
        self._state = TargetState.UNKNOWN
        self._against = 0
        """Looks in a row that speak against the present state."""

    def saw(self, answered: bool) -> TargetState:
        """Note whether the target has answered now. Return the state from now on. O(1)."""
        wanted = TargetState.UP if answered else TargetState.DOWN
        if wanted is self._state:
            self._against = 0
            return self._state
        self._against += 1
        needed = self._up_after if answered else self._down_after
        if self._state is TargetState.UNKNOWN or self._against >= needed:
            self._state, self._against = wanted, 0
        return self._state
