"""The screen Cluster (1): the brokers, the leaders, each replica's offsets, recent events."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kafka_edu.trace.event import Envelope, fields_of

from ..subjects import BROKERS, HEADER, LEARNERS, PARTITIONS, TICKER
from ..view_model.partition_view import PartitionKey
from ..widgets.broker_cards import BrokerCards
from ..widgets.drawn import Lines
from ..widgets.learner_line import LearnerLine
from ..widgets.partition_matrix import MatrixRows, PartitionMatrix
from ..widgets.ticker_lines import TickerLines
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_FIXED_ROWS = 2 + 6 + 2 + 3 + 1
"""The fixed rows: top line, cards, heading, legend, acts, screens, keys and border."""
_MOTION_ROWS = 8


class ClusterScreen(DashboardScreen):
    """Shows cards, matrix and ticker. The keys act on the selected broker."""

    declaration = ScreenDeclaration(
        name="cluster",
        key="1",
        title="Cluster",
        question="Is the cluster healthy, and which broker leads which partition?",
        subjects=(HEADER, BROKERS, LEARNERS, PARTITIONS, TICKER),
        acts=("kill", "start", "pause", "resume", "stop", "elect-unclean"),
        break_="kill -9 of a leader; an unclean election",
    )
    default_subject = PARTITIONS
    BINDINGS: ClassVar[list[BindingType]] = [
        *declaration.act_keys(),
        Binding("enter", "why", "why", show=False),
    ]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them.

        While the screen closes, a tick may still come. Then only these references find the widgets.
        """
        self._cards, self._matrix = BrokerCards(self.model), PartitionMatrix(self.model)
        self._learner = LearnerLine(self.model)
        yield self._cards
        yield self._learner
        yield self._matrix

    def on_mount(self) -> None:
        self.query_one(TickerLines).focus()
        self.tick()

    def strip_rows(self, height: int) -> int:
        """Return the rows of the time line: all rows that the partitions do not need."""
        happened = len(self.model.ticker.lines)
        partitions = self._matrix.rows.count()
        room = height - _FIXED_ROWS - _MOTION_ROWS * self.model.motion.on
        room -= self._learner.display
        least = max(height // 6, 4)
        needed = min(max(happened, 2), least, max(room // 2, 2))
        return max(min(room - partitions, max(happened, least)), needed)

    def act_values(self) -> dict[str, int | str]:
        broker, rows = self._cards.selected, self._matrix.rows
        values: dict[str, int | str] = {"broker": broker} if broker >= 0 else {}
        if rows.count():
            key = rows.key(rows.cursor)
            if key is not None:
                values |= {"partition": str(key), "topic": key.topic}
        return values

    def action_broker(self, by: int) -> None:
        self._cards.move(by)

    def action_why(self) -> None:
        """Show the causes of the selected line.

        If the cards have the focus, show the causes of the ticker's last line.
        """
        lines = self.model.ticker.lines
        if lines:
            self.app.push_screen(ChainScreen(self.model.ticker, lines[-1].envelope))

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        if isinstance(message.lines, MatrixRows):
            key = message.lines.key(message.index)
            envelope = None if key is None else self._last_of(key)
            if envelope is None:
                self.notify("nothing has happened to this partition since you began to look")
                return
        else:
            return
        self.app.push_screen(ChainScreen(self.model.ticker, envelope))

    def _last_of(self, key: PartitionKey) -> Envelope | None:
        """Return a partition's last fact that has a cause. If no fact has one, return its last
        fact.
        """
        last: Envelope | None = None
        for envelope in reversed(self.model.ticker.history.events):
            fields = fields_of(envelope.event)
            if (fields.get("topic"), fields.get("partition")) == key:
                if envelope.cause:
                    return envelope
                last = last or envelope
        return last
