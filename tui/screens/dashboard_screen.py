"""The common part of all screens: top line, footer, and the answers to `?`, `o` and [enter]."""

from typing import ClassVar, Final, Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Label

from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.trace_feed import now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..model import Model
from ..subjects import Subject
from ..widgets.drawn import Lines, set_rows
from ..widgets.jump_strip import JumpStrip
from ..widgets.keys_footer import KeysFooter
from ..widgets.load_line import LoadLine
from ..widgets.motion_strip import MotionStrip
from ..widgets.status_line import StatusLine
from ..widgets.ticker_lines import TickerLines
from .about_screen import AboutScreen
from .act_line import ActLine
from .declaration import ScreenDeclaration
from .source_screen import SourceScreen


@runtime_checkable
class Ticks(Protocol):
    """A widget that reads the model again when `tick` is called."""

    def tick(self) -> None: ...


@runtime_checkable
class Described(Protocol):
    """A widget with a description, which the key `?` shows."""

    subject: ClassVar[Subject]


LEAST_COLUMNS, LEAST_ROWS = 50, 14
TOO_SMALL = f"too small: make it\n{LEAST_COLUMNS} × {LEAST_ROWS} at least,\nbetter 80 × 24"
_SMALL, _LARGE = 30, 45
"""With fewer rows than _SMALL, the time line is small. With _LARGE rows or more, it is large."""


_LEAST = 18
"""If there is a presenter's panel, and the rest of the screen has fewer rows than this, the time
line is hidden.
"""


_FLOODED_KEYS_US: Final = 1_000_000
_PROCESSES: Final = frozenset({"running", "paused", "stopped"})
_FITS: Final = {
    "kill": {"running", "paused"},
    "stop": {"running", "paused"},
    "pause": {"running"},
    "resume": {"paused"},
    "start": {"stopped"},
}
"""Act → the states of a broker's process in which it is possible.

The footer shows only possible acts.
"""


class DashboardScreen(Screen[None]):
    """One view of the cluster.

    The app calls `tick` when events have come, and a few times a second.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "about", "about", key_display="?"),
        Binding("left", "broker(-1)", "broker", key_display="←→"),
        Binding("right", "broker(1)", "broker", show=False),
        Binding("o", "source", "source", show=False),
        Binding("S", "sort", "sort"),
        Binding("R", "reverse", "reverse"),
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape", "answer(False)", "no", key_display="n"),
    ]
    declaration: ClassVar[ScreenDeclaration]
    default_subject: ClassVar[Subject]
    has_strip: ClassVar[bool] = True
    """Whether the time line is shown below the body."""

    def __init__(self, model: Model, replay: Replay | None, folder: ClusterFolder | None) -> None:
        """Create the screen with a `replay` for a recording, or the `folder` of a live cluster."""
        super().__init__()
        self.model = model
        self.replay = replay
        self.folder = folder
        self.acts = ActLine(model, folder)
        """The line that handles the acts chosen by keys and the palette."""
        self._selected = ("", True)
        """A pair: the state of the selected broker's process, and whether no question is open.

        The footer's keys depend on it.
        """
        self._selected_us = 0
        self._styled_for: tuple[object, ...] = ()
        """The conditions for which the styles of all widgets were last computed."""

    def compose(self) -> ComposeResult:
        yield Label(TOO_SMALL, id="too-small")
        yield StatusLine(self.model, self.replay)
        yield LoadLine(self.model)
        yield from self.body()
        yield MotionStrip(self.model, id="motion")
        if self.has_strip:
            yield TickerLines(self.model)
        yield from self.foot()
        yield self.acts
        yield JumpStrip(self.model, self.declaration)
        yield KeysFooter()

    def body(self) -> ComposeResult:
        """Yield the widgets between the top line and the time line."""
        raise NotImplementedError

    def foot(self) -> ComposeResult:
        """Yield the widgets between the time line and the footer."""
        yield from ()

    def strip_rows(self, height: int) -> int:
        """Return the number of rows of the time line. It is small on a low screen."""
        return 2 if height < _SMALL else 5 if height < _LARGE else 10

    def tick(self) -> None:
        small = self.size.width < LEAST_COLUMNS or self.size.height < LEAST_ROWS
        if small != self.has_class("too-small"):
            self.set_class(small, "too-small")
        self.model.motion.tasks_first = self.declaration.name == "wheels"
        self._refresh_keys()
        # There are no queries in this method: they match selectors against every widget, in each
        # frame.
        panels = sum(child.outer_size.height for child in self.children if child.id == "presenter")
        for child in self.children:
            if isinstance(child, MotionStrip):
                child.display = self.model.motion.on
            elif isinstance(child, TickerLines) and child.id == "ticker":
                self._size_strip(child, panels)
        for child in self.children:
            if isinstance(child, Ticks):
                child.tick()

    def _size_strip(self, strip: TickerLines, panels: int) -> None:
        """Set the rows of the time line.

        `panels` is the number of rows of a presenter's panel, or 0 if there is no panel.
        """
        height = self.size.height - panels
        strip.display = not panels or height >= _LEAST
        rows = self.strip_rows(height) + 1
        set_rows(strip, rows)

    def _refresh_keys(self) -> None:
        """Make the footer show the keys that can be used now.

        Textual then makes a new footer and lays out the whole screen again. In a flood of events, a
        broker may start or end in each frame. So the keys are then updated at most once a second.
        """
        now = now_us()
        selected = (self._process(), self.acts.pending is None)
        due = not self.model.flooded or now - self._selected_us >= _FLOODED_KEYS_US
        if selected != self._selected and due:
            self._selected, self._selected_us = selected, now
            self.refresh_bindings()

    def redraw(self) -> None:
        """Draw everything again, because the theme changed."""
        for lines in self.query(Lines):
            lines.redraw()
        self.refresh(layout=True)
        self.tick()

    def on_screen_resume(self) -> None:
        self.tick()

    def update_node_styles(self, animate: bool = True) -> None:
        """Compute the styles of all widgets again, if they can have changed.

        Textual calls this whenever the screen is shown again. It took a third of the processor time
        of the jump key (120 of 340 ms, profiled). Each widget updates its own classes and focus
        itself. The other conditions are common to all widgets: the theme, and the screen's classes.
        """
        styled_for = (
            self.app.theme,
            self.app.app_focus,
            self.classes,
            frozenset(self.pseudo_classes),
        )
        if styled_for != self._styled_for:
            self._styled_for = styled_for
            super().update_node_styles(animate)

    def subject(self) -> Subject:
        """Return the description of the focused widget, for `?`."""
        focused = self.focused
        return focused.subject if isinstance(focused, Described) else self.default_subject

    def act_values(self) -> dict[str, int | str]:
        """Return values for the parameters of an act, taken from the selection on this screen."""
        return {}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys that have no use now.

        In a recording, these are the keys of acts. If no question is open, these are also the keys
        for yes and no.
        """
        if action == "act":
            ready = self.acts.can_act and self.acts.pending is None
            return ready and self._fits(str(parameters[0]))
        if action == "answer":
            return self.acts.pending is not None
        if action == "sort":
            return self.sortable() is not None
        if action == "reverse":
            lines = self.sortable()
            return lines is not None and lines.sorted_by is not None
        return True

    def _process(self) -> str:
        """Return the state of the selected broker's process, or "" if it is unknown."""
        broker = self.act_values().get("broker") if self.is_mounted else None
        known = self.model.cluster.brokers.by_id
        return known[broker].process if isinstance(broker, int) and broker in known else ""

    def _fits(self, act: str) -> bool:
        """Return whether this act is possible for the selected broker in its current state."""
        process = self._process()
        return process not in _PROCESSES or process in _FITS.get(act, _PROCESSES)

    def sortable(self) -> Lines | None:
        """Return the focused list if it can be sorted. If not, return the first list that can be
        sorted.
        """
        candidates = [self.focused, *self.walk_children(Lines)]
        lists = [each for each in candidates if isinstance(each, Lines)]
        return next((each for each in lists if each.orders and each.display), None)

    def action_sort(self) -> None:
        """Sort the list by the next column."""
        if (lines := self.sortable()) is not None:
            lines.sort()
            self._sorted()

    def action_reverse(self) -> None:
        """Reverse the order of the list."""
        if (lines := self.sortable()) is not None:
            lines.reverse()
            self._sorted()

    def _sorted(self) -> None:
        self.refresh_bindings()
        self.tick()

    def action_act(self, name: str) -> None:
        """Start an act on the selected broker."""
        values = self.act_values()
        if "broker" not in values:
            self.acts.refuse("select a broker first")
            return
        self.acts.ask(name, {"broker": values["broker"]})

    def action_answer(self, yes: bool) -> None:
        self.acts.answer(yes)

    def action_broker(self, by: int) -> None:
        """Select the next broker to the left (-1) or right (1)."""
        raise NotImplementedError

    def action_about(self) -> None:
        self.app.push_screen(AboutScreen(self.subject(), self.declaration, self.sortable()))

    def action_source(self) -> None:
        self.app.push_screen(SourceScreen(self.subject().sources[0]))
