"""Recent changes: what changed glows for one second, so that the eye finds it."""

from collections.abc import Hashable
from typing import Final

GLOW_US: Final = 1_000_000
_FORGET_ABOVE: Final = 4096


class Glow:
    """Remembers when things changed.

    A thing is named by a tuple, such as ("leader", "web", 0). `now_us` is the clock of the events.
    """

    def __init__(self) -> None:
        self.now_us = 0
        self._changed_us: dict[tuple[Hashable, ...], int] = {}

    def advance(self, now_us: int) -> None:
        """Move time forward, never back."""
        self.now_us = max(self.now_us, now_us)

    def touch(self, *thing: Hashable) -> None:
        """Note that this thing changed now. O(1), amortised."""
        self._changed_us[thing] = self.now_us
        if len(self._changed_us) > _FORGET_ABOVE:
            self._changed_us = {
                thing: at for thing, at in self._changed_us.items() if self.now_us - at <= GLOW_US
            }

    def glows(self, *thing: Hashable) -> bool:
        """Return whether the thing changed within the last second."""
        at = self._changed_us.get(thing)
        return at is not None and self.now_us - at <= GLOW_US

    def any_glows(self) -> bool:
        """Return whether some glow must still be drawn again in order to go out."""
        return any(self.now_us - at <= GLOW_US + 500_000 for at in self._changed_us.values())
