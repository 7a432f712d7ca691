"""The window with all terms of the glossary in English and Chinese."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, Static

from ..glossary import terms
from ..in_chinese import Verbatim


class _Words(Static, Verbatim):
    """A list of the terms in both languages."""


class GlossaryScreen(ModalScreen[None]):
    """Shows one term a line, with its meaning."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back", key_display="esc"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label("Words · 术语", classes="title", markup=False)
            with VerticalScroll():
                yield _Words(self._words())
        yield Footer(compact=True, show_command_palette=False)

    def _words(self) -> Text:
        text = Text()
        for term in terms():
            text.append(term.english, style="bold")
            text.append(f"  {term.chinese}\n")
            text.append(f"    {term.means}\n", style="dim")
        return text

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
