"""The screen ZooKeeper (6): its znodes, their watchers, and the sessions that are about to end."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.events import Resize

from ..subjects import FIRED, SESSIONS, ZNODES
from ..widgets.drawn import Lines
from ..widgets.session_lines import FiredLines, SessionLines, ZookeeperHead
from ..widgets.znode_lines import ZnodeDetail, ZnodeLines
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

_ACTIONS = ("pause", "resume", "kill", "start", "stop")
_WIDE = 110


class ZookeeperScreen(DashboardScreen):
    """Shows the tree, the sessions with their countdown, and the watches that fired."""

    declaration = ScreenDeclaration(
        name="zookeeper",
        key="6",
        title="ZooKeeper",
        question="What does ZooKeeper hold, which brokers watch it, which session will end?",
        subjects=(ZNODES, SESSIONS, FIRED),
        acts=(*_ACTIONS, "expire-session", "delete-controller", "write-controller"),
        break_="pause a broker (SIGSTOP); delete /controller",
    )
    default_subject = ZNODES
    BINDINGS: ClassVar[list[BindingType]] = [*declaration.act_keys()]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them.

        While the screen closes, a tick may still come. Then only these references find the widgets.
        """
        self._head = ZookeeperHead(self.model)
        self._tree, self._detail = ZnodeLines(self.model), ZnodeDetail(self.model)
        self._sessions, self._fired = SessionLines(self.model), FiredLines(self.model)
        yield self._head
        with Container(id="zookeeper"):
            yield Vertical(self._tree, self._detail, id="znode-side")
            yield Vertical(self._sessions, self._fired, id="session-side")

    def on_mount(self) -> None:
        self._tree.border_title = "znodes"
        self._sessions.border_title = "sessions"
        self._fired.border_title = "watches that fired in the last 10 s"
        self._sessions.focus()
        self.tick()

    def on_resize(self, event: Resize) -> None:
        self.query_one("#zookeeper").set_class(event.size.width >= _WIDE, "wide")
        self._detail.display = event.size.height >= 30

    def tick(self) -> None:
        self._head.styles.height = 2 if self.model.zookeeper.modes else 1
        latest = self.model.zookeeper.tree.latest if self._tree.cursor == 0 else None
        chosen = self._tree.chosen
        self._detail.node = latest or (chosen.node if chosen is not None else None)
        self._detail.border_title = "what changed last" if latest else "the selected znode"
        for part in (self._tree, self._detail, self._sessions, self._fired):
            part.tick()
        super().tick()

    def action_broker(self, by: int) -> None:
        self._sessions.move(by)

    def act_values(self) -> dict[str, int | str]:
        broker = self._sessions.broker
        return {"broker": broker} if broker is not None else {}

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the chain of causes of a watch that fired."""
        if message.lines is self._fired:
            fired = self._fired.fired()
            if message.index < len(fired):
                self.app.push_screen(ChainScreen(self.model.ticker, fired[message.index].envelope))
