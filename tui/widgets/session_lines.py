"""The list of sessions with their countdown, and the list of watches that fired."""

from typing import Final

from rich.text import Text

from ..model import Model
from ..subjects import FIRED, SESSIONS
from ..view_model.figures import duration, old
from ..view_model.zookeeper_view import Fired, SessionView
from .controller_head import took
from .drawn import Drawn, Lines, aged, ink, stacked

_NAME: Final = 11
_WIDE: Final = 76
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
#: Type of a watch's event → its change in words.
_TYPES: Final = {
    "CREATED": "created",
    "DELETED": "deleted",
    "DATA_CHANGED": "data set",
    "CHILDREN_CHANGED": "children",
}
_NOTHING_AFTER_US: Final = 500_000


def countdown(part: float, width: int) -> str:
    """Draw a bar of `width` characters. It is full if `part` is 1."""
    eighths = round(min(max(part, 0.0), 1.0) * width * 8)
    if part > 0:
        eighths = max(eighths, 1)
    return "".join(_EIGHTHS[min(max(eighths - i * 8, 0), 8)] for i in range(width))


class ZookeeperHead(Drawn, can_focus=True):
    """Shows the kind of ZooKeeper, its numbers of znodes, sessions and watches, and the leader of
    an ensemble.
    """

    subject = SESSIONS

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="zookeeper-head")

    def draw(self) -> Text:
        view, colours = self.model.zookeeper, self.palette
        if view.hearsay:
            first = self._without_events()
        else:
            up = ink("ZooKeeper", "bold")
            if not view.linked:
                up = ink("✕ ZooKeeper is down", f"bold {colours.error}")
                up.append(": this is what it held; no session can expire meanwhile", colours.dim)
            elif view.sampled is not None:
                s = view.sampled
                up.append(
                    f" · {s.znodes:,} znodes, {s.ephemerals:,} of them ephemeral · {s.sessions:,}"
                    f" sessions · {s.watches:,} watches · zxid {s.zxid:#x} · mean latency"
                    f" {took(s.latency_avg_us)}"
                )
            if view.linked and view.old_us:
                up = aged([up], view.old_us, colours)[0]
            first = up
        modes = Text()
        for server, mode in view.modes.items():
            modes.append(" · " if modes else "ensemble: ", colours.dim)
            glow = f" on {colours.glow}" if view.glow.glows("mode", server) else ""
            style = f"bold {colours.ok}" if mode == "leader" else "" if mode else colours.error
            modes.append(f"server {server} {mode or 'serves nobody'}", style + glow)
        lines = [first, *([modes] if modes else [])]
        return stacked(lines, self.size.width)

    def _without_events(self) -> Text:
        view, colours = self.model.zookeeper, self.palette
        if not view.foreign and len(view.tree) < 2:
            return ink("… no ZooKeeper has sent anything yet", colours.dim)
        if view.kind == "apache":
            line = ink("Apache ZooKeeper emits no events", f"bold {colours.warning}")
        elif view.foreign:
            line = ink(f"the ZooKeeper at {view.kind} emits no events", f"bold {colours.warning}")
        else:
            line = ink("ZooKeeper has sent nothing here", f"bold {colours.warning}")
        return line.append(
            ": below is what the brokers report; no countdown, and only znodes that they name"
        )


class SessionLines(Lines):
    """One line for each session: its owner, and how long it still lasts if its client stays
    silent.
    """

    subject = SESSIONS

    def __init__(self, model: Model) -> None:
        super().__init__(id="sessions")
        self.model = model
        self._broker: int | None = None

    def sessions(self) -> list[SessionView]:
        return self.model.zookeeper.shown_sessions()

    @property
    def selected(self) -> SessionView | None:
        sessions = self.sessions()
        return sessions[min(self.cursor, len(sessions) - 1)] if sessions else None

    @property
    def broker(self) -> int | None:
        """The broker that owns the selected session, or None."""
        return self.selected.broker if self.selected is not None else None

    def tick(self) -> None:
        """Keep the cursor on the same broker when rows come and go."""
        sessions = self.sessions()
        if self._broker is not None:
            mine = [i for i, session in enumerate(sessions) if session.broker == self._broker]
            if mine and self.cursor not in mine:
                self.cursor = mine[0]
        super().tick()
        self._broker = self.broker

    def action_move(self, by: int) -> None:
        super().action_move(by)
        self._broker = self.broker

    def move(self, by: int) -> None:
        """Select another session, `by` lines below."""
        count = max(self.count(), 1)
        self.action_move((self.cursor + by) % count - self.cursor)

    def count(self) -> int:
        return len(self.sessions())

    def empty(self) -> str:
        return "no session is known"

    def line(self, index: int) -> Text:
        session, colours, view = self.sessions()[index], self.palette, self.model.zookeeper
        now_us, narrow = view.glow.now_us, self.size.width < 60
        glow = f" on {colours.glow}" if view.glow.glows("session", session.id) else ""
        mark = "▶ " if index == self.cursor else "  "
        line = ink(mark, f"bold {colours.text}")
        name = self._whose(session, glow)
        line.append_text(name).append(" " * max(_NAME - name.cell_len, 0))
        if session.ended:
            ago = duration((now_us - session.ended_us) / 1000)
            how = "✕ expired" if session.ended == "expired" else "closed by its client"
            style = f"bold {colours.error}" if session.ended == "expired" else colours.dim
            return line.append(f" {how} {ago} ago", style)
        if view.old_us and not view.hearsay:
            left = session.left_ms(view.sampled_us)
            then = f"{duration(left)} left then" if left is not None else "alive then"
            return line.append(f" ? {old(view.old_us)}: {then}", colours.dim)
        left, silent = session.left_ms(now_us), session.silent_ms(now_us)
        if left is None or not session.timeout_ms:
            line.append(f" {session.id:#x}", colours.dim)
            words = "alive, brokers say" if view.hearsay else "no countdown known"
            return line.append(f"  {words}", colours.dim)
        part = left / session.timeout_ms
        style = colours.ok if part > 0.5 else colours.warning if part > 0.2 else colours.error
        line.append(f" ▕{countdown(part, 6 if narrow else 10)}▏", style)
        dying = silent is not None and silent > session.timeout_ms / 2
        if dying:
            line.append(f" dies in {duration(left)}", f"bold {colours.error}")
        if silent is not None:
            words = f"silent {duration(silent)}" if dying else f"heard {duration(silent)} ago"
            line.append(f" {words}", "" if dying else colours.dim)
        if session.disconnected_us:
            line.append(" no connection", f"bold {colours.error}")
        if not (narrow and dying):
            line.append(f"  {session.watches} watches", colours.dim)
        if not narrow:
            line.append(f" · {session.ephemerals} ⚡", colours.dim)
        if self.size.width >= _WIDE:
            line.append(f" · time-out {duration(session.timeout_ms)}", colours.dim)
        return line

    def _whose(self, session: SessionView, glow: str) -> Text:
        colours, broker = self.palette, session.broker
        if broker is None:
            peer = session.peer.rpartition(":")[2]
            return ink(f"client :{peer}" if peer else f"{session.id:#x}", colours.quiet(bool(glow)))
        name = ink(f"broker {broker}", f"bold {colours.broker(broker)}{glow}")
        known = self.model.cluster.brokers.by_id.get(broker)
        if broker == self.model.cluster.controller:
            name.append("♛", colours.warning)
        if known is not None and known.process in ("paused", "stopped") and not session.ended:
            sign = "‖" if known.process == "paused" else "✕"
            name.append(f" {sign}" + ("" if self.size.width < 60 else known.process), "bold")
        return name


class FiredLines(Lines):
    """One line for each watch that fired in the last ten seconds, the newest first."""

    subject = FIRED

    def __init__(self, model: Model) -> None:
        super().__init__(id="fired")
        self.model = model

    def fired(self) -> list[Fired]:
        return self.model.zookeeper.lately_fired()

    def count(self) -> int:
        return len(self.fired())

    def empty(self) -> str:
        total = self.model.zookeeper.fired_total
        return "no watch fired in the last 10 s" + (f", {total:,} before" if total else "")

    def line(self, index: int) -> Text:
        fired, colours = self.fired()[index], self.palette
        now_us = self.model.zookeeper.glow.now_us
        narrow = self.size.width < 70
        ago = "" if narrow else "ago "
        line = ink(f"{duration((now_us - fired.at_us) / 1000):>6} {ago}", colours.dim)
        line.append(fired.path, "bold")
        line.append(f" {_TYPES.get(fired.type, fired.type.lower())} → ", colours.dim)
        if fired.broker is None:
            return line.append("another client", colours.dim)
        line.append(f"b{fired.broker} ", f"bold {colours.broker(fired.broker)}")
        if fired.made:
            line.append(fired.made, "bold")
            if fired.took_us >= 0:
                waited = "" if narrow else f"waited {took(max(fired.waited_us, 0))}, took "
                line.append(f" {waited}{took(fired.took_us)}", colours.dim)
            elif fired.waited_us >= 0:
                line.append(" busy with it", colours.warning)
        elif now_us - fired.at_us > _NOTHING_AFTER_US:
            line.append("no event", colours.dim)
        return line
