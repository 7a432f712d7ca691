"""The dashboard with a presentation: a panel below each screen, driven by the space key."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from kafka_edu.instruments.look_back import look_back
from kafka_edu.instruments.presenter.bookmark import KeepsPlace
from kafka_edu.instruments.presenter.page import in_vain
from kafka_edu.instruments.presenter.presentation import (
    Effect,
    Finish,
    Listen,
    OpenJobs,
    Perform,
    Phase,
    Presentation,
    RunJob,
    ShowMoment,
    ShowNow,
    ShowScreen,
    StartLoad,
    StopLoad,
    Watch,
)
from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.instruments.trace_feed import TraceFeed, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope

from ..app import DashboardApp
from ..asking import Ask
from ..screens.registry import DECLARATIONS
from ..widgets.status_line import LATE_US
from .audience import Audience
from .break_screen import BreakScreen
from .job_process import JobProcess
from .panel import PresenterPanel
from .stage import Stage, StageError, at_last, to_ms

#: With --fast: how many seconds a step may wait for the expected events, and how much of a
#: recording passes at each tick. The time does not run while the events of a busy machine arrive
#: late.
FAST_PATIENCE_S: Final = 300.0
FAST_PLAY_US: Final = 1_000_000
AHEAD_SPEEDS: Final = 3
"""How many steps of the speed are between that of a clock and ×10. At full speed, a cluster with
nothing to do gets minutes further until the dashboard has taken one event.
"""

StageEffect = StartLoad | StopLoad | OpenJobs | RunJob | Perform
_DIGITS: Final = {each.key: each for each in DECLARATIONS}


def _digit_bindings() -> Iterable[BindingType]:
    """Yield the bindings of the digits.

    While a question is open, a digit chooses an answer or is typed. Otherwise it jumps to a screen.
    """
    for number in range(10):
        yield Binding(str(number), f"choose({number})", show=False, priority=True)
        if (screen := _DIGITS.get(str(number))) is not None:
            yield Binding(str(number), f"look('{screen.name}')", screen.title, show=False)


class PresenterApp(DashboardApp):
    """The dashboard application, extended so that it presents a script."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "go_on", "go on", priority=True),
        Binding("enter", "say_number", "says it", show=False, priority=True),
        Binding("backspace", "page_back", "back", priority=True),
        Binding("B", "break_it", "break"),
        Binding("R", "begin_again", "again from here"),
        Binding("pageup", "scroll_page(-1)", "text up", show=False, priority=True),
        Binding("pagedown", "scroll_page(1)", "text down", show=False, priority=True),
        *_digit_bindings(),
    ]

    def __init__(
        self,
        presentation: Presentation,
        bookmark: KeepsPlace,
        name: str,
        *,
        folder: ClusterFolder | None = None,
        replay: Replay | None = None,
        feed: StageFeed | None = None,
        fast: bool = False,
        audience: Audience | None = None,
        ask: Ask | None = None,
    ) -> None:
        """Create the app with the `folder` of a live cluster, or with a `replay`. A simulated
        cluster also has a `feed`.

        With `fast`, no keys are needed. An `audience` also answers the questions. `ask` is the
        function that has acts carried out, as in DashboardApp.
        """
        super().__init__(name, folder, replay, feed=feed, ask=ask)
        self.presentation = presentation
        presentation.rewinds = feed is not None
        self.model.goes_on_in_past = feed is None
        self._audience = audience
        self._said: tuple[int, list[str]] = (0, [])
        """A page number, and the audience's lines on this page."""
        self.trouble = ""
        """The reason why a fast presentation could not continue, or "" if it could."""
        self._bookmark = bookmark
        self._fast = fast
        self._ahead: Callable[[Presentation], bool] | None = None
        self._ahead_to = ""
        self._stage = (
            Stage(
                folder,
                self.ask_supervisor,
                self._load,
                self.model,
                JobProcess(name, presentation.script.jobs.command),
            )
            if folder is not None and self._load is not None
            else None
        )
        self._due: deque[StageEffect] = deque()
        """The effects that the stage still has to carry out, in their order."""
        self._acting = False
        """Whether the stage carries out an effect."""
        self._begun = False
        self._front_us = 0
        """The recording's position before the learner went back, in µs."""
        self._patience_from = time.monotonic()
        self._last: tuple[int, Phase, tuple[bool, ...]] = (0, Phase.NARRATION, ())
        self.player.observer = self._observe
        if isinstance(self._feed, TraceFeed):
            self._feed.keep(presentation.script.events())
        if replay is not None:
            replay.playing = False

    async def on_unmount(self) -> None:
        """End the jobs too. Textual also calls the dashboard's own `on_unmount`."""
        if self._stage is not None:
            self._stage.close_jobs()

    @property
    def clock_us(self) -> int:
        if self.replay is not None:
            return self.replay.clock_us
        return self._simulation.now_us() if self._simulation is not None else now_us()

    def _observe(self, envelope: Envelope) -> bool:
        before = self.presentation.seen.count(True)
        done = self.presentation.apply(envelope)
        if self.presentation.seen.count(True) != before:
            self._changed()
        return done

    def _changed(self) -> None:
        """Save the place, because the presentation has moved."""
        self._bookmark.save(self.presentation.place())
        self.refresh_bindings()

    def take_events(self) -> None:
        super().take_events()
        if not self._begun:
            self._begin()
            return
        self._follow()

    def _begin(self) -> None:
        """Show the first page. If the presentation is resumed, go to the learner's saved place."""
        self._begun = True
        at = self.presentation
        if self.replay is not None:
            self.player.wind_to(to_ms(at_last(at) - self.replay.begin_us))
        elif self._simulation is not None and self._stage is not None:
            self._stage.went_back(at.load())  # the place was saved with the run
        elif self._folder is not None and at.moments and self._simulation is None:
            self.run_worker(self._catch_up(self._folder), group="past")
        self._perform(at.begin())
        if self._audience is not None:
            self.run_worker(self._serve(self._audience), group="audience")

    async def _serve(self, audience: Audience) -> None:
        """Serve the audience until the app ends."""
        try:
            async with audience.serve():
                await asyncio.Event().wait()
        except OSError as error:
            self.trouble = f"the quiz cannot be served: {error}"
            self.exit()

    def _hear(self, audience: Audience) -> None:
        """Show the audience's lines on this page."""
        page, lines = self._said
        if page != self.presentation.shown:
            lines = []
        lines = [*lines, *audience.look(self.presentation)]
        self._said = (self.presentation.shown, lines)
        for panel in self.screen.query(PresenterPanel):
            panel.said = lines

    async def _catch_up(self, folder: ClusterFolder) -> None:
        """Read the events that happened while the presentation was closed.

        They come from the processes' rings.
        """
        for envelope in (await look_back(folder, since_us=at_last(self.presentation))).envelopes:
            self._observe(envelope)

    def _follow(self) -> None:
        """Check the screen and the recording, and continue if no key is needed."""
        at = self.presentation
        if self._fast and self.replay is not None and self.replay.playing:
            self.player.tick(FAST_PLAY_US)
        if at.texts():
            self._read_screen()
        if self.replay is not None and at.waits and self.replay.ended:
            at.ended()
        if self._stage is not None and (failure := self._stage.job_failure()):
            at.act_failed(failure)
            if self._fast:
                self.trouble = in_vain(at)
                self.exit()
                return
        self._perform(at.after_seen(self.clock_us))
        if self._audience is not None:
            self._hear(self._audience)
        if self._fast:
            self._go_on_fast()

    def play_ahead(self, until: Callable[[Presentation], bool], name: str = "") -> None:
        """Play a simulated cluster without keys and ten times as fast as a clock, up to the moment
        that `until` recognizes. There it stands still.

        At this speed the cluster is some seconds further when the presentation takes an event. So
        if `name` is given, the shown time is the one at which this name of the script got its
        value.
        """
        self._fast, self._ahead, self._ahead_to = True, until, name
        self.run_worker(self._change_speed("sim-faster"), group="stage")

    async def _change_speed(self, command: str) -> None:
        for _ in range(AHEAD_SPEEDS):
            await self.ask_supervisor(command, {})

    def _arrived(self, at: Presentation) -> bool:
        """Return whether the moment has come up to which `play_ahead` plays. If so, pause the
        cluster.
        """
        if self._ahead is None or not self._ahead(at):
            return False
        self._fast, self._ahead = False, None
        self.run_worker(self._change_speed("sim-slower"), group="stage")
        self._to_stage("sim-pause")
        if self._ahead_to in at.named_us:
            self._perform([ShowMoment(at.named_us[self._ahead_to])])
        return True

    def _go_on_fast(self) -> None:
        at = self.presentation
        if self._acting or self._arrived(at):
            return
        if self._simulation is not None and self._stage is not None:
            # Virtual time passes only while the step needs it.
            self.run_worker(self._let_run(self._stage, at.waits), group="stage")
        now = (at.step, at.phase, tuple(at.seen))
        if now != self._last or self.model.late_us > LATE_US:
            self._last, self._patience_from = now, time.monotonic()
        late = time.monotonic() - self._patience_from > FAST_PATIENCE_S
        if at.waits and (late or (self.replay is not None and at.failure)):
            self.trouble = in_vain(at)
            self.exit()
        elif (
            at.failure or not at.waits or at.your_turn
        ):  # a refused act may have been requested too early
            self.action_go_on()

    def _read_screen(self) -> None:
        """Give the presentation the text of the screen, without the panel's own text."""
        strips = self.screen._compositor.render_strips()
        rows = ["".join(segment.text for segment in strip) for strip in strips]
        for panel in self.screen.query(PresenterPanel):
            rows[panel.region.y : panel.region.bottom] = []
        seen = self.presentation.seen.count(True)
        if self.presentation.see("\n".join(rows), self.clock_us) and self.replay is not None:
            self.replay.playing = False
        if self.presentation.seen.count(True) != seen:
            self._changed()

    def _perform(self, effects: Iterable[Effect]) -> None:
        """Carry out the effects that the presentation has decided on."""
        for effect in effects:
            match effect:
                case ShowScreen(name):
                    self.action_look(name)
                case StartLoad() | StopLoad() | OpenJobs() | RunJob() | Perform() if (
                    self._stage is not None
                ):
                    self._due.append(effect)
                case Listen(level):
                    self.listen_at(level)
                case Watch():
                    self._watch()
                case ShowMoment(mono_us):
                    self._show_moment(mono_us)
                case ShowNow():
                    self._show_now()
                case Finish():
                    self._bookmark.forget()
                    self.exit()
                    return
        if self._due and not self._acting and self._stage is not None:
            self._acting = True
            self.run_worker(self._carry_out(self._stage), group="script-act")
        if effects:
            self._changed()
            self.look()

    async def _carry_out(self, stage: Stage) -> None:
        """Let the stage carry out the effects that are due, one after the other."""
        try:
            while self._due:
                effect = self._due.popleft()
                try:
                    if isinstance(effect, Perform):
                        values = stage.target(effect.act, self.presentation.names)
                        await stage.perform(effect.act, values)
                    else:
                        await stage.perform_effect(effect)
                except StageError as error:
                    self.presentation.act_failed(str(error))
                else:
                    if isinstance(effect, Perform):
                        self._perform(self.presentation.act_done())
        finally:
            self._acting = False

    async def _let_run(self, stage: Stage, runs: bool) -> None:
        try:
            await stage.let_run(runs)
        except StageError as error:
            self.presentation.act_failed(str(error))

    def _watch(self) -> None:
        """Play the recording until the step has seen all its expectations."""
        if self.replay is not None and self.presentation.waits:
            if self.replay.ended:
                self.presentation.ended()
            else:
                self.replay.playing = True

    def _show_moment(self, mono_us: int) -> None:
        if self.player.replay is None:
            self.player.toggle()
        replay = self.player.replay
        if replay is None or not self.player.holds(mono_us):
            return
        self._front_us = max(self._front_us, replay.clock_us)
        self.player.wind_to(to_ms(mono_us - replay.begin_us))
        replay.playing = False

    def _show_now(self) -> None:
        if self.player.live:
            self.player.to_now()
        elif self.replay is not None:
            self.player.wind_to(to_ms(self._front_us - self.replay.begin_us))
            self._watch()

    def look(self) -> None:
        """Let the current screen draw, with the presenter's panel below it."""
        if (screen := self.shown_screen()) is not None and not screen.query(PresenterPanel):
            screen.mount(PresenterPanel(self.presentation), before=screen.acts)
            screen.add_class("-presented")
        super().look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow digits to choose an answer only while a question is open."""
        if action == "choose":
            return self.presentation.can_choose
        if action == "say_number":
            return bool(self.presentation.typed)
        if action == "break_it":
            real = self._stage is not None and self._simulation is None  # clients can reach it
            return real and bool(self.presentation.script.breaks)
        if action == "begin_again":
            return self.presentation.may_begin_again()
        if action == "page_back":
            return self.presentation.shown > 0 or bool(self.presentation.typed)
        if action == "scroll_page":
            return any(panel.overflows for panel in self.screen.query(PresenterPanel))
        return super().check_action(action, parameters)

    def action_go_on(self) -> None:
        if not self._acting:
            effects = self.presentation.go_on(self.clock_us)
            self._changed()
            self._perform(effects)
            self._run_on()

    def _run_on(self) -> None:
        """Let a simulated cluster that stands still go on, because the learner went on."""
        run = self.model.simulation
        if self._fast or run is None or run.state != "paused" or self.presentation.looking_back:
            return
        self.player.to_now()
        self._to_stage("sim-run")

    def action_break_it(self) -> None:
        """Show the ideas for breaking something by hand, with the present names of the cluster."""
        if self._stage is None:
            return
        try:
            self.push_screen(BreakScreen(self._stage.ideas(self.presentation)))
        except StageError as error:
            self.notify(str(error), severity="error", markup=False)

    def action_begin_again(self) -> None:
        """Let the simulated cluster go back to the start of the shown step, and do it again."""
        if self._acting or not self.presentation.may_begin_again():
            return
        # The first step begins when the cluster is up.
        run = self.model.simulation
        at_us = max(
            self.presentation.began_us(self.presentation.shown),
            run.run_us if run is not None else 0,
        )
        self._to_stage("sim-back", {"at_us": at_us, "plays": 1, "forgets": 1})

    def went_back(self) -> None:
        """Go back with the cluster: begin the step of this time again."""
        super().went_back()
        effects = self.presentation.went_back(self.clock_us)
        if effects is None or self._stage is None:
            return
        self._due.clear()  # they belong to the time that is void now
        self._stage.went_back(self.presentation.load())
        self._perform([ShowNow(), *effects])

    def action_say_number(self) -> None:
        self.action_go_on()

    def action_page_back(self) -> None:
        if self.presentation.erase():
            self.look()
        else:
            self._perform(self.presentation.back())

    def action_scroll_page(self, direction: int) -> None:
        """Scroll the panel's text by a page, if it is longer than the panel."""
        for panel in self.screen.query(PresenterPanel):
            panel.scroll_page(direction)

    def action_choose(self, number: int) -> None:
        effects = self.presentation.choose(number, self.clock_us)
        self._changed()
        self._perform(effects)
        if self.presentation.watching:
            self._run_on()
        self.look()

    @property
    def finished(self) -> bool:
        return self.presentation.phase is Phase.END
