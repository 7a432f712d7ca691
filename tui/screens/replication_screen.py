"""The screen Replication (4): how far each replica has come, and which records it cut off."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from kafka_edu.trace.event import Envelope

from ..subjects import REPLICAS, TROUBLE
from ..view_model.partition_view import PartitionKey
from ..view_model.replication_view import WELL
from ..widgets.drawn import Lines, set_rows
from ..widgets.replication_board import (
    ReplicaBoard,
    ReplicationAnswer,
    ReplicationChoice,
    TroubleHead,
    TroubleLines,
)
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration


class ReplicationScreen(DashboardScreen):
    """Shows the partitions, the worst first, and below them the replicas of the chosen one."""

    declaration = ScreenDeclaration(
        name="replication",
        key="4",
        title="Replication",
        question="How far is each replica, and what did it truncate?",
        subjects=(TROUBLE, REPLICAS),
        acts=("pause", "resume", "kill", "start"),
        break_="pause a follower, kill the leader, then resume the follower",
    )
    default_subject = REPLICAS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "worst", "worst first"),
        *declaration.act_keys(),
    ]

    def body(self) -> ComposeResult:
        """Yield the screen's widgets, and keep references to them for later updates."""
        self._choice = ReplicationChoice()
        self._answer = ReplicationAnswer(self.model, id="replication-answer")
        self._lines = TroubleLines(self.model, self._choice)
        self._head = TroubleHead(self.model, self._lines)
        self._board = ReplicaBoard(self.model, self._choice)
        yield self._answer
        with Vertical(id="replication-list") as listed:
            self._listed = listed
            yield self._head
            yield self._lines
        yield self._board

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def tick(self) -> None:
        for widget in (self._head, self._lines):
            if widget.is_mounted:
                widget.tick()
        self._listed.border_title = f"partitions:{self._lines.order_words(' the worst first')}"
        room = self._listed.outer_size.height + self._board.outer_size.height
        rows = max(min(max(self._lines.count(), 2) + 2, room - self._board.needs()), 4)
        set_rows(self._listed, rows)
        super().tick()

    def act_values(self) -> dict[str, int | str]:
        """Return the selected replica's broker."""
        broker = self._choice.selected(self.model)
        return {"broker": broker} if broker is not None else {}

    def action_broker(self, by: int) -> None:
        """Select another replica of the chosen partition."""
        self._choice.move(self.model, by)
        self.tick()

    def action_worst(self) -> None:
        """Choose the partition with the worst trouble, instead of the user's choice."""
        self._choice.by_hand = False
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the causes of the last change of the partition's ISR or log."""
        if message.lines is not self._lines:
            return
        key = self._choice.key
        envelope = self._last_of(key) if key is not None else None
        if envelope is None:
            self.notify("nothing has happened to this partition since you began to look")
            return
        self.app.push_screen(ChainScreen(self.model.ticker, envelope))

    def _last_of(self, key: PartitionKey) -> Envelope | None:
        """Return the last change of the partition's ISR or its last truncation, or None.

        A follower that cut records off joins the ISR a moment later. While the row of an in-sync
        partition still shows the truncation, the truncation is returned.
        """
        replication = self.model.replication
        known = replication.by_key.get(key)
        if known is None:
            return None
        cut = replication.recent_cut(key)
        p = self.model.cluster.partitions.get(key)
        if cut is not None and p is not None and replication.trouble(p) == WELL:
            return cut.envelope
        found = [cut.envelope for cut in known.truncations]
        found += [step.envelope for step in known.steps if step.because]
        return max(found, key=lambda envelope: envelope.mono_us, default=None)
