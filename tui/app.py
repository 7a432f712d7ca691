"""The dashboard application.

It takes events from a feed or a recording and gives them to the model. Ten times a second it takes
the new events. Five times a second, or more often in a flood of events, it lets the screen draw the
changes.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Protocol

from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.dom import DOMNode
from textual.events import Event, Key
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.screen import ModalScreen

from kafka_edu.common.terminal_picture import tidy
from kafka_edu.common.time import SystemTime, Time
from kafka_edu.common.words import plural
from kafka_edu.instruments.backlog import BEHIND_US, HOLD_BACK_US
from kafka_edu.instruments.look_back import look_back
from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.instruments.trace_feed import TraceFeed, now_us
from kafka_edu.supervisor.act_table import ACTS, Parameter
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Level

from .ascii import AsciiFilter
from .asking import Ask, by_socket, of_recording
from .commands import DashboardCommands, PaletteCommand
from .futures.compared_future import ComparedFuture
from .in_chinese import ChineseFilter, names_like_terms
from .load_process import LoadProcess
from .model import Model
from .palette import THEMES
from .player import RING_KEYFRAMES_BYTES, RINGS_BYTES, Keyframes, Player, keyframes_of
from .report import AppReport
from .screens.act_screen import ActScreen
from .screens.breakpoint_screen import BreakpointScreen
from .screens.dashboard_screen import DashboardScreen, Ticks
from .screens.declaration import ScreenDeclaration
from .screens.filter_screen import FilterScreen
from .screens.glossary_screen import GlossaryScreen
from .screens.registry import DECLARATIONS, SCREENS
from .simulated_load import SimulatedLoad
from .view_model.wire_view import WireView
from .widgets.keys_footer import KeysFooter

_WORDS: Final = {p.value: p.value.upper() for p in Parameter}
TICK_S: Final = 0.1
FLOOD_TICK_S: Final = 0.08
"""The time between two ticks in a flood of events, in seconds.

It is less than 0.1 s, so that ten frames a second are possible although ticks come late in a flood.
"""
REST_S: Final = 0.01
"""The minimum pause between two ticks, in seconds. Painting and keys use this time."""
FRAME_S: Final = 0.2
"""The time between two frames without a flood, in seconds: every second tick draws a frame."""
LATE_FRAME_S: Final = 0.5
"""The time between two frames while events are late, in seconds.

Fewer frames are drawn then, because the events need the processor time.
"""
LONGEST_REST_S: Final = 1.5
FRAME_SHARE: Final = 4
"""After a frame that had to wait for a core, the next frame waits FRAME_SHARE times as long.

The machine is busy then, and keys and events come first.
"""
LATE_US: Final = 1_000_000
"""Events that have waited longer than this, in µs, are late: see LATE_FRAME_S."""
KEY_TURNS: Final = 4
"""The largest number of loop turns that a key needs from the terminal to the app."""
TURNS_S: Final = 0.03
"""The longest time to wait for KEY_TURNS turns of the loop, in seconds.

In a process that gets little processor time, a turn takes long. After this time the app continues
with events, even if not all turns are over.
"""
KEY_FIRST_S: Final = 0.6
"""The longest time, in seconds, for which events and frames wait for the answer to a key.

The wait begins when the key is read.
"""
STARVED_KEY_FIRST_S: Final = 1.2
"""The longest wait for a key's answer, in seconds, if the loop's turns take long.

A new screen may need 0.1 s of processor time, which can take one second if the process gets little
of it.
"""
MOST_STEPS: Final = 10
"""The most steps that are made at once, if a key repeats faster than the steps can be made.

The other steps are left out. So the view stops moving as soon as the key is released.
"""
LEFT_OUT_SHOWN_S: Final = 10.0
"""For how many seconds the top line shows which events were left out."""
LONGEST_TICK_US: Final = 1_000_000
"""The longest time, in µs, by which one tick moves a recording forward.

The limit is needed after ctrl+z or a sleep of the machine. Without it, the recording would jump
forward by the whole pause.
"""
TAKING_US: Final = 50_000
"""For how many µs in a row the app takes events. Then it handles keys."""
TAKING_CPU_S: Final = 0.008
"""The processor time, in seconds, that events get at least in a turn.

On a busy machine, events are therefore taken for longer than TAKING_US.
"""
LONGEST_TAKING_US: Final = 150_000
FLOOD: Final = 500
"""A tick that takes at least this many events begins a flood. In a flood the ticks are FLOOD_TICK_S
apart.
"""
SLICE: Final = 50
"""How many events are taken before the clock is read again. They cost some ms of processor time."""
SHOWN_US: Final = 5_000_000
"""A simulated run that goes back shows its last events before the wanted moment, of this time."""
#: How many seconds a picture of a live cluster waits for the first events of the processes. A
#: paused process sends none.
LINK_TIMEOUT_S: Final = 4.0
FOOTER_TIMEOUT_S: Final = 2.0


def next_due(due_s: float, now_s: float, beat_s: float = TICK_S) -> float:
    """Return the time, in seconds, of the next tick. `due_s` is the time of the last one.

    At most one missed tick is made up for. Ticks that were missed while the machine slept are
    skipped.
    """
    return max(due_s + beat_s, now_s - beat_s)


def next_frame(
    began_s: float, ended_s: float, worked_s: float, *, flooded: bool, late_us: int
) -> float:
    """Return the time at which the next frame is due, in seconds.

    The last frame was drawn from `began_s` to `ended_s`, with `worked_s` of processor time. In a
    flood, every tick draws a frame as long as the events are not late. If the events are late,
    fewer frames are drawn.
    """
    every_s = LATE_FRAME_S if late_us > LATE_US else 0.0 if flooded else FRAME_S
    waited_s = max(ended_s - began_s - worked_s, 0.0)
    rest_s = min(FRAME_SHARE * waited_s, LONGEST_REST_S)
    return max(began_s + every_s - TICK_S / 2, ended_s + rest_s)


class Feed(Protocol):
    """A source of events that arrive over time. TraceFeed reads a live cluster."""

    async def run(self) -> None: ...

    def complete(self) -> bool: ...

    def drain(self, now: int | None = None, most: int = ...) -> list[Envelope]: ...

    def late_us(self) -> int: ...

    def to_now(self) -> None: ...

    @property
    def left_out(self) -> Counter[str]: ...


class DashboardApp(App[None]):
    """The application. It takes a `folder` for a live cluster or a `replay` for a recording.

    Pass only one of them.
    """

    CSS_PATH = Path(__file__).with_name("dashboard.tcss")
    TITLE = "kafka-edu dashboard"
    shares_thread: ClassVar[bool] = False
    """Whether the simulated run that is shown runs in the thread of the application."""
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {DashboardCommands}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(each.key, f"look('{each.name}')", each.title, show=False)
            for each in DECLARATIONS
        ),
        Binding("l", "load", "load"),
        Binding("colon", "command_palette", "all", key_display=":"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("q", "quit", "quit"),
        Binding("space", "play", "play"),
        Binding("full_stop", "step(1)", "step", key_display=".,"),
        Binding("comma", "step(-1)", "step back", show=False),
        Binding("plus", "speed(1)", "faster", show=False),
        Binding("minus", "speed(-1)", "slower", show=False),
        Binding("greater_than_sign", "wind(5000)", "wind on", show=False),
        Binding("less_than_sign", "wind(-5000)", "wind back", show=False),
        Binding("z", "now", "to now"),
        Binding("u", "unit", "unit of steps"),
        Binding("m", "motion", "slow"),
        Binding("b", "breakpoints", "stops"),
        Binding("g", "glossary", "中文", show=False),
        Binding("escape", "clear_filter", "all lines", key_display="esc"),
        Binding("d", "dark", "light/dark", show=False),
    ]

    def __init__(
        self,
        name: str,
        folder: ClusterFolder | None = None,
        replay: Replay | None = None,
        record: Path | None = None,
        screen: str = DECLARATIONS[0].name,
        ascii_only: bool = False,
        light: bool = False,
        wire: WireView | None = None,
        feed: Feed | None = None,
        warnings: Sequence[str] = (),
        report: AppReport | None = None,
        player: Player | None = None,
        ask: Ask | None = None,
    ) -> None:
        """Create the application. `wire` contains frames that were captured before.

        The `warnings` are shown at the start. `report` gets how late the view is, and how fast keys
        are answered. Without a `player`, the app has its own. `ask` is the function that has acts
        carried out. Without it, the supervisor in the `folder` carries them out.
        """
        super().__init__()
        self._first = screen
        self._warnings = warnings
        self.declarations = DECLARATIONS
        """All screens, in the order of the jump keys."""
        self.chinese = False
        """Whether the words of the glossary are shown in Chinese."""
        self._chinese_filter = ChineseFilter()
        self.filter_words: tuple[str, ...] = ()
        """The words that a line of a list must contain to be shown."""
        self._light = light
        self.ascii_filter = AsciiFilter(enabled=ascii_only)
        self.player = player or Player(Model(name), replay)
        self.model = self.player.model
        if wire is not None:
            self.model.wire = wire
        self.replay = replay
        self._folder = folder
        self.ask_supervisor = ask or (by_socket(folder) if folder is not None else of_recording)
        self._level = Level.STATE
        self._simulation = feed if isinstance(feed, StageFeed) else None
        """The events of a simulated run, or None for a real cluster."""
        self._said_of_stage = ""
        self._stops_sent = frozenset[str]()
        """The breakpoints that the simulated run knows."""
        self._compared: ComparedFuture | None = None
        """The stored future that is shown next to the present one, or None."""
        self._load: LoadProcess | SimulatedLoad | None = None
        if self._simulation is not None:
            self._load = SimulatedLoad(self.ask_supervisor)
        elif folder is not None:
            self._load = LoadProcess(folder.name)
        self._recorder = Recorder(record, name) if record is not None else None
        self._said_failure = False
        self._feed = feed or (
            TraceFeed(
                folder,
                sheds=True,
                on_line=self._recorder.write_line if self._recorder is not None else None,
            )
            if folder is not None
            else None
        )
        self._report = report
        self._looks: dict[str, DashboardScreen] = {
            screen.declaration.name: screen(self.model, replay, folder) for screen in SCREENS
        }
        self._last_us = now_us()
        self._looked_at: ScreenDeclaration | None = None
        """The screen whose gauges the brokers send often. If it is None, they send all gauges
        often.
        """
        self._frame_due_s = 0.0
        self._key_until_s = 0.0
        """Until this time of the monotonic clock, a key is answered before events and frames."""
        self._key_acted = False
        self._more_to_take = False
        """Whether the last `take_events` left events in the feed."""
        self._taken_until_s = 0.0
        """This thread's processor time when events were last taken, in seconds."""
        self._left_out: deque[tuple[float, Counter[str]]] = deque()
        """Pairs (time, counts of events left out since the start), for the last seconds."""
        self._moves: list[tuple[Callable[[int], None], int]] = []
        """The moves in time that keys have requested, each as a method and its argument."""
        self._reads_rings = False
        self._said_of_rings, self._said_until = "", 0.0

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[1 if self._light else 0].name
        for name, screen in self._looks.items():
            self.install_screen(screen, name)
        self.push_screen(self._first)
        for warning in self._warnings:
            self.notify(
                warning, title="the recording is not complete", severity="warning", timeout=10
            )
        self.begin()

    def begin(self) -> None:
        """Begin to read events, and to tick."""
        if self._feed is not None:
            self.run_worker(self._feed.run(), group="feed", exit_on_error=True)
        self.run_worker(self._tick_on(), group="ticks", exit_on_error=True)

    async def _tick_on(self) -> None:
        """Tick until the application ends.

        Textual's `set_interval` leaves out two ticks for each late one. In a flood many ticks are
        late, and each lost tick would be a lost frame.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + TICK_S
        while self.is_running:
            await asyncio.sleep(max(due - loop.time(), REST_S))
            await self._keys_first()
            await self._take_in_turns()
            if loop.time() >= self._frame_due_s:
                await self._keys_first()
                began_s, worked_s = loop.time(), time.thread_time()
                self.look()
                ended_s, worked_s = loop.time(), time.thread_time() - worked_s
                self._frame_due_s = next_frame(
                    began_s,
                    ended_s,
                    worked_s,
                    flooded=self.model.flooded,
                    late_us=self.model.late_us,
                )
            due = next_due(due, loop.time(), FLOOD_TICK_S if self.model.flooded else TICK_S)

    async def _take_in_turns(self) -> None:
        """Process events, with more processor time while they are late.

        Late events get as much processor time as everything else got since the last tick. Without
        them, a frame would show nothing new. If a simulated run shares this thread, its events are
        late when some are left: the run waits for them.
        """
        began_s = time.thread_time()
        others_s = began_s - self._taken_until_s
        self.take_events()
        while (
            (self.model.late_us > LATE_US or self.shares_thread)
            and self._more_to_take
            and time.thread_time() - began_s < others_s
        ):
            await self._keys_first()
            self.take_events()
        self._taken_until_s = time.thread_time()

    async def _keys_first(self) -> None:
        """Wait until the key that was pressed is answered. Then events and frames continue.

        On a busy machine a frame may take half a second. So no frame begins between a key and its
        answer.
        """
        until_s = time.monotonic() + TURNS_S
        for _ in range(KEY_TURNS):
            await asyncio.sleep(0)
            if time.monotonic() >= until_s:
                break
        rests = 0
        while time.monotonic() < self._key_until_s and rests * REST_S < KEY_FIRST_S:
            rests += 1
            await asyncio.sleep(REST_S)
        self._key_until_s = 0.0

    def tick(self) -> None:
        """Process the events that have arrived, and let the current screen draw."""
        self.take_events()
        self.look()

    def take_events(self) -> None:
        """Process the events that have arrived, and move the model's time forward."""
        now, before = now_us(), self._last_us
        self._last_us = now
        self.player.tick(min(max(now - before, 0), LONGEST_TICK_US))
        if self._feed is not None:
            self._take(self._feed, now)
            self._look_at_load()
            self._look_at_gauges()
            if self._report is not None:
                late_us = HOLD_BACK_US + self.model.late_us
                had_failed = self._report.failure
                self._report.taken(time.monotonic(), late_us / 1e6, self._feed.left_out)
                if self._report.failure != had_failed:
                    self.notify(self._report.failure, severity="error", timeout=10)

    def _take(self, feed: Feed, now: int) -> None:
        """Give the model events that have arrived, until the time for this is used up.

        The other events stay in the feed. So a flood of events makes the view late, but keys stay
        fast.
        """
        began, worked_s = now_us(), time.thread_time()
        taken = 0
        while True:
            if self._simulation is not None and self._simulation.went_back():
                self.player.cut_after(self._simulation.now_us())
                if self._compared is not None:
                    self._compared.compare_again()
                self.went_back()
            envelopes = feed.drain(now, SLICE)
            if self._compared is not None:
                self._compared.difference.take_present(envelopes)
            taken += len(envelopes)
            self.player.take(
                envelopes, self._simulation.now_us() if self._simulation is not None else now
            )
            more = len(envelopes) == SLICE
            if not more or not self._may_take_more(now_us() - began, worked_s):
                break
        self._more_to_take = more
        if self._compared is not None:
            self._compared.take()
        self.model.flooded = more or taken >= FLOOD
        self.model.late_us = feed.late_us()
        self._note_left_out(feed.left_out)
        self._look_at_recording()
        if self._simulation is not None:
            self._look_at_stage(self._simulation)

    def went_back(self) -> None:
        """Do nothing here. A presentation overrides this method, because it has more to do when its
        simulated cluster has gone back.
        """

    def _look_at_stage(self, stage: StageFeed) -> None:
        """Take over the state of the simulated run. Show a new note of the run to the user once."""
        before, now = self.model.simulation, stage.simulation
        self.model.simulation = now
        said = stage.failed
        if not said and now is not None and now.state != "replaying":
            said = now.note
        if said != self._said_of_stage:
            self._said_of_stage = said
            if said:
                self.notify(
                    said,
                    title="the simulation",
                    severity="error" if stage.failed else "information",
                    timeout=10,
                )
        chosen = frozenset(self.player.breakpoints.chosen)
        if now is not None and chosen != self._stops_sent:
            self._stops_sent = chosen
            self._to_stage("sim-stops", {"names": "|".join(sorted(chosen))})
        if self.player.hit is not None and now is not None and now.state == "running":
            self._to_stage("sim-pause")  # the run did not know the breakpoint yet
        if (before is None) != (now is None):
            self.refresh_bindings()

    def _may_take_more(self, took_us: int, worked_s: float) -> bool:
        """Return whether to take more events before keys are handled.

        `took_us` is the time so far. `worked_s` is this thread's processor time at the beginning.
        """
        starved = time.thread_time() - worked_s < TAKING_CPU_S
        return took_us < (LONGEST_TAKING_US if starved else TAKING_US)

    def _note_left_out(self, total: Counter[str]) -> None:
        """Update the counts of events that were left out in the last seconds.

        The top line shows them.
        """
        now = time.monotonic()
        notes = self._left_out
        if not notes or now - notes[-1][0] >= 1.0:
            notes.append((now, total.copy()))
        while len(notes) > 1 and now - notes[1][0] >= LEFT_OUT_SHOWN_S:
            notes.popleft()
        self.model.left_out = total - notes[0][1]

    @property
    def recording_failure(self) -> str:
        """Return why the recording to a file ended too early, or "" if it did not."""
        return self._recorder.failure if self._recorder is not None else ""

    def close_recording(self, say: Callable[[str], None]) -> None:
        """Write the rest of the recording to a file, if there is one.

        This may take long on a slow disk, so the caller first gives the terminal back. If it takes
        long, `say` is called with a sentence.
        """
        if self._recorder is not None:
            self._recorder.close(say)

    def _look_at_recording(self) -> None:
        """Notify the user once if the recording to a file has ended. The dashboard continues.

        If facts are missing in the file, request new snapshots, which are recorded too.
        """
        if self._recorder is None:
            return
        if self._recorder.takes_snapshot() and isinstance(self._feed, TraceFeed):
            self._feed.ask_for_snapshots()
        if self.recording_failure and not self._said_failure:
            self._said_failure = True
            self.notify(self.recording_failure, severity="error", timeout=10)

    def _look_at_gauges(self) -> None:
        """Have the brokers send the gauges of the current screen often.

        A recording needs all gauges.
        """
        screen = self.shown_screen()
        feed = self._feed
        if (
            isinstance(feed, TraceFeed | StageFeed)
            and self._recorder is None
            and screen is not None
        ):
            # Two futures can be compared only if all gauges were sampled at the same moments.
            every = self.model.motion.on or self._simulation is not None
            declaration = None if every else screen.declaration
            if declaration is not self._looked_at:
                self._looked_at = declaration
                feed.look_at(None if declaration is None else declaration.gauges())

    def _look_at_load(self) -> None:
        """Notify the user why the load has ended, if it failed."""
        if self._load is not None and (failure := self._load.failure()):
            self.notify(failure, title="the load has ended", severity="error", timeout=10)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that every painted line passes.

        They are Textual's own filters (NO_COLOR), and ours for Chinese words and for terminals
        without Unicode.
        """
        return [
            *super().get_line_filters(),
            *([self._chinese_filter] * self.chinese),
            *([self.ascii_filter] * self.ascii_filter.enabled),
        ]

    def is_complete(self) -> bool:
        """Return whether each process of the live cluster has sent its first events."""
        return self._feed is not None and self._feed.complete()

    def look(self) -> None:
        """Let the current screen draw the changes."""
        if self.chinese:
            self._keep_names()
        top = self.screen_stack[-1] if self.screen_stack else None
        if isinstance(top, Ticks) and top.is_mounted:
            top.tick()
        elif (screen := self.shown_screen()) is not None:
            screen.tick()

    def _keep_names(self) -> None:
        """Do not translate names of topics, groups and so on that look like terms of the glossary.

        The list is updated when new names appear.
        """
        names = names_like_terms(self.model.names())
        if not names <= self._chinese_filter.names:
            # A new filter is needed, because lines are cached together with their filter.
            self._chinese_filter = ChineseFilter(names)
            self.refresh_css(animate=False)

    def shown_screen(self) -> DashboardScreen | None:
        """Return the dashboard screen that is shown, or that is below a window."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, DashboardScreen) and screen.is_mounted:
                return screen
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys that have no effect now."""
        if action == "speed":
            return self.player.replay is not None or self._simulation is not None
        if action == "unit":
            return self._simulation is not None
        if action == "now":
            late = self._feed is not None and self.model.late_us > BEHIND_US
            return self.player.paused or late
        if action == "clear_filter":
            return bool(self.filter_words)
        if action == "load":
            return self._load is not None
        if action == "look":  # a screen needs no key to itself
            return not self.screen_stack or self.screen is not self._looks.get(str(parameters[0]))
        return True

    def action_look(self, name: str) -> None:
        if isinstance(self.screen, DashboardScreen) and self.screen is not self._looks[name]:
            self.switch_screen(name)

    async def action_load(self) -> None:
        """Start a load, or stop the load that this dashboard has started."""
        screen = self.shown_screen()
        if self._load is None or screen is None:
            return
        if await self._load.runs():
            await self._load.stop()
            screen.acts.confirm("the load stops when its last records are answered")
            return
        try:
            await self._load.start()
        except OSError as error:
            screen.acts.refuse(f"the load cannot be started: {error}")
        else:
            screen.acts.confirm("a load begins: 500 records a second to the topic 'load'")

    def action_glossary(self) -> None:
        """Show the words of the glossary in English or in Chinese, on all screens."""
        screen = self.shown_screen()
        if self.ascii_filter.enabled:
            if screen is not None:
                screen.acts.refuse("Chinese words need a terminal with Unicode, without --ascii")
            return
        self.chinese = not self.chinese
        now, other = ("Chinese", "English") if self.chinese else ("English", "Chinese")
        if screen is not None:
            screen.acts.confirm(f"the words are in {now} now; g switches to {other}")
        self.look()
        self.refresh_css(animate=False)

    async def on_event(self, event: Event) -> None:
        """Note the time when a key was read from the terminal.

        Keys come before events and frames.
        """
        if isinstance(event, Key) and not event.is_forwarded:
            now = time.monotonic()
            if now >= self._key_until_s:  # so a repeating key cannot delay events endlessly
                self._key_until_s = now + STARVED_KEY_FIRST_S
            self._key_acted = False
            if self._report is not None:
                self._report.key_read(event.key, event.time)
        await super().on_event(event)

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[object, ...]],
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action. Record that the key's action is done: the next frame shows its effect."""
        done = await super().run_action(action, default_namespace, namespaces)
        if done:
            self._key_acted = True
            if self._report is not None:
                self._report.key_acted()
        return done

    def post_display_hook(self) -> None:
        if self._key_acted:
            self._key_acted, self._key_until_s = False, 0.0
        if self._report is not None:
            self._report.frame(time.monotonic())

    def on_key(self, event: Key) -> None:
        """Let a digit close a window and jump to a screen, unless the window takes digits."""
        if not isinstance(self.screen, ModalScreen):
            return
        for declaration in DECLARATIONS:
            if event.character == declaration.key:
                while isinstance(self.screen, ModalScreen):
                    self.pop_screen()
                self.action_look(declaration.name)
                event.stop()
                return

    def palette_commands(self) -> Iterator[PaletteCommand]:
        """Yield the commands of the palette (`DashboardCommands`).

        The screen's own acts come first.
        """
        if self.replay is None:
            yield PaletteCommand(
                "load: start or stop", self.action_load, "500 records a second (key l)"
            )
            own = self.screen.declaration.acts if isinstance(self.screen, DashboardScreen) else ()
            for name in sorted(ACTS, key=lambda name: name not in own):
                act = ACTS[name]
                yield PaletteCommand(
                    f"act: {act.title.format(**_WORDS)}",
                    partial(self.choose_act, name),
                    act.effect,
                )
        for each in DECLARATIONS:
            yield PaletteCommand(
                f"screen: {each.title} ({each.key})",
                partial(self.action_look, each.name),
                each.question,
            )
        yield PaletteCommand("about: what does this show?", self.action_about_screen, "key ?")
        yield PaletteCommand(
            "words: English and Chinese · 术语", self.show_words, "each with its meaning"
        )
        yield PaletteCommand("words: English or Chinese · 中文", self.action_glossary, "key g")
        yield PaletteCommand("filter: only lines with these words", self.action_filter, "key /")
        yield PaletteCommand(
            "sort: by the next column", self.action_sort_lines, "key S; R reverses the order"
        )
        yield PaletteCommand("theme: light or dark", self.action_dark, "key d")
        yield PaletteCommand(
            "slow motion: on or off", self.action_motion, "one record on its way (key m)"
        )
        yield PaletteCommand("time: faster", partial(self.action_speed, 1), "key +; - is slower")
        if self.model.moment():
            yield PaletteCommand(
                "time: go on here, without my later acts",
                self.run_without_later_acts,
                "another future of the simulated run",
            )
        yield PaletteCommand(
            "time: back by 5 s", partial(self.action_wind, -5000), "key <; > goes on"
        )
        yield PaletteCommand(
            "stops: breakpoints", self.action_breakpoints, "pause at an event (key b)"
        )
        yield PaletteCommand("quit", self.action_quit, "the cluster goes on (key q)")

    def show_words(self) -> None:
        self.push_screen(GlossaryScreen())

    def action_filter(self) -> None:
        """Ask for words. Then the lists show only the lines that contain them all."""
        self.push_screen(FilterScreen(" ".join(self.filter_words), self._set_filter))

    def _set_filter(self, words: str) -> None:
        self.filter_words = tuple(words.lower().split())
        self.look()
        self.screen.refresh_bindings()

    def action_clear_filter(self) -> None:
        self._set_filter("")

    def action_about_screen(self) -> None:
        if isinstance(self.screen, DashboardScreen):
            self.screen.action_about()

    def action_sort_lines(self) -> None:
        if isinstance(self.screen, DashboardScreen):
            self.screen.action_sort()

    def choose_act(self, name: str) -> None:
        """Ask for the parameters of an act, if it has any, and start the act."""
        screen, act = self.screen, ACTS[name]
        if not isinstance(screen, DashboardScreen):
            return
        if not act.parameters:
            screen.acts.ask(name, {})
            return

        def begin(values: dict[str, int | str] | None) -> None:
            if values is not None:
                screen.acts.ask(name, values)

        self.push_screen(ActScreen(act, screen.act_values()), begin)

    def action_dark(self) -> None:
        dark, light = THEMES
        self.theme = light.name if self.theme == dark.name else dark.name
        for screen in self._looks.values():
            if screen.is_mounted:
                screen.redraw()

    def action_play(self) -> None:
        """Play or pause. On a live cluster only the view pauses, and the cluster continues.

        A simulated run is really paused. If a past moment is shown, the run continues from there.
        """
        if self._simulation is None:
            self._after(self.player.toggle)
        elif moment := self.model.moment():
            self._to_stage("sim-back", {**moment, "plays": 1})
        elif self.player.paused:  # at a breakpoint, where the run stands too
            self._after(self.player.to_now)
            self._to_stage("sim-run")
        else:
            state = self.model.simulation.state if self.model.simulation is not None else ""
            self._to_stage("sim-pause" if state == "running" else "sim-run")

    def _to_stage(self, command: str, values: Mapping[str, int | str] | None = None) -> None:
        """Send a command to the simulated run. The line above the footer shows a refusal."""
        screen = self.shown_screen()
        if screen is not None:
            self.run_worker(screen.acts.ask_simulation(command, values), group="stage")

    async def _step_stage(self, by: int) -> None:
        """Show the next or the previous recorded moment. At the present, let the simulated run go
        on by a step.
        """
        screen = self.shown_screen()
        if screen is None:
            return
        ask = screen.acts.ask_simulation
        if self.model.simulation is not None and self.model.simulation.state == "running":
            await ask("sim-pause")
        if by > 0 and not self.model.moment():
            if self.player.paused:
                self._after(self.player.to_now)
            await ask("sim-step")
            return
        from_us = self.model.cluster.glow.now_us
        found = await ask("sim-find", {"from_us": from_us, "by": by})
        if found is not None and int(found) < self._stage_us():
            await self._show_past(int(found))
        elif by > 0:
            self._after(self.player.to_now)

    async def action_show_moment(self, at_us: int) -> None:
        """Show a past moment of the simulated run. The run itself is paused, and stays where it
        is.
        """
        if self.model.simulation is not None and self.model.simulation.state == "running":
            self._to_stage("sim-pause")
        await self._show_past(at_us)

    async def _show_past(self, at_us: int) -> None:
        """Show a past moment of the simulated run. If its events are not kept any more, the run
        itself goes back there.
        """
        screen = self.shown_screen()
        if self.player.holds(at_us):
            self._after(partial(self.player.show, at_us))
        elif screen is not None:
            await screen.acts.ask_simulation("sim-back", {"at_us": at_us, "shown_us": SHOWN_US})

    def run_without_later_acts(self) -> None:
        """Let the simulated run go on from the past moment that is shown, without what was done by
        hand after it.
        """
        self._to_stage("sim-back", {**self.model.moment(), "plays": 1, "forgets": 1})

    def _stage_us(self) -> int:
        """Return the present virtual time of the simulated run, in µs."""
        return self.model.simulation.at_us if self.model.simulation is not None else 0

    def action_unit(self) -> None:
        """Choose how far a step of the simulated run goes: event, request, timer or millisecond."""
        self.run_worker(self._change_stage("sim-unit"), group="stage")

    async def _change_stage(self, command: str) -> None:
        """Send a command to the simulated run, and show its result."""
        screen = self.shown_screen()
        if screen is not None and (said := await screen.acts.ask_simulation(command)) is not None:
            screen.acts.confirm(said)

    def action_now(self) -> None:
        """Show the live cluster as it is now, even if events are late."""
        self._moves.clear()
        if self._feed is not None:
            self._feed.to_now()
        self._after(self.player.to_now)

    def action_step(self, by: int) -> None:
        if self._simulation is not None:
            self.run_worker(self._step_stage(by), group="steps", exclusive=True)
        else:
            self._move(self._step, by)

    def _step(self, by: int) -> None:
        for _ in range(min(abs(by), MOST_STEPS)):
            self.player.step(1 if by > 0 else -1)

    def action_speed(self, by: int) -> None:
        if self._simulation is not None:
            command = "sim-faster" if by > 0 else "sim-slower"
            self.run_worker(self._change_stage(command), group="stage")
            return
        self._after(lambda: self.player.faster(by))

    def action_wind(self, by_ms: int) -> None:
        if self._simulation is not None:
            at_us = max(self.model.cluster.glow.now_us + 1_000 * by_ms, 0)
            if not self.player.holds(at_us):
                self.run_worker(self.action_show_moment(at_us), group="steps", exclusive=True)
                return
        if self.model.simulation is not None and self.model.simulation.state == "running":
            self._to_stage("sim-pause")
        self._move(self._wind, by_ms)

    def _wind(self, by_ms: int) -> None:
        self.player.wind(by_ms)
        if self._reads_rings:  # the key repeats faster than the processes answer
            return
        if self._simulation is not None:
            return
        if by_ms < 0 and self.player.at_the_beginning and self._folder is not None:
            self._reads_rings = self.model.reads_rings = True
            self.run_worker(self._read_rings(self._folder), group="rings")

    async def _read_rings(self, folder: ClusterFolder) -> None:
        """Load the events from the time before this dashboard was opened.

        Each process keeps the events of its last ten minutes in a ring.
        """
        try:
            past = await look_back(folder, facts_only=True, most_bytes=RINGS_BYTES)
            facts = self.player.older(past.envelopes)
            keyframes = Keyframes(RING_KEYFRAMES_BYTES)
            for frame in keyframes_of(facts, self.model.name):
                if frame is not None:
                    keyframes.add(frame)
                await asyncio.sleep(0)  # let keys be handled first
        finally:
            self._reads_rings = self.model.reads_rings = False
        count = self.player.add_rings(facts, keyframes.frames)
        words = f"{plural(count, 'fact')} from before, out of the processes' rings"
        said = ". ".join([words if count else "nothing older is stored", *past.missing])
        now = asyncio.get_running_loop().time()
        if said != self._said_of_rings or now > self._said_until:  # it is no longer shown
            self._said_of_rings, self._said_until = said, now + self.NOTIFICATION_TIMEOUT
            self.notify(said)
        self.look()

    def action_motion(self) -> None:
        """Turn slow motion on or off. While it is on, the brokers send an event for every hop."""
        on = not self.model.motion.on
        self.model.motion.switch(on)
        self._listen()
        self.look()

    def listen_at(self, level: Level) -> None:
        """Request the events of this level from the processes. Slow motion requests all events."""
        self._level = level
        self._listen()

    def _listen(self) -> None:
        if isinstance(self._feed, TraceFeed | StageFeed):
            self._feed.listen_at(Level.ALL if self.model.motion.on else self._level)

    def action_breakpoints(self) -> None:
        """Open the window in which the user chooses the breakpoints."""
        self.push_screen(BreakpointScreen(self.player.breakpoints))

    def _move(self, move: Callable[[int], None], by: int) -> None:
        """Move in time when all waiting keys have been read.

        A move may take a second on a busy machine, and a key that is held down repeats faster. So
        several moves of one kind become one move, and `q` or `z` does not have to wait for all of
        them.
        """
        if not self._moves:
            self.call_later(self._make_moves)
        if self._moves and self._moves[-1][0] == move:
            by += self._moves.pop()[1]
        self._moves.append((move, by))

    def _make_moves(self) -> None:
        if self._moves:
            self._after(lambda: None)

    def _after(self, act: Callable[[], None]) -> None:
        """Make the requested moves, call a method of the player, and then draw the screen."""
        moves, self._moves = self._moves, []
        for move, by in moves:
            move(by)
        act()
        self.refresh_bindings()
        self.look()

    async def action_quit(self) -> None:
        self.exit()

    async def on_unmount(self) -> None:
        if isinstance(self._load, LoadProcess):  # a simulated load ends with its simulation
            await self._load.stop()
        if self._compared is not None:
            self._compared.end()
        if self._report is not None:
            left_out = self._feed.left_out if self._feed is not None else Counter()
            self._report.close(time.monotonic(), left_out)


async def picture(
    name: str,
    replay: Replay | None,
    at_ms: int,
    screen: str,
    size: tuple[int, int],
    light: bool,
    wire: WireView | None = None,
    ascii_only: bool = False,
) -> str:
    """Return the dashboard at one moment of a recording as an SVG, without a terminal.

    Without a recording, only the frames of `wire` are shown.
    """
    if replay is not None:
        replay.playing = False
    app = DashboardApp(name, replay=replay, wire=wire, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        if replay is not None:
            app.model.apply(replay.wind_to(at_ms))
            replay.playing = False
            app.model.advance(replay.clock_us)
        return await _draw(app, pilot, screen, light)


async def live_picture(
    app: DashboardApp,
    watch_s: float,
    screen: str,
    size: tuple[int, int],
    light: bool,
    time: Time | None = None,
    link_timeout_s: float = LINK_TIMEOUT_S,
) -> str:
    """Watch the app's live cluster, then return the dashboard as an SVG, without a terminal.

    The picture is drawn `watch_s` seconds after each process has sent its first events, or
    `link_timeout_s` later if one never does.
    """
    clock = time or SystemTime()
    async with app.run_test(size=size) as pilot:
        await _until(app.is_complete, clock, link_timeout_s)
        await clock.sleep(watch_s * 1000)
        app.tick()
        return await _draw(app, pilot, screen, light)


async def _until(done: Callable[[], bool], time: Time, limit_s: float) -> None:
    """Wait until `done()` is true, or until `limit_s` seconds are over.

    The limit is a time and not a number of checks, because a check takes long on a busy machine.
    """
    end_ms = time.hi_res_clock_ms() + limit_s * 1000
    while not done() and time.hi_res_clock_ms() < end_ms:
        await time.sleep(TICK_S * 1000)


async def _draw(app: DashboardApp, pilot: Pilot[None], screen: str, light: bool) -> str:
    """Go to the screen, wait until its footer is shown, and return the picture as an SVG."""
    app.action_look(screen)
    if light:
        app.action_dark()
    await pilot.pause()
    app.look()
    # Textual adds the footer a moment later.
    await _until(
        lambda: any(each.shown for each in app.screen.query(KeysFooter)),
        SystemTime(),
        FOOTER_TIMEOUT_S,
    )
    app.look()
    await pilot.pause()
    return tidy(app.export_screenshot(title="kafka-edu dashboard"))
