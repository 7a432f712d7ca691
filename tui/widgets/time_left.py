"""A time that runs out: a bar of the time that is left, and the time in words."""

from typing import Final

from rich.text import Text

from ..palette import Palette
from ..view_model.figures import duration
from .drawn import ink
from .prose import gauge

_BAR: Final = 8
_SHORT_BAR: Final = 4


def time_left(left_ms: int, of_ms: int, colours: Palette, short: bool = False) -> Text:
    """Draw a time that runs out: a bar of the time that is left, and `3 s of 10 s left`.

    With `short`, the bar is short and the words are `3 s left`.
    """
    part = left_ms / of_ms if of_ms > 0 else 0.0
    bar, rest = gauge(part, _SHORT_BAR if short else _BAR)
    style = colours.error if part < 0.25 else colours.warning if part < 0.5 else colours.ok
    text = ink(bar, style).append(f"{rest} ", style=colours.dim)
    return text.append(
        f"{duration(left_ms)}{'' if short else f' of {duration(of_ms)}'} left",
        style=f"bold {style}" if part < 0.5 else "",
    )
