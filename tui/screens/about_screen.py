"""`?`: the events that feed a widget, and the classes that emit them."""

import inspect
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, OptionList, Static
from textual.widgets.option_list import Option

from kafka_edu.trace.event import EVENT_TYPES

from ..subjects import Subject
from .source_screen import SourceScreen


class AboutScreen(ModalScreen[None]):
    """An explanation, events and modules. [enter] on a module opens it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "back", key_display="esc"),
        Binding("o", "open", "open the module"),
    ]

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self._subject = subject

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label(self._subject.title, classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(self._words())
            yield Label("Behind it stand (enter or o opens one):", markup=False)
            yield OptionList(
                *(
                    Option(
                        Text.assemble(
                            (source.cls, "bold"),
                            f"   kafka_edu/{source.module.replace('.', '/')}.py",
                        )
                    )
                    for source in self._subject.sources
                )
            )
        yield Footer(compact=True, show_command_palette=False)

    def _words(self) -> Text:
        text = Text(self._subject.words + "\n\nEvents that feed it:\n")
        for cls in self._subject.events:
            known = EVENT_TYPES[cls.__name__]
            first = (inspect.getdoc(cls) or "").partition("\n")[0]
            text.append(f"{cls.__name__}", style="bold")
            text.append(f" ({known.kind.value}, {known.area})  {first}\n")
        return text

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.app.push_screen(SourceScreen(self._subject.sources[message.option_index]))

    def action_open(self) -> None:
        index = self.query_one(OptionList).highlighted or 0
        self.app.push_screen(SourceScreen(self._subject.sources[index]))

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
