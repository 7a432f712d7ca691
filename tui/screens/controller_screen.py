"""The screen Controller (5): what did the controller decide, and why?"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize

from kafka_edu.trace.event import Envelope

from ..subjects import CONTROLLER_QUEUE, DECISIONS, STATE_MACHINES
from ..view_model.state_machine_view import PARTITION, REPLICA
from ..widgets.controller_events import EventLines, EventsHead, PartitionDecisions
from ..widgets.controller_head import ControllerHead
from ..widgets.decision_lines import DecisionLines
from ..widgets.drawn import Lines
from ..widgets.machine_board import MachineBoard
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_ACTIONS = ("kill", "stop", "start", "pause", "resume")
_WIDE, _HIGH = 100, 34


class ControllerScreen(DashboardScreen):
    """Shows the queue, its events, the selected event's results, and two state machines."""

    declaration = ScreenDeclaration(
        name="controller",
        key="5",
        title="Controller",
        question="What did the controller decide, and why?",
        subjects=(CONTROLLER_QUEUE, DECISIONS, STATE_MACHINES),
        acts=(*_ACTIONS, "delete-controller", "elect-preferred", "elect-unclean", "reassign"),
        break_="kill -9 of the controller; stop a broker (SIGTERM)",
    )
    default_subject = DECISIONS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "events/partitions"),
        *declaration.act_keys(),
    ]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them.

        While the screen closes, a tick may still come. Then only these references find the widgets.
        """
        self._broker: int | None = None
        self._head = ControllerHead(self.model)
        self._columns, self._events = EventsHead(self.model), EventLines(self.model)
        self._partitions = PartitionDecisions(self.model)
        self._decisions = DecisionLines(self.model)
        self._machines = [MachineBoard(self.model, name) for name in (PARTITION, REPLICA)]
        yield from (self._head, self._columns, self._events, self._partitions, self._decisions)
        yield Container(*self._machines, id="machines")

    def on_mount(self) -> None:
        self._partitions.display = False
        self._decisions.border_title = "what followed"
        self._events.focus()
        self.tick()

    def on_resize(self, event: Resize) -> None:
        tables = event.size.width >= _WIDE and event.size.height >= _HIGH
        self.query_one("#machines").set_class(tables, "tables")
        self._head.styles.height = 3 if event.size.height >= 30 else 2

    def tick(self) -> None:
        self._head.selected = self.selected
        if self._partitions.display:
            decision = self._partitions.chosen
            record = decision.record if decision is not None else None
            self._decisions.show(record, decision.envelope if decision is not None else None)
        else:
            self._decisions.show(self._events.chosen)
        for machine in self._machines:
            machine.tick()
        super().tick()

    @property
    def selected(self) -> int | None:
        """Return the broker for the acts: the chosen one, or the controller if none is chosen."""
        if self._broker is not None:
            return self._broker
        term = self.model.controller.term
        return (
            term.broker if term is not None else next(iter(self.model.cluster.brokers.by_id), None)
        )

    def action_broker(self, by: int) -> None:
        brokers = list(self.model.cluster.brokers.by_id)
        if brokers:
            now = self.selected
            at = brokers.index(now) if now in brokers else 0
            self._broker = brokers[(at + by) % len(brokers)]
            self.tick()

    def action_view(self) -> None:
        """Switch between the list of events and the list of partitions."""
        shown = self._partitions.display
        self._partitions.display, self._events.display = not shown, shown
        self._columns.display = shown
        (self._events if shown else self._partitions).focus()
        self.tick()

    def action_act(self, name: str) -> None:
        """Start an act, and keep its broker selected.

        It stays selected, so that a killed broker can be started again even if there is a new
        controller.
        """
        self._broker = self.selected
        super().action_act(name)

    def act_values(self) -> dict[str, int | str]:
        broker = self.selected
        return {"broker": broker} if broker is not None else {}

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the chain of causes of the selected line."""
        fact: Envelope | None
        if message.lines is self._decisions:
            fact = self._decisions.fact(message.index)
        elif message.lines is self._partitions:
            decision = self._partitions.chosen
            fact = decision.envelope if decision is not None else None
        elif message.lines is self._events:
            event = self._events.chosen
            fact = event.envelope if event is not None else None
        else:
            return
        if fact is not None:
            self.app.push_screen(ChainScreen(self.model.ticker, fact))
