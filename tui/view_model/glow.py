"""Recent changes: a changed value is highlighted for one second, so that the eye finds it."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

GLOW_US: Final = 1_000_000
KEPT: Final = 4096
"""The maximum number of changes that are remembered. The oldest ones are forgotten first."""


class Glow:
    """Remembers when each value on the screen changed.

    A value is named by a tuple, such as ("leader", "web", 0). `now_us` is the clock of the events.
    """

    def __init__(self) -> None:
        self.now_us = 0
        self._changed_us: OrderedDict[tuple[Hashable, ...], int] = OrderedDict()
        """Name of the value → the time of its last change in µs, the oldest first."""

    def advance(self, now_us: int) -> None:
        """Move time forward, never back."""
        self.now_us = max(self.now_us, now_us)

    def touch(self, *thing: Hashable) -> None:
        """Record that this value has changed now. O(1)."""
        self._changed_us[thing] = self.now_us
        self._changed_us.move_to_end(thing)
        if len(self._changed_us) > KEPT:
            self._changed_us.popitem(last=False)

    def glows(self, *thing: Hashable) -> bool:
        """Return whether this value has changed within the last second."""
        at = self._changed_us.get(thing)
        return at is not None and self.now_us - at <= GLOW_US

    def any_glows(self) -> bool:
        """Return whether a highlight is still shown, or must still be removed by another frame."""
        newest = next(reversed(self._changed_us.values()), None)
        return newest is not None and self.now_us - newest <= GLOW_US + 500_000
