"""The screen Purgatory (3): why a request still waits, and what completed other requests."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.events import Resize

from kafka_edu.instruments.waiting import missing

from ..subjects import ENDED, PURGATORY
from ..widgets.drawn import Lines
from ..widgets.purgatory_board import (
    EndedCounts,
    EndedLines,
    OperationDetail,
    OperationLines,
    PurgatoryAnswer,
    PurgatoryChoice,
    PurgatoryTabs,
)
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_SIDE_BY_SIDE: Final = 110
"""From this width on, ended operations are to the right of the waiting ones.

On a narrower screen they are below them.
"""
_HIGH: Final = 32


class PurgatoryScreen(DashboardScreen):
    """Shows the waiting operations, the reasons of the chosen one, and what ended other operations.

    The operation that has waited longest comes first.
    """

    declaration = ScreenDeclaration(
        name="purgatory",
        key="3",
        title="Purgatory",
        question="Why is this request still waiting, and what ended the others?",
        subjects=(PURGATORY, ENDED),
        acts=("pause", "resume", "kill", "start"),
        break_="pause a follower while a producer sends with acks=all",
    )
    default_subject = PURGATORY
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "purgatory(1)", "purgatory"),
        Binding("T", "purgatory(-1)", "purgatory before", show=False),
        *declaration.act_keys(),
    ]

    def body(self) -> ComposeResult:
        """Yield the screen's widgets, and keep references to them for later updates."""
        self._choice = PurgatoryChoice()
        self._tabs = PurgatoryTabs(self.model, self._choice)
        self._answer = PurgatoryAnswer(self.model, self._choice)
        self._operations = OperationLines(self.model, self._choice)
        self._detail = OperationDetail(self.model, self._choice)
        self._counts = EndedCounts(self.model, self._choice)
        self._ended = EndedLines(self.model)
        yield self._tabs
        yield self._answer
        with Container(id="purgatory-body"):
            with Vertical(id="purgatory-left") as self._left:
                yield self._operations
                yield self._detail
            with Vertical(id="purgatory-right"):
                yield self._counts
                yield self._ended

    def on_mount(self) -> None:
        self._operations.focus()
        self.tick()

    def on_resize(self, event: Resize) -> None:
        """Arrange the widgets: in columns on a wide screen, with all details on a high one."""
        self.query_one("#purgatory-body").set_class(event.size.width >= _SIDE_BY_SIDE, "wide")
        high = event.size.height >= _HIGH
        self._detail.styles.height = 14 if high else 7
        self._detail.set_class(not high, "flat")
        self._counts.brief = not high
        few = "" if high else " in the last 10 s: times, typical wait"
        self.query_one("#purgatory-right").border_title = f"what ended the others{few}"
        self._tabs.styles.height = 2 if high else 1
        self._answer.styles.margin = (0, 0, 1 if high else 0, 0)

    def tick(self) -> None:
        self._choice.settle(self.model.purgatory)
        self._left.border_title = f"waiting:{self._operations.order_words(' the longest first')}"
        super().tick()
        for widget in (self._operations, self._detail, self._counts, self._ended):
            if widget.is_mounted:
                widget.tick()

    def act_values(self) -> dict[str, int | str]:
        """Return the selected broker. If none is selected, return the one that the chosen operation
        waits for.
        """
        if self._choice.broker is not None:
            return {"broker": self._choice.broker}
        chosen = self._choice.operation_of(self.model.purgatory)
        late = [one for need in chosen.facts.why for one in missing(need)] if chosen else []
        return {"broker": late[0].broker} if late else {}

    def action_broker(self, by: int) -> None:
        self._choice.move_broker(self.model.purgatory, by)
        self.tick()

    def action_purgatory(self, by: int) -> None:
        self._choice.move_name(self.model.purgatory, by)
        self.tick()

    def on_purgatory_tabs_chosen(self, message: PurgatoryTabs.Chosen) -> None:
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the causes of an operation that has ended. A waiting operation has no fact yet."""
        if message.lines is self._ended:
            done = self.model.purgatory.completions[message.index]
            self.app.push_screen(ChainScreen(self.model.ticker, done.envelope))
        elif message.lines is self._operations:
            self.action_about()
