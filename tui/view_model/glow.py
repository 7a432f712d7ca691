"""Recent changes: what changed glows for one second, so that the eye finds it."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

GLOW_US: Final = 1_000_000
KEPT: Final = 4096
"""Of so many things a change is remembered. With more, those that changed first stop to glow."""


class Glow:
    """Remembers when things changed.

    A thing is named by a tuple, such as ("leader", "web", 0). `now_us` is the clock of the events.
    """

    def __init__(self) -> None:
        self.now_us = 0
        self._changed_us: OrderedDict[tuple[Hashable, ...], int] = OrderedDict()
        """In the order of the changes."""

    def advance(self, now_us: int) -> None:
        """Move time forward, never back."""
        self.now_us = max(self.now_us, now_us)

    def touch(self, *thing: Hashable) -> None:
        """Note that this thing changed now. O(1)."""
        self._changed_us[thing] = self.now_us
        self._changed_us.move_to_end(thing)
        if len(self._changed_us) > KEPT:
            self._changed_us.popitem(last=False)

    def glows(self, *thing: Hashable) -> bool:
        """Return whether the thing changed within the last second."""
        at = self._changed_us.get(thing)
        return at is not None and self.now_us - at <= GLOW_US

    def any_glows(self) -> bool:
        """Return whether some glow must still be drawn again in order to go out."""
        newest = next(reversed(self._changed_us.values()), None)
        return newest is not None and self.now_us - newest <= GLOW_US + 500_000
