"""The screen Wheels (2): the timers that end every wait, and the waiting operations."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..subjects import WAITING, WHEELS
from ..widgets.drawn import Lines
from ..widgets.timer_tabs import TimerTabs
from ..widgets.waiting_lines import WaitingHead, WaitingLines
from ..widgets.wheel_board import WheelBoard
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_DIALS_NEED = 40


class WheelsScreen(DashboardScreen):
    """Shows one timer at a time: its wheels above, its waiting operations below."""

    declaration = ScreenDeclaration(
        name="wheels",
        key="2",
        title="Wheels",
        question="Which time-outs are waiting?",
        subjects=(WHEELS, WAITING),
        acts=("pause", "resume"),
        break_="pause a follower while a producer sends with acks=all",
    )
    default_subject = WHEELS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "timer(1)", "timer"),
        Binding("T", "timer(-1)", "timer before", show=False),
    ]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them.

        While the screen closes, a tick may still come. Then only these references find the widgets.
        """
        self._tabs, self._board = TimerTabs(self.model), WheelBoard(self.model)
        self._lines = WaitingLines(self.model)
        self._head = WaitingHead(self.model, self._lines)
        yield from (self._tabs, self._board, self._head, self._lines)

    def strip_rows(self, height: int) -> int:
        """Return the rows of the time line. It is small while the dials need the room."""
        return 2 if height < _DIALS_NEED else super().strip_rows(height)

    def on_mount(self) -> None:
        self._board.focus()
        self.tick()

    def tick(self) -> None:
        self._tabs.settle()
        self._board.key = self._head.key = self._lines.key = self._tabs.key
        super().tick()

    def action_broker(self, by: int) -> None:
        self._tabs.move_broker(by)
        self.tick()

    def action_timer(self, by: int) -> None:
        self._tabs.move_timer(by)
        self.tick()

    def on_timer_tabs_chosen(self, message: TimerTabs.Chosen) -> None:
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the classes behind the line.

        At this event level, there is no chain of causes for an operation.
        """
        self.action_about()
