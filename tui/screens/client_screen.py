"""The screen Client (C): a producer's unsent batches and their reasons, a consumer's positions."""

from typing import ClassVar, Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from kafka_edu.instruments.replay import Replay
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..model import Model
from ..subjects import CLIENT_PARTITIONS, CLIENTS
from ..view_model.client_view import ClientKey, ClientView
from ..widgets.broker_choice import BrokerOfActs
from ..widgets.client_board import (
    ClientAnswer,
    ClientChoice,
    ClientHead,
    ClientLines,
    ClientPartitions,
)
from ..widgets.drawn import Lines, set_rows
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_LEAST_HEAD, _MOST_HEAD = 5, 9


@runtime_checkable
class ShowsGroup(Protocol):
    """The Groups screen, which imports this module."""

    def choose(self, group: str) -> None: ...


class ClientScreen(DashboardScreen):
    """Shows the clients, and below the chosen client's connections, news and partitions."""

    declaration = ScreenDeclaration(
        name="client",
        key="C",
        title="Client",
        question="What does the client hold, and why has it not been sent?",
        subjects=(CLIENTS, CLIENT_PARTITIONS),
        acts=("kill", "start", "pause", "resume"),
        break_="start a load (l) and kill a leader; or stop the process of a consumer",
    )
    default_subject = CLIENTS
    BINDINGS: ClassVar[list[BindingType]] = [
        *declaration.act_keys(),
        Binding("c", "group", "its group"),
    ]

    def __init__(self, model: Model, replay: Replay | None, folder: ClusterFolder | None) -> None:
        super().__init__(model, replay, folder)
        self._choice = ClientChoice()

    def choose(self, key: ClientKey) -> None:
        """Choose a client, before the screen is shown."""
        self._choice.key = key

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them."""
        self._broker = BrokerOfActs(self.model)
        self._answer = ClientAnswer(self.model, id="client-answer")
        self._lines = ClientLines(self.model, self._choice)
        self._head = ClientHead(self.model, self._choice)
        self._partitions = ClientPartitions(self.model, self._choice)
        yield self._answer
        with Vertical(id="client-list") as listed:
            self._listed = listed
            yield self._lines
        yield self._head
        yield self._partitions

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def tick(self) -> None:
        if self._lines.is_mounted:
            self._lines.tick()
        self._listed.border_title = f"clients{self._broker.title()}"
        set_rows(self._listed, max(min(self._lines.count() + 1, self.size.height // 5), 3))
        room = self.size.height // 5
        set_rows(self._head, max(_LEAST_HEAD, min(room, _MOST_HEAD)))
        super().tick()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key for the group if the chosen client is in no group."""
        if action == "group":
            return bool(self._choice.group())
        return super().check_action(action, parameters)

    def action_group(self) -> None:
        """Show the group of the chosen client on the Groups screen."""
        groups = self.app.get_screen("groups")
        if (group := self._choice.group()) and isinstance(groups, ShowsGroup):
            groups.choose(group)
            self.app.switch_screen("groups")

    def act_values(self) -> dict[str, int | str]:
        """Return the broker that ← → has chosen."""
        return self._broker.act_values()

    def action_broker(self, by: int) -> None:
        """Choose the next broker for the acts."""
        self._broker.move(by)
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Follow the causes of the last news of the chosen client."""
        row = self._choice.row
        if not isinstance(row, ClientView) or not row.news:
            self.notify("nothing has happened to this client since you began to look")
            return
        self.app.push_screen(ChainScreen(self.model.ticker, row.news[-1].envelope))
