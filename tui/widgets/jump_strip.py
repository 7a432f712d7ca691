"""The screens and their keys, in one line. The present one stands out."""

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ..glossary import chinese_of
from ..model import Model
from ..screens.declaration import ScreenDeclaration
from .drawn import Drawn, ink


class JumpStrip(Drawn):
    """Shortens the titles as far as the width asks for."""

    def __init__(
        self, model: Model, present: ScreenDeclaration, all_of_them: tuple[ScreenDeclaration, ...]
    ) -> None:
        super().__init__(model, id="jump")
        self._present, self._all = present, all_of_them

    def draw(self) -> Text:
        room = self.size.width - 2 - sum(len(each.key) + 2 for each in self._all)
        chinese = getattr(self.app, "chinese", False)
        titles = [chinese_of(each.title) if chinese else each.title for each in self._all]
        most = max(map(cell_len, titles))
        while most > 2 and sum(min(cell_len(title), most) for title in titles) > room:
            most -= 1
        line = Text()
        for each, title in zip(self._all, titles, strict=True):
            present = each is self._present
            line.append(each.key, style=f"bold {self.palette.hand}")
            short = title if cell_len(title) <= most else set_cell_size(title, most).rstrip()
            words = f" {short}" if most > 2 else ""
            line.append_text(ink(words, "bold reverse" if present else self.palette.dim))
            line.append(" ")
        return line
