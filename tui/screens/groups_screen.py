"""The screen Groups (7): why a group rebalanced, which members wait for others, and which
partitions moved.
"""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize

from kafka_edu.instruments.replay import Replay
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..guest_consumers import GuestConsumers
from ..model import Model
from ..subjects import CLIENT_PARTITIONS, GROUP_MEMBERS, GROUPS
from ..widgets.drawn import Lines
from ..widgets.group_board import (
    GroupAnswer,
    GroupChoice,
    GroupLines,
    GroupWay,
    MemberLines,
    OffsetLines,
    RebalanceLines,
)
from ..widgets.member_clients import MemberClients
from .chain_screen import ChainScreen
from .client_screen import ClientScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_DONE: Final = {
    "join": "joins; it commits no offsets, and its session time-out is 6 s",
    "silence": "is stopped with SIGSTOP: it sends no more heartbeats",
    "wake": "goes on (SIGCONT)",
    "leave": "leaves the group and ends",
}
_SIDE_BY_SIDE: Final = 150
"""From this width on, the offsets are to the right of the members.

On a narrower screen they are below them.
"""
_WITH_CLIENTS: Final = 160
"""From this width on, the data from the members' clients are to the right of the members.

The offsets are then below the members.
"""
_HIGH: Final = 32


class GroupsScreen(DashboardScreen):
    """Shows all groups, and the chosen group with its rebalances, members and offsets."""

    declaration = ScreenDeclaration(
        name="groups",
        key="7",
        title="Groups",
        question="Why did this group rebalance, and which member do the others wait for?",
        subjects=(GROUPS, GROUP_MEMBERS, CLIENT_PARTITIONS),
        acts=("kill", "pause", "resume", "start"),
        break_="a third consumer joins (j); it sends nothing more (p: SIGSTOP)",
    )
    default_subject = GROUPS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "offsets", "offsets"),
        Binding("c", "client", "its client"),
        Binding("j", "guest('join')", "one more joins"),
        Binding("p", "guest('silence')", "SIGSTOP it"),
        Binding("r", "guest('wake')", "SIGCONT it"),
        Binding("x", "guest('leave')", "it leaves"),
    ]

    def __init__(self, model: Model, replay: Replay | None, folder: ClusterFolder | None) -> None:
        super().__init__(model, replay, folder)
        self._guests = GuestConsumers()
        self._both = False
        """Whether there is room for both members and offsets."""
        self._choice = GroupChoice()

    def choose(self, group: str) -> None:
        """Choose a group, before the screen is shown."""
        self._choice.group, self._choice.rebalance_us = group, None

    def body(self) -> ComposeResult:
        """Yield the screen's widgets, and keep references to them for later updates."""
        self._groups = GroupLines(self.model, self._choice)
        self._answer = GroupAnswer(self.model, self._choice)
        self._way = GroupWay(self.model, self._choice)
        self._rebalances = RebalanceLines(self.model, self._choice)
        self._members = MemberLines(self.model, self._choice)
        self._offsets = OffsetLines(self.model, self._choice)
        self._clients = MemberClients(self.model, self._choice)
        yield self._answer
        yield self._way
        yield self._groups
        yield self._rebalances
        with Container(id="group-body"):
            with Container(id="group-left"):
                yield self._members
                yield self._offsets
            yield self._clients

    def on_mount(self) -> None:
        self._rebalances.border_title = "rebalances, the newest first: ⏎ its causes"
        self._members.border_title = "members: before → after the chosen rebalance"
        self._groups.focus()
        self.tick()

    def on_resize(self, event: Resize) -> None:
        """Arrange the widgets for the new size.

        On a wide screen they are in columns. On a low screen only members or only offsets are
        shown.
        """
        wide, high = event.size.width >= _SIDE_BY_SIDE, event.size.height >= _HIGH
        clients = event.size.width >= _WITH_CLIENTS and high
        self.query_one("#group-body").set_class(clients, "clients")
        self.query_one("#group-left").set_class(wide and not clients, "wide")
        self._clients.display = clients
        self._both = wide or high
        self._offsets.display = self._both
        self._members.display = True
        self._answer.styles.height = 4 if high else 3

    def tick(self) -> None:
        self._choice.settle(self.model.groups)
        rows = len(self.model.groups.rebalances.groups)
        height = self.size.height
        self._groups.styles.height = min(max(rows, 1), max(height // 10, 2)) + 1
        self._rebalances.styles.height = max(height // 8, 3) + 1
        self._groups.border_title = f"groups{self._groups.order_words()}"
        order = self._offsets.order_words(", the largest lag first")
        self._offsets.border_title = f"offsets, committed of the high watermark{order}"
        words = f"their clients: position, committed, lag{self._clients.out_of_view()}"
        self._clients.border_title = words
        super().tick()
        for widget in (self._members, self._offsets, self._clients):
            if widget.is_mounted and widget.display:
                widget.tick()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key for the offsets if both lists have room, and acts without a use now."""
        if action == "offsets":
            return not self._both
        if action == "client":
            return self.is_mounted and self._members.member() is not None
        if action != "guest":
            return super().check_action(action, parameters)
        if self.folder is None:
            return False
        match parameters:
            case ("join",):
                return bool(self.model.groups.rebalances.groups)
            case ("wake",):
                return self._guests.is_stopped()
            case _:
                return bool(self._guests.names())

    def action_guest(self, act: str) -> None:
        """Let a consumer join the chosen group, or silence, wake or remove the newest one."""
        guests = self._guests
        acts = {
            "join": self._join,
            "silence": guests.silence,
            "wake": guests.wake,
            "leave": guests.leave,
        }
        try:
            name = acts[act]()
        except OSError as error:
            self.acts.refuse(f"the consumer cannot be started: {error}")
            return
        if name:
            self.acts.confirm(f"{name} {_DONE[act]}")
        self.refresh_bindings()

    def _join(self) -> str:
        story = self._choice.story(self.model.groups)
        port = self.model.cluster.brokers.a_live_port()
        if story is None or not port:
            self.acts.refuse("no broker runs that could be asked")
            return ""
        topic = self.model.groups.topic_of(story)
        if not topic:
            self.acts.refuse(f"it is not known which topic group {story.group} reads")
            return ""
        return self._guests.join(f"127.0.0.1:{port}", story.group, topic)

    def on_unmount(self) -> None:
        self._guests.close()

    def action_offsets(self) -> None:
        """Show the offsets instead of the members, or the members again."""
        shows_offsets = self._members.display
        self._members.display = not shows_offsets
        self._offsets.display = shows_offsets
        self.tick()

    def action_client(self) -> None:
        """Show the client of the chosen member on the Client screen."""
        story, row = self._choice.story(self.model.groups), self._members.member()
        client = self.app.get_screen("client")
        assert isinstance(client, ClientScreen)
        if story is None or row is None:
            return
        known = self.model.clients.of_member(story.group, row.member)
        if known is None:
            self.notify(f"no client is known that is member {row.name}")
            return
        client.choose(known.key)
        self.app.switch_screen(client)

    def act_values(self) -> dict[str, int | str]:
        """Return the chosen group's coordinator. Acts on brokers are for this broker."""
        story = self._choice.story(self.model.groups)
        return {"broker": story.coordinator} if story is not None and story.coordinator >= 0 else {}

    def action_broker(self, by: int) -> None:
        """Choose the next or the previous group."""
        self._groups.action_move(by)
        self.tick()

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the causes of a rebalance: the chosen one, or a group's last one."""
        if message.lines in (self._groups, self._rebalances):
            rebalance = self._choice.rebalance(self.model.groups)
            if rebalance is not None:
                self.app.push_screen(ChainScreen(self.model.ticker, rebalance.envelope))
                return
            self.notify("this group has not rebalanced since you began to look")
        else:
            self.action_about()
