"""The window behind `?`: the events that feed a widget, and the classes that emit them."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, OptionList, Static
from textual.widgets.option_list import Option

from kafka_edu.trace.event import EVENT_TYPES, meaning

from ..glossary import terms_in
from ..in_chinese import Verbatim
from ..subjects import Subject
from ..widgets.drawn import Lines
from .declaration import ScreenDeclaration
from .source_screen import SourceScreen


class _Classes(OptionList, Verbatim):
    """A list of the names of classes and modules."""


class AboutScreen(ModalScreen[None]):
    """Shows an explanation, events and modules. [enter] on a module opens its source."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "back", key_display="esc"),
        Binding("o", "open", "open the module"),
        Binding("pagedown", "turn(1)", "more text", priority=True),
        Binding("pageup", "turn(-1)", "text up", show=False, priority=True),
    ]

    def __init__(
        self,
        subject: Subject,
        screen: ScreenDeclaration | None = None,
        sortable: Lines | None = None,
    ) -> None:
        """Create the window.

        `screen` is the screen that contains the widget; its question comes first. `sortable` is the
        list that `S` sorts on this screen.
        """
        super().__init__()
        self._subject, self._screen, self._sortable = subject, screen, sortable

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label(self._subject.title, classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(self._words())
            yield Label("Its classes (enter or o opens one):", markup=False)
            yield _Classes(
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
        text = Text()
        if self._screen is not None:
            text.append(f"{self._screen.title}: {self._screen.question}\n", style="bold")
            text.append(f"Try: {self._screen.break_}.\n\n")
        text.append(self._subject.words + "\n")
        if self._sortable is not None:
            text.append(f"\n{self._sortable.subject.title}: S sorts the list by ")
            text.append(", ".join(order.name for order in self._sortable.orders), style="bold")
            text.append(". Each S takes the next column. R reverses the order.\n")
        for term in terms_in(self._subject.words):
            text.append(f"\n{term.english} {term.chinese}", style="bold")
            text.append(f"  {term.means}")
        text.append("\n\nEvents that feed it:\n")
        for cls in dict.fromkeys(self._subject.events):
            known = EVENT_TYPES[cls.__name__]
            text.append(f"{cls.__name__}", style="bold")
            text.append(f" ({known.kind.value}, {known.area})  {meaning(cls)}\n")
        return text

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.app.push_screen(SourceScreen(self._subject.sources[message.option_index]))

    def action_turn(self, direction: int) -> None:
        """Scroll the text by one page."""
        text = self.query_one(VerticalScroll)
        (text.scroll_page_down if direction > 0 else text.scroll_page_up)(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the page keys only if the text is longer than its window."""
        if action == "turn" and self.is_mounted:
            return self.query_one(VerticalScroll).max_scroll_y > 0
        return super().check_action(action, parameters)

    def on_resize(self) -> None:
        self.call_after_refresh(self.refresh_bindings)

    def action_open(self) -> None:
        index = self.query_one(OptionList).highlighted or 0
        self.app.push_screen(SourceScreen(self._subject.sources[index]))

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
