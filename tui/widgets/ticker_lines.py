"""The ticker: what happened, when, which process reports it, and the cause."""

import re
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType

from kafka_edu.instruments.sentences import teller

from ..model import Model
from ..palette import Palette
from ..subjects import TICKER
from ..view_model.figures import duration
from ..view_model.glow import GLOW_US
from ..view_model.ticker import Link
from .drawn import Lines, ink

_BROKER: Final = re.compile(r"\bbroker (\d+)")


def wall_clock(wall_ms: int) -> str:
    """Return the local time of day, with milliseconds."""
    return f"{datetime.fromtimestamp(wall_ms / 1000):%H:%M:%S}.{wall_ms % 1000:03d}"


def coloured(text: Text, palette: Palette) -> Text:
    """Colour every `broker n` in its colour."""
    for match in _BROKER.finditer(text.plain):
        text.stylize(palette.broker(int(match.group(1))), match.start(), match.end())
    return text


class TickerLines(Lines):
    """The newest line is at the bottom. The list follows it while the cursor stands on the last
    line.
    """

    subject = TICKER

    def __init__(self, model: Model) -> None:
        super().__init__(id="ticker", follow=True)
        self.model = model

    def count(self) -> int:
        return len(self.model.ticker.lines)

    def empty(self) -> str:
        return "nothing has happened since you began to look"

    def line(self, index: int) -> Text:
        told, colours = self.model.ticker.lines[index], self.palette
        line = ink(wall_clock(told.envelope.wall_ms), colours.dim)
        line.append(
            f" {teller(told.envelope.source):<4}",
            style=f"bold {colours.broker(told.envelope.broker)}",
        )
        words = Text(told.text)
        if self.model.cluster.glow.now_us - told.envelopes[-1].mono_us <= GLOW_US:
            words.stylize(f"bold on {colours.glow}")
        line.append_text(coloured(words, colours))
        if told.because:
            line.append("  because ", style=colours.dim)
            line.append_text(coloured(ink(told.because, colours.dim), colours))
        return line


class ChainLines(Lines):
    """A chain of causes: the first at the top, the direct effects of the fact at the end."""

    subject = TICKER
    BINDINGS: ClassVar[list[BindingType]] = [Binding("left,right", "move(0)", show=False)]

    def __init__(self, links: list[Link], at: int) -> None:
        super().__init__(id="chain")
        self.links = links
        self._at = at
        self.cursor = at

    def count(self) -> int:
        return len(self.links)

    def line(self, index: int) -> Text:
        link, colours = self.links[index], self.palette
        line = ink(f"{'+' + duration(link.after_us / 1000):>10}  ", colours.dim)
        line.append(f"{link.teller:<4}", style=f"bold {colours.broker(link.envelope.broker)}")
        branch = "" if link.depth == 0 else "  " * min(link.depth - 1, 12) + "└▶ "
        line.append(branch, style=colours.dim)
        line.append_text(
            coloured(ink(link.said.text(), "bold" if index == self._at else ""), colours)
        )
        if link.said.reason:
            line.append(f"  because {link.said.reason}", style=colours.dim)
        return line
