"""A list that shows a chain of causes."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from ..subjects import TICKER
from ..view_model.figures import duration
from ..view_model.ticker import Link
from .drawn import Lines, ink
from .event_text import coloured


class ChainLines(Lines):
    """A chain of causes: the first cause at the top, the direct effects of the fact at the end."""

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
