"""The presenter without the dashboard.

It prints pages as text, and events as lines between them.
"""

import asyncio
import contextlib
import os
import re
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from kafka_edu.instruments.look_back import look_back
from kafka_edu.instruments.presenter.bookmark import Bookmark
from kafka_edu.instruments.presenter.break_tools import as_lines
from kafka_edu.instruments.presenter.expectation import filled, meets
from kafka_edu.instruments.presenter.page import Line, Role, in_vain, page
from kafka_edu.instruments.presenter.presentation import (
    Effect,
    Finish,
    Listen,
    OpenJobs,
    Perform,
    Presentation,
    RunJob,
    ShowMoment,
    ShowNow,
    ShowScreen,
    StartLoad,
    StopLoad,
    Watch,
)
from kafka_edu.instruments.presenter.script import FactFilter
from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.replay import Replay
from kafka_edu.instruments.sentences import sentence, teller
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.instruments.trace_feed import TraceFeed, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind

from ..asking import by_socket
from ..load_process import LoadProcess
from ..model import Model
from ..simulated_load import SimulatedLoad
from ..widgets.status_line import LATE_US
from .audience import Audience
from .job_process import JobProcess
from .stage import Stage, StageError, at_last, to_ms

TICK_S: Final = 0.1
#: With --fast: how many seconds a step may wait for the expected events. The time does not run
#: while the events of a busy machine arrive late.
FAST_PATIENCE_S: Final = 300.0
ACT_AGAIN_S: Final = 0.5
MAX_FACTS: Final = 12
"""The maximum number of lines with facts in one step. Further facts are only counted."""
_INTERNAL_TOPIC: Final = re.compile(r"\b__\w+")
REPLAY_CHUNK_US: Final = 100_000

_STYLES: Final = {
    Role.TITLE: "bold",
    Role.NOTE: "yellow",
    Role.QUESTION: "bold yellow",
    Role.CHOSEN: "bold",
    Role.EXPECTED: "dim",
    Role.SEEN: "bold green",
    Role.COMPARED: "bold",
    Role.ANSWER: "green",
    Role.FAILURE: "bold red",
    Role.HINT: "dim",
}


class PlainError(Exception):
    """A fast presentation cannot continue. The message names the step and what it waited for."""


class PlainPresenter:
    """Runs one presentation as plain text in a terminal."""

    def __init__(
        self,
        presentation: Presentation,
        bookmark: Bookmark,
        name: str,
        *,
        folder: ClusterFolder | None = None,
        replay: Replay | None = None,
        feed: StageFeed | None = None,
        fast: bool = False,
        recorder: Recorder | None = None,
        audience: Audience | None = None,
    ) -> None:
        """Create the presenter. A simulated cluster has a `feed`.

        `recorder` writes every event that arrives. An `audience` also answers the questions.
        """
        presentation.rewinds = feed is not None
        self.presentation = presentation
        self._audience = audience
        self._bookmark = bookmark
        self._folder = folder
        self._replay = replay
        self._fast = fast
        self._recorder = recorder
        self._feed: TraceFeed | StageFeed | None = feed
        if feed is None and folder is not None:
            self._feed = TraceFeed(folder)
        self._model = Model(name)
        self._console = Console(highlight=False, soft_wrap=False)
        self._load: LoadProcess | SimulatedLoad | None = None
        self._stage: Stage | None = None
        if folder is not None:
            ask, jobs = by_socket(folder), JobProcess(name, presentation.script.jobs.command)
            self._load = SimulatedLoad(ask) if feed is not None else LoadProcess(name)
            self._stage = Stage(folder, ask, self._load, self._model, jobs)
        self._printed: list[Line] = []
        self._shown = -1
        self._facts = 0
        self._told: set[str] = set()
        """The facts that were already printed in this step."""
        self._playing = False
        self._acts: list[Perform] = []
        self.finished = False
        """Whether the learner has finished the last page."""

    @property
    def _clock_us(self) -> int:
        if self._replay is not None:
            return self._replay.clock_us
        return self._feed.now_us() if isinstance(self._feed, StageFeed) else now_us()

    async def run(self) -> None:
        """Present until the learner has seen the end or leaves.

        Raises PlainError if a fast presentation cannot continue.
        """
        feed = self._feed
        reading = asyncio.create_task(feed.run()) if feed is not None else None
        try:
            async with self._audience.serve() if self._audience else contextlib.nullcontext():
                with _keys(self._fast) as keys:
                    await self._present(feed, keys)
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            if self._load is not None:
                await self._load.stop()
            if self._stage is not None:
                self._stage.close_jobs()

    async def _present(
        self, feed: TraceFeed | StageFeed | None, keys: "asyncio.Queue[str]"
    ) -> None:
        at = self.presentation
        if self._replay is not None:
            self._rewind(self._replay)
        elif self._folder is not None and at.moments and not isinstance(feed, StageFeed):
            past = await look_back(self._folder, since_us=at_last(at))
            self._take(past.envelopes)
        if isinstance(feed, StageFeed) and self._stage is not None:
            self._stage.went_back(at.load())  # the place was saved with the run
        await self._perform(at.begin())
        patience, seen = time.monotonic(), at.place()
        while not self.finished:
            self._show()
            if feed is not None:
                if isinstance(feed, StageFeed):
                    self._look_at_stage(feed)
                arrived = feed.drain()
                if self._recorder is not None:
                    self._recorder.write(arrived)
                self._take(arrived)
            elif self._replay is not None:
                self._play(self._replay)
            at.skip_texts()
            await self._act()
            self._look_at_jobs()
            await self._perform(at.after_seen(self._clock_us))
            self._show()
            if self._audience is not None:
                for line in self._audience.look(at):
                    self._console.print(line, style="bold magenta", markup=False)
            if (place := at.place()) != seen:
                patience, seen = time.monotonic(), place
                self._bookmark.save(place)
            elif feed is not None and feed.late_us() > LATE_US:
                patience = time.monotonic()
            if self._fast:
                await self._go_on_fast(patience)
                await asyncio.sleep(TICK_S if feed is not None else 0)
            elif not await self._take_key(keys):
                return

    def _look_at_stage(self, feed: StageFeed) -> None:
        """Raise PlainError if the simulation has ended."""
        feed.went_back()
        if feed.failed:
            raise PlainError(feed.failed)

    def _rewind(self, replay: Replay) -> None:
        """Wind the recording to the learner's saved place, or to the beginning at the first
        start.
        """
        replay.playing = False
        at = self.presentation
        self._model.apply(replay.wind_to(to_ms(at_last(at) - replay.begin_us)))
        self._model.advance(replay.clock_us)

    def _take(self, envelopes: Iterable[Envelope]) -> None:
        """Pass events on to the model, to the learner, and to the presentation."""
        for envelope in envelopes:
            self._model.apply((envelope,))
            at = self.presentation
            watching, before = at.waits, sum(at.seen)
            done = at.apply(envelope)
            if watching:
                self._tell(envelope, waited_for=sum(at.seen) > before)
            if done and self._replay is not None:
                self._playing = False
                self._replay.stop_at(self._replay.index_at(envelope.mono_us) - 1)
                return

    def _play(self, replay: Replay) -> None:
        """Pass on the next piece of the recording, as fast as it can be read."""
        if not self._playing:
            return
        replay.playing = True
        self._take(replay.advance(int(REPLAY_CHUNK_US / replay.speed)))
        replay.playing = False
        if replay.ended and self.presentation.waits:
            self._playing = False
            self.presentation.ended()

    def _tell(self, envelope: Envelope, *, waited_for: bool) -> None:
        """Print a fact if it is important enough for a line.

        A fact that the step has waited for is always printed.
        """
        known = EVENT_TYPES.get(envelope.name)
        if known is None or known.kind is not Kind.FACT:
            return
        said = sentence(envelope.event)
        because = f"  because {said.reason}" if said.reason else ""
        line = f"  {teller(envelope.source):>4}  {said.text()}{because}"
        if line in self._told:
            return
        if not waited_for:
            if not self._is_about(envelope, line, loud=said.loud):
                return
            self._facts += 1
        self._told.add(line)
        if waited_for or self._facts <= MAX_FACTS:
            self._console.print(line, style="bold cyan" if waited_for else "cyan", markup=False)

    def _is_about(self, envelope: Envelope, line: str, *, loud: bool) -> bool:
        """Return whether a fact belongs to the topic of the step.

        `loud` facts are important enough for everybody. A fact that the step names by its type
        belongs even if it is not loud.
        """
        at = self.presentation
        internal = _INTERNAL_TOPIC.search(line) is not None
        if at.present.facts is None:
            return loud and not internal
        for each in at.present.facts:
            if isinstance(each, FactFilter) and meets(each, envelope, at.names):
                return True
        words = [filled(word, at.names) for word in at.present.facts if isinstance(word, str)]
        return loud and any(word in line and (not internal or "__" in word) for word in words)

    async def _act(self) -> None:
        """Carry out the act that is due, if the known state shows which broker it is for."""
        if not self._acts or self._stage is None:
            return
        act = self._acts[0].act
        try:
            values = self._stage.target(act, self.presentation.names)
            await self._stage.perform(act, values)
        except StageError as error:
            self.presentation.act_failed(str(error))
            self._acts.clear()
        else:
            self._acts.pop(0)
            await self._perform(self.presentation.act_done())

    def _look_at_jobs(self) -> None:
        """Show why the process of the jobs has ended, if it has. Raises PlainError with --fast."""
        if self._stage is None or not (failure := self._stage.job_failure()):
            return
        self.presentation.act_failed(failure)
        if self._fast:
            raise PlainError(in_vain(self.presentation))

    async def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case StartLoad() | StopLoad() | OpenJobs() | RunJob() if self._stage is not None:
                    try:
                        await self._stage.perform_effect(effect)
                    except StageError as error:
                        self.presentation.act_failed(str(error))
                case Listen(level) if self._feed is not None:
                    self._feed.listen_at(level)
                case Perform() as act:
                    self._acts.append(act)
                case Watch():
                    self._playing = self.presentation.waits
                case Finish():
                    self._bookmark.forget()
                    self.finished = True
                case ShowScreen() | ShowMoment() | ShowNow():
                    pass  # this presenter has no screen
                case StartLoad() | StopLoad() | OpenJobs() | RunJob() | Listen():
                    pass  # no more events come from a recording

    def _show(self) -> None:
        """Print the lines of the page that are not printed yet."""
        lines = page(self.presentation)
        if self.presentation.shown != self._shown:
            if self._shown >= 0:
                self._console.print()
            self._shown, self._printed, self._facts = self.presentation.shown, [], 0
            self._told.clear()
        for line in lines:
            if line in self._printed or (line.role is Role.HINT and self._fast):
                continue
            if line.role in (Role.QUESTION, Role.ANSWER) and self._facts > MAX_FACTS:
                self._console.print(f"    … and {self._facts - MAX_FACTS} more facts", style="dim")
                self._facts = 0
            self._printed.append(line)
            if line.role is Role.PICTURE:
                self._console.print(Text.from_ansi(line.text))
                continue
            self._console.print(line.text, style=_STYLES.get(line.role, ""), markup=False)

    async def _take_key(self, keys: "asyncio.Queue[str]") -> bool:
        """Handle a key if there is one. Return False if the learner leaves."""
        try:
            async with asyncio.timeout(TICK_S):
                key = await keys.get()
        except TimeoutError:
            return True
        at = self.presentation
        if self._audience is not None and self._audience.key(key):
            return True
        match key:
            case " " | "\r" | "\n":
                await self._perform(at.go_on(self._clock_us))
            case "b" | "\x7f" | "\x08":
                if not at.erase():
                    await self._perform(at.back())
            case "B" if isinstance(self._feed, TraceFeed) and self._stage and at.script.breaks:
                try:
                    self._console.print("\n".join(as_lines(self._stage.ideas(at))), markup=False)
                except StageError as error:
                    self._console.print(str(error), style="red", markup=False)
            case "q" | "\x04" | "\x1b" | "":
                self._console.print("[dim]stopped here; the same command continues here[/]")
                return False
            case digit if digit.isdecimal():
                await self._perform(at.choose(int(digit), self._clock_us))
        return True

    async def _go_on_fast(self, patience: float) -> None:
        at = self.presentation
        if isinstance(self._feed, StageFeed) and self._stage is not None:
            await self._stage.let_run(at.waits)  # virtual time passes only while the step needs it
        if self._acts:
            return
        late = time.monotonic() - patience > FAST_PATIENCE_S
        if at.waits and (late or (self._replay is not None and at.failure)):
            raise PlainError(in_vain(at))
        if not at.waits or at.failure or at.your_turn:
            await self._perform(at.go_on(self._clock_us))


@contextlib.contextmanager
def _keys(fast: bool) -> Iterator["asyncio.Queue[str]"]:
    """Read single keys of a terminal, or lines of a pipe. An empty line is the space key."""
    keys: asyncio.Queue[str] = asyncio.Queue()
    if fast:
        yield keys
        return
    loop = asyncio.get_running_loop()
    fd = sys.stdin.fileno()
    terminal = os.isatty(fd)

    def read() -> None:
        while True:
            if terminal:
                key = os.read(fd, 1).decode("utf-8", "replace")
            else:
                line = sys.stdin.readline()
                words = line.strip()
                # A number in a pipe is an answer, and a space follows it. So the question "how sure
                # are you?" is left out for a pipe.
                key = f"{words} " if words.isdecimal() else words[:1] or (" " if line else "")
            with contextlib.suppress(RuntimeError):  # the loop has ended
                for each in key or ("",):
                    loop.call_soon_threadsafe(keys.put_nowait, each)
            if not key:
                return

    before = termios.tcgetattr(fd) if terminal else None
    if terminal:
        tty.setcbreak(fd)
    threading.Thread(target=read, daemon=True).start()
    try:
        yield keys
    finally:
        if before is not None:
            termios.tcsetattr(fd, termios.TCSADRAIN, before)
