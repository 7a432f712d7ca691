"""The window that the key `b` opens, to choose the breakpoints that stop the view."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, OptionList

from kafka_edu.instruments.breakpoints import BREAKPOINTS, Breakpoints

_ON, _OFF = "■", "□"


class BreakpointScreen(ModalScreen[None]):
    """The table of breakpoints. [enter] or space switches one on or off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b,q", "dismiss", "back", key_display="esc"),
        Binding("space", "choose", "stop here / do not"),
    ]

    def __init__(self, breakpoints: Breakpoints) -> None:
        super().__init__()
        self._breakpoints = breakpoints
        self._list = OptionList(*(self._line(point.name) for point in BREAKPOINTS))

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label("Stop the view when …", classes="title", markup=False)
            yield self._list
            yield Label(
                "A live cluster keeps running: only the view stops. A simulated run stops too."
                " Space or z continues.",
                markup=False,
            )
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._list.focus()

    def _line(self, name: str) -> Text:
        return Text(f"{_ON if name in self._breakpoints.chosen else _OFF} {name}")

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self._toggle(message.option_index)

    def action_choose(self) -> None:
        if self._list.highlighted is not None:
            self._toggle(self._list.highlighted)

    def _toggle(self, index: int) -> None:
        name = BREAKPOINTS[index].name
        self._breakpoints.toggle(name)
        self._list.replace_option_prompt_at_index(index, self._line(name))

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
