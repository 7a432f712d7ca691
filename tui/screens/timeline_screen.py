"""The screen Timeline (9): every fact, one lane for each process, with arrows from causes to
effects.
"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ..subjects import TICKER
from ..widgets.ticker_lines import TickerLines
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration


class TimelineScreen(DashboardScreen):
    """The time line over the whole screen."""

    declaration = ScreenDeclaration(
        name="timeline",
        key="9",
        title="Timeline",
        question="What happened, in which process, and why?",
        subjects=(TICKER,),
        break_="kill -9 of the controller: follow the arrows from the kill to the new leaders",
    )
    default_subject = TICKER
    has_strip = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "everything", "every fact / news only"),
        Binding("J", "moment", "go to its moment"),
    ]

    def body(self) -> ComposeResult:
        """Yield the widget, and keep a reference: a tick may come while the screen closes."""
        self._lines = TickerLines(self.model, id="timeline", everything=True)
        yield self._lines

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def action_broker(self, by: int) -> None:
        """Go to the next line in the lane to the left or right."""
        self._lines.to_lane(by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key that goes to a moment, unless the cluster is simulated."""
        if action == "moment":
            return self.model.simulation is not None
        return super().check_action(action, parameters)

    async def action_moment(self) -> None:
        """Show the cluster as it was at the fact under the cursor."""
        lines = self._lines.facts.lines
        if self._lines.cursor < len(lines):
            at_us = lines[self._lines.cursor].envelope.mono_us
            await self.run_action(f"app.show_moment({at_us})")

    def action_everything(self) -> None:
        """Switch between all facts and the important ones only."""
        self._lines.everything = not self._lines.everything
        self._lines.redraw()
