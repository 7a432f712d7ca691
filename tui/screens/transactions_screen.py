"""The screen Transactions (X): which producer holds back the last stable offset, and which markers
are missing.
"""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from ..subjects import HELD_PARTITIONS, TRANSACTIONS
from ..widgets.broker_choice import BrokerOfActs
from ..widgets.drawn import Lines, set_rows
from ..widgets.transaction_board import (
    HeldLines,
    TransactionAnswer,
    TransactionChoice,
    TransactionHead,
    TransactionLines,
)
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_LEAST_HEAD: Final = 5
_HIGH: Final = 32
"""If the screen has at least this many rows, the answer has three rows."""


class TransactionsScreen(DashboardScreen):
    """Shows the transactional ids, the chosen one in detail, and the partitions they hold back."""

    declaration = ScreenDeclaration(
        name="transactions",
        key="X",
        title="Transactions",
        question="Which transaction holds back the last stable offset, since when, and what ends"
        " it?",
        subjects=(TRANSACTIONS, HELD_PARTITIONS),
        acts=("kill", "start", "pause", "resume"),
        break_="kill -9 a producer in the middle of a transaction, then start it again",
    )
    default_subject = TRANSACTIONS
    BINDINGS: ClassVar[list[BindingType]] = [*declaration.act_keys()]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them."""
        self._choice = TransactionChoice()
        self._broker = BrokerOfActs(self.model)
        self._answer = TransactionAnswer(self.model, id="transaction-answer")
        self._lines = TransactionLines(self.model, self._choice)
        self._head = TransactionHead(self.model, self._choice)
        self._partitions = HeldLines(self.model, self._choice)
        yield self._answer
        with Vertical(id="transaction-list") as listed:
            self._listed = listed
            yield self._lines
        yield self._head
        yield self._partitions

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def tick(self) -> None:
        height = self.size.height
        set_rows(self._answer, 2 if height < _HIGH else 3)
        if self._lines.is_mounted:
            self._lines.tick()
        most = max(height // 4, 4)
        set_rows(self._listed, min(max(self._lines.count() + 1, 3), most))
        set_rows(self._head, max(_LEAST_HEAD, min(self._head.needs() + 1, height // 5)))
        keys = self._broker.title()
        self._listed.border_title = f"transactional ids{self._lines.title_words()}{keys}"
        self._partitions.border_title = f"partitions{self._partitions.title_words()}"
        super().tick()

    def act_values(self) -> dict[str, int | str]:
        """Return the broker that ← → has chosen."""
        return self._broker.act_values()

    def action_broker(self, by: int) -> None:
        """Choose the next broker for the acts."""
        self._broker.move(by)
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Follow the causes of the last fact about the chosen transactional id."""
        view = self._choice.of(self.model.transactions)
        if view is None or view.envelope is None:
            self.notify("nothing has happened to this transactional id since you began to look")
            return
        self.app.push_screen(ChainScreen(self.model.ticker, view.envelope))
