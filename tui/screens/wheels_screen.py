"""Wheels (2): the clocks by which everything that waits is woken, and what waits."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..subjects import WHEELS
from ..widgets.drawn import Lines
from ..widgets.timer_tabs import TimerTabs
from ..widgets.waiting_lines import WaitingHead, WaitingLines
from ..widgets.wheel_board import WheelBoard
from .dashboard_screen import DashboardScreen


class WheelsScreen(DashboardScreen):
    """One timer at a time: its wheels above, its waiting operations below."""

    default_subject = WHEELS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "timer(1)", "timer"),
        Binding("T", "timer(-1)", "timer before", show=False),
    ]

    def body(self) -> ComposeResult:
        yield TimerTabs(self.model)
        yield WheelBoard(self.model)
        yield WaitingHead(self.model)
        yield WaitingLines(self.model)

    def on_mount(self) -> None:
        self.query_one(WheelBoard).focus()
        self.tick()

    def tick(self) -> None:
        tabs = self.query_one(TimerTabs)
        tabs.settle()
        self.query_one(WheelBoard).key = tabs.key
        self.query_one(WaitingHead).key = tabs.key
        self.query_one(WaitingLines).key = tabs.key
        super().tick()

    def action_broker(self, by: int) -> None:
        self.query_one(TimerTabs).move_broker(by)
        self.tick()

    def action_timer(self, by: int) -> None:
        self.query_one(TimerTabs).move_timer(by)
        self.tick()

    def on_timer_tabs_chosen(self, message: TimerTabs.Chosen) -> None:
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """An operation has no chain of its own at this level of telling: say what stands behind it."""
        self.action_about()
