"""The text of an event in a line: its time, its sentence cut to fit, brokers in their colours."""

import re
from datetime import datetime
from typing import Final

from rich.text import Text

from ..palette import Palette
from ..view_model.ticker import TickerLine

_BROKER: Final = re.compile(r"\bbroker (\d+)")
_BECAUSE: Final = "  because "


def wall_clock(wall_ms: int) -> str:
    """Return the local time of day, with milliseconds."""
    return f"{datetime.fromtimestamp(wall_ms / 1000):%H:%M:%S}.{wall_ms % 1000:03d}"


def coloured(text: Text, palette: Palette) -> Text:
    """Give every `broker n` in the text its colour."""
    for match in _BROKER.finditer(text.plain):
        text.stylize(palette.broker(int(match.group(1))), match.start(), match.end())
    return text


def fitted(line: TickerLine, room: int) -> tuple[str, str]:
    """Return the sentence and its cause, cut so that both fit into `room` columns.

    The cause is the most important part, so it is cut last.
    """
    because = line.because and _BECAUSE + line.because
    for subjects in (3, 2, 1):
        words = line.words(subjects)
        if len(words) + len(because) <= room:
            return words, because
    left = max(room - len(because), room // 3)
    if len(words) > left:
        words = words[: max(left - 1, 0)] + "…"
    if len(words) + len(because) > room:
        because = because[: max(room - len(words) - 1, 0)] + "…"
    return words, because
