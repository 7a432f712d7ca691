"""The window that asks for the filter's words. The lists after it shrink while the user types."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label


class FilterScreen(ModalScreen[None]):
    """Asks for the words of the filter. [enter] keeps the filter, [esc] clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", key_display="esc"),
    ]

    def __init__(self, words: str, change: Callable[[str], None]) -> None:
        super().__init__()
        self._words, self._change = words, change

    def compose(self) -> ComposeResult:
        with Vertical(classes="box form"):
            yield Label("Show only lines that hold all of these words", classes="title")
            yield Label("a broker, a topic, a group, a client: b1 web, for example", markup=False)
            yield Input(self._words, placeholder="words")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        self._change(message.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        self.dismiss()

    def action_clear(self) -> None:
        self._change("")
        self.dismiss()
