"""What has just changed: it glows for a second, so that the eye finds it, and then is quiet."""

from collections.abc import Hashable
from typing import Final

GLOW_US: Final = 1_000_000
_FORGET_ABOVE: Final = 4096


class Glow:
    """Remembers when things changed. Things are named by tuples, e.g. ("leader", "web", 0).
    `now_us` is the clock of the events.
    """

    def __init__(self) -> None:
        self.now_us = 0
        self._changed_us: dict[tuple[Hashable, ...], int] = {}

    def advance(self, now_us: int) -> None:
        """Time goes on, never back."""
        self.now_us = max(self.now_us, now_us)

    def touch(self, *thing: Hashable) -> None:
        """This thing changed now. O(1), amortised."""
        self._changed_us[thing] = self.now_us
        if len(self._changed_us) > _FORGET_ABOVE:
            self._changed_us = {
                thing: at for thing, at in self._changed_us.items() if self.now_us - at <= GLOW_US
            }

    def glows(self, *thing: Hashable) -> bool:
        """Whether it changed within the last second."""
        at = self._changed_us.get(thing)
        return at is not None and self.now_us - at <= GLOW_US

    def any_glows(self) -> bool:
        """Whether something must still be drawn again to go out."""
        return any(self.now_us - at <= GLOW_US + 500_000 for at in self._changed_us.values())
