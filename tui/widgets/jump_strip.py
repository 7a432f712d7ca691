"""The screens and their keys, in one line. The present one stands out."""

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ..glossary import chinese_of
from ..model import Model
from ..reader import reader_of
from ..screens.declaration import ScreenDeclaration
from .drawn import Drawn, ink


class JumpStrip(Drawn):
    """Shortens the titles as far as the width asks for."""

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
        most = max(map(cell_len, titles))
        while most > 2 and sum(min(cell_len(title), most) for title in titles) > room:
            most -= 1
        line = Text()
        for each, title in zip(screens, titles, strict=True):
            present = each is self._present
            line.append(each.key, style=f"bold {self.palette.hand}")
            short = title if cell_len(title) <= most else set_cell_size(title, most).rstrip()
            words = f" {short}" if most > 2 else ""
            line.append_text(ink(words, "bold reverse" if present else self.palette.dim))
            line.append(" ")
        return line
