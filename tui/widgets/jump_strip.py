"""The line with the screens and their keys. The current screen is highlighted."""

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ..glossary import chinese_of
from ..model import Model
from ..reader import reader_of
from ..screens.declaration import ScreenDeclaration
from .drawn import Drawn, ink


class JumpStrip(Drawn):
    """Shows the current screen's title in full.

    The other titles are cut with `…` if there is no room. In a very narrow window only their keys
    are left, and one `…` at the end.
    """

    def __init__(self, model: Model, present: ScreenDeclaration) -> None:
        super().__init__(model, id="jump")
        self._present = present

    def draw(self) -> Text:
        reader = reader_of(self)
        screens = reader.declarations
        room = self.size.width - 2 - sum(len(each.key) + 2 for each in screens)
        titles = [each.title for each in screens]
        if reader.chinese:
            titles = [chinese_of(title) for title in titles]
            if sum(map(cell_len, titles)) > room:
                titles = [chinese_of(each.title, short=True) for each in screens]
        gap = " "
        if reader.chinese and sum(map(cell_len, titles)) > room:  # a Chinese word is short: keep it
            gap, room = "", room + len(screens)
        at = next((i for i, each in enumerate(screens) if each is self._present), -1)
        others = [cell_len(title) for i, title in enumerate(titles) if i != at]
        room -= cell_len(titles[at]) if at >= 0 else 0
        most = max(others)
        while most > 2 and sum(min(cells, most) for cells in others) > room:
            most -= 1
        line = Text()
        for each, title in zip(screens, titles, strict=True):
            present = each is self._present
            line.append(each.key, style=f"bold {self.palette.hand}")
            if not present and cell_len(title) > most:
                title = set_cell_size(title, most - 1).rstrip() + "…"
            words = f"{gap}{title}" if present or most > 2 else ""
            line.append_text(ink(words, "bold reverse" if present else self.palette.dim))
            line.append(" ")
        if most <= 2:
            line.append_text(ink("…", self.palette.dim))
        return line
