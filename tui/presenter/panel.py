"""The presenter's panel below each screen: narration, question, hints, and the answer."""

import re
from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from kafka_edu.instruments.presenter.page import Line, Role, page
from kafka_edu.instruments.presenter.presentation import Presentation

from ..palette import Palette
from ..widgets.drawn import palette_of

#: From this height of the terminal on, in rows, a page with a picture may take more than half of
#: it.
TALL: Final = 30

#: A new word is written as `*word*`, between blanks or punctuation.
_NEW_WORD: Final = re.compile(r"(?<![\w\[*])\*(\w(?:[^*\n]*\w)?)\*(?![\w*])")
_BOLD: Final = {Role.TITLE, Role.QUESTION, Role.SEEN, Role.CHOSEN, Role.FAILURE}


class PresenterPanel(VerticalScroll):
    """Shows the page of the presentation, and scrolls with it to its end."""

    def __init__(self, presentation: Presentation) -> None:
        super().__init__(id="presenter")
        self.presentation = presentation
        self.said: list[str] = []
        """The audience's lines on this page."""
        self._lines: list[Line] = []
        self._palette: Palette | None = None
        self._follows = False
        """Whether to keep the end of the page in sight. False after the learner has scrolled."""

    def compose(self) -> ComposeResult:
        yield Static(id="presenter-page")

    @property
    def overflows(self) -> bool:
        """Return whether a part of the page is out of sight."""
        return self.max_scroll_y > 0

    def tick(self) -> None:
        """Show the presentation's page again if it has changed."""
        if not self.is_mounted or not self.query("#presenter-page"):
            return
        self.border_title = "page up, page down: more text" if self.overflows else ""
        said = [Line(Role.COMPARED, words) for words in self.said]
        lines, palette = [*page(self.presentation), *said], palette_of(self)
        if (lines, palette) == (self._lines, self._palette):
            if self._follows and not self.is_vertical_scroll_end:
                self.scroll_end(animate=False)  # the panel gets its size only after its text
            return
        new_step = lines[0] != (self._lines[0] if self._lines else None)
        has_picture = any(line.role is Role.PICTURE for line in lines)
        self.set_class(has_picture and self.app.size.height >= TALL, "-picture")
        self._lines, self._palette = lines, palette
        self.query_one("#presenter-page", Static).update(draw(lines, palette))
        self._follows = not new_step
        (self.scroll_home if new_step else self.scroll_end)(animate=False)

    def scroll_page(self, direction: int) -> None:
        """Scroll one page up (-1) or down (1), because the learner pressed a key."""
        self._follows = False
        (self.scroll_page_up if direction < 0 else self.scroll_page_down)(animate=False)

    def on_mouse_scroll_up(self) -> None:
        self._follows = False

    def on_scroll_to(self) -> None:
        """Do not scroll with the page any longer: the learner has moved the scroll bar."""
        self._follows = False

    def on_scroll_up(self) -> None:
        """Do not scroll with the page any longer: the learner has clicked above the scroll bar's
        handle.
        """
        self._follows = False


def draw(lines: list[Line], palette: Palette) -> Text:
    """Return the page with colours. Each line also has a sign, so its meaning does not depend on
    the colour.
    """
    colours = {
        Role.TITLE: palette.text,
        Role.NOTE: palette.warning,
        Role.SAY: palette.text,
        Role.QUESTION: palette.warning,
        Role.CHOICE: palette.text,
        Role.CHOSEN: palette.warning,
        Role.EXPECTED: palette.dim,
        Role.SEEN: palette.ok,
        Role.COMPARED: palette.text,
        Role.ANSWER: palette.ok,
        Role.FAILURE: palette.error,
        Role.HINT: palette.dim,
    }
    text = Text()
    for at, line in enumerate(lines):
        end = "\n" if at < len(lines) - 1 else ""
        if line.role is Role.PICTURE:
            text.append_text(Text.from_ansi(line.text)).append(end)
            continue
        style = f"{'bold ' if line.role in _BOLD else ''}{colours[line.role]}"
        for part, words in enumerate(_NEW_WORD.split(line.text)):  # every second part is a new word
            text.append(words, style=f"{style} italic" if part % 2 else style)
        text.append(end)
    return text
