"""The screens and their keys, in one line. The present one stands out."""

from rich.text import Text

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
        most = max(len(each.title) for each in self._all)
        while most > 2 and sum(min(len(each.title), most) for each in self._all) > room:
            most -= 1
        line = Text()
        for each in self._all:
            present = each is self._present
            line.append(each.key, style=f"bold {self.palette.hand}")
            words = f" {each.title[:most]}" if most > 2 else ""
            line.append_text(ink(words, "bold reverse" if present else self.palette.dim))
            line.append(" ")
        return line
