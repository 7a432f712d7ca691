"""The speed at which virtual time passes for the viewers."""

from typing import Final

SPEEDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 0.0)
"""Virtual seconds in a real second. 0: as fast as the machine can."""
MOST_BEHIND_S: Final = 0.25
"""A run that is later than this, because the machine is slow, does not hurry afterwards."""


class Pace:
    """Maps virtual time to real time. A Pace has no clock: the caller passes the real time."""

    def __init__(self) -> None:
        self._speed = SPEEDS.index(1.0)
        self._real_s = 0.0
        self._virtual_ns = 0

    @property
    def speed(self) -> float:
        return SPEEDS[self._speed]

    @property
    def words(self) -> str:
        return f"×{self.speed:g}" if self.speed else "as fast as the machine can"

    def change(self, by: int) -> None:
        """Change to the next higher speed (`by` = 1) or lower speed (-1). The caller then calls
        `anchor`.
        """
        self._speed = min(max(self._speed + by, 0), len(SPEEDS) - 1)

    def anchor(self, real_s: float, virtual_ns: int) -> None:
        """Let this virtual time be now."""
        self._real_s, self._virtual_ns = real_s, virtual_ns

    def wait_s(self, now_s: float, virtual_ns: int) -> float:
        """Return how many real seconds remain until a virtual time; 0 if it has come."""
        if not self.speed:
            return 0.0
        due_s = self._real_s + (virtual_ns - self._virtual_ns) / 1e9 / self.speed
        if now_s - due_s > MOST_BEHIND_S:
            self.anchor(now_s, virtual_ns)
        return max(due_s - now_s, 0.0)
