"""The screen Moves (M): which replicas move, how far they are, and what holds them back."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from ..subjects import MOVES, THROTTLES
from ..widgets.broker_choice import BrokerOfActs
from ..widgets.drawn import Lines, set_rows
from ..widgets.moves_board import MoveBoard, MoveLines, MovesAnswer, MovesChoice
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration


class MovesScreen(DashboardScreen):
    """Shows the moves, and below the phases of the chosen move and the throttles."""

    declaration = ScreenDeclaration(
        name="moves",
        key="M",
        title="Moves",
        question="What moves, how far is it, and what slows it down?",
        subjects=(MOVES, THROTTLES),
        acts=("stop", "start", "kill"),
        break_="stop a broker; reassign a partition with a throttle; move a replica to another dir",
    )
    default_subject = MOVES
    BINDINGS: ClassVar[list[BindingType]] = [*declaration.act_keys()]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them."""
        self._choice = MovesChoice()
        self._broker = BrokerOfActs(self.model)
        self._answer = MovesAnswer(self.model, id="moves-answer")
        self._lines = MoveLines(self.model, self._choice)
        self._board = MoveBoard(self.model, self._choice)
        yield self._answer
        with Vertical(id="moves-list") as listed:
            self._listed = listed
            yield self._lines
        yield self._board

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def tick(self) -> None:
        if self._lines.is_mounted:
            self._lines.tick()
        self._listed.border_title = f"moves: running moves first{self._broker.title()}"
        room = self._listed.outer_size.height + self._board.outer_size.height
        rows = max(min(self._lines.count() + 1, room // 2), 4)
        set_rows(self._listed, rows)
        super().tick()

    def act_values(self) -> dict[str, int | str]:
        """Return the broker that ← → has chosen."""
        return self._broker.act_values()

    def action_broker(self, by: int) -> None:
        """Choose the next broker for the acts."""
        self._broker.move(by)
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Follow the causes of the last step of a move."""
        move = self._choice.move
        if message.lines is not self._lines or move is None:
            return
        envelope = next((s.envelope for s in reversed(move.steps) if s.envelope), None)
        if envelope is None:
            self.notify("this move began before you began to look, and has had no new phase since")
            return
        self.app.push_screen(ChainScreen(self.model.ticker, envelope))
