"""Start a run and the dashboard on it, and pass on keys and sizes. The page's worker calls this."""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from textual.driver import Driver

from kafka_edu.instruments.presenter.presentation import Phase, Presentation, SavedPlace
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.stage.stage import Opening
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from page.lesson import Lesson, checked, lesson_of, place_alone, until
from page.link import SHOWN_US, Link, acts_in_words, acts_of, read
from page.live_run import LiveRun
from page.terminal import PageDriver, Terminal
from tui.app import DashboardApp
from tui.asking import Ask, Values
from tui.collector import settle_collector
from tui.presenter.presenter_app import PresenterApp

FOLDER = Path("/cluster")
"""The folder of the cluster in the memory of the page. Only the futures of the run are in it."""
KEPT_EVENTS: Final = 30_000
"""How many events a page keeps for going back. A dashboard on a machine keeps more, but a tab has
little memory. The start of a chapter's cluster alone has 21,000 events.
"""


class Page(Terminal, Protocol):
    """The page around the terminal."""

    def keep(self, name: str, text: str, /) -> None:
        """Offer a future of the run as a file."""
        ...

    def progress(self, chapter: str, step: int, steps: int, link: str, /) -> None:
        """Keep the reader's place in the chapter: the number of the step (from 1), and the link to
        its start. A chapter that is finished has step 0.
        """
        ...

    def ended(self, why: str, /) -> None:
        """Say that the dashboard has ended. `why` is empty if the reader ended it."""
        ...


class PageDashboard(DashboardApp):
    """The dashboard, which draws on the terminal of a page."""

    shares_thread = True

    def __init__(self, name: str, terminal: Terminal, feed: StageFeed, ask: Ask) -> None:
        self.terminal = terminal
        self.page_size = (80, 24)
        super().__init__(name, ClusterFolder(FOLDER), feed=feed, ask=ask)

    def get_driver_class(self) -> type[Driver]:
        return PageDriver


class PagePresenter(PresenterApp):
    """The dashboard with a chapter of the course, in the terminal of the page."""

    shares_thread = True

    def __init__(
        self,
        presentation: Presentation,
        places: "Places",
        name: str,
        terminal: Terminal,
        feed: StageFeed,
        ask: Ask,
    ) -> None:
        self.terminal = terminal
        self.page_size = (80, 24)
        folder = ClusterFolder(FOLDER)
        super().__init__(presentation, places, name, folder=folder, feed=feed, ask=ask)

    def get_driver_class(self) -> type[Driver]:
        return PageDriver


class Places:
    """Sends the page the reader's place, when a step begins and when the chapter is finished."""

    def __init__(self, live: "Live", lesson: Lesson) -> None:
        self._live = live
        self._lesson = lesson
        self._kept = -1

    def save(self, place: SavedPlace, /) -> None:
        if place.phase not in (Phase.NARRATION, Phase.END):
            return  # a link has opened in the middle of a step
        reached = place.step + (place.phase == Phase.END)
        if reached == self._kept:
            return
        self._kept = reached
        steps, at_us = len(self._lesson.script.steps), place.moments.get(place.step - 1, 0)
        finished = place.phase == Phase.END
        link = self._live.link_to(at_us, place) if place.step and not finished else ""
        self._live.page.progress(
            self._lesson.chapter, 0 if finished else place.step + 1, steps, link
        )

    def forget(self) -> None:
        """Do nothing: `save` has said that the chapter is finished."""


class Live:
    """One run and its dashboard, as the page's worker sees them."""

    def __init__(
        self,
        page: Page,
        text: str,
        link: Link,
        version: str = "",
    ) -> None:
        """Prepare the run that a link names. `text` is the run's scenario, or the data of the
        link's chapter. `version` is the version of the code.

        Raises ScenarioError or LinkError if the text is no scenario, or the link names something
        that does not exist.
        """
        self.page = page
        self._link = link
        self._version = version
        lesson = lesson_of(text, FOLDER) if link.chapter else None
        name = f"chapter-{link.chapter}" if link.chapter else link.scenario
        scenario = parse(lesson.scenario if lesson is not None else text, name)
        acts = acts_of(link, scenario)
        opening = Opening(link.at_us, acts, SHOWN_US) if link.at_us is not None else None
        self.run = LiveRun(scenario, link.seed, self._keep, opening)
        feed = StageFeed(lambda: self.run.pipes, lambda: self.run.failed)
        self.run.unseen = lambda: feed.waiting
        self.app: PageDashboard | PagePresenter
        if lesson is None:
            self.app = PageDashboard(name, page, feed, self.run.ask)
        else:
            self.app = self._presenter(lesson, name, feed)
        self.app.player.most_events = KEPT_EVENTS

    def _presenter(self, lesson: Lesson, name: str, feed: StageFeed) -> PagePresenter:
        link = self._link
        place = checked(lesson, link.place) if link.place is not None else None
        ahead = until(lesson, link.step, link.fact) if place is None else None
        presentation = Presentation(lesson.script, live=True, place=place)
        places = Places(self, lesson)
        self._ahead = ahead
        return PagePresenter(presentation, places, name, self.page, feed, self._when_up)

    async def _when_up(self, name: str, values: Values) -> str:
        """Wait until the cluster is up, and then carry out a command or an act. Without the wait, a
        presentation would pause the run before its first step, and the cluster would never be up.
        """
        if name != "sim-run":
            await self.run.ask("wait-ready", {})
        return await self.run.ask(name, values)

    def link_to(self, at_us: int, place: SavedPlace | None) -> str:
        """Return the fragment of a link to a moment of this run (µs)."""
        return self._link._replace(
            step=place.step + 1 if place is not None else 0,
            fact="",
            at_us=at_us,
            acts=acts_in_words(self.run.watched.stage.acts_until(at_us)),
            place=place_alone(place) if place is not None else None,
        ).fragment(self._version)

    def link(self) -> str:
        """Return the fragment of a link to the moment that is shown."""
        app = self.app
        shown_us = app.model.cluster.glow.now_us
        at_us = shown_us if app.player.paused else self.run.watched.stage.at_us
        if not isinstance(app, PagePresenter):
            return self.link_to(at_us, None)
        at = app.presentation
        place = at.begin_of(at_us) if app.player.paused or at.looking_back else at.place()
        return self.link_to(at_us, place or at.place())

    def _keep(self, future: int, text: str) -> str:
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = ClusterFolder(FOLDER).future(future)
        path.write_text(text, encoding="utf-8")
        self.page.keep(path.name, text)
        return path.name

    def begin(self, columns: int, rows: int) -> None:
        """Play the run and show it until the reader ends the dashboard."""
        self.app.page_size = (columns, rows)
        self._task = asyncio.ensure_future(self._play())
        self._task.add_done_callback(self._ended)

    async def _play(self) -> None:
        await self.run.begin()
        if isinstance(self.app, PagePresenter) and self._ahead is not None:
            self.app.play_ahead(self._ahead, self._link.fact)
        await self.app.run_async(size=self.app.page_size)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.run.end()
        error = None if task.cancelled() else task.exception()
        why = "" if error is None else f"{type(error).__name__}: {error}"
        app = self.app
        self.page.ended(why or (app.trouble if isinstance(app, PagePresenter) else ""))

    def keys(self, keys: str) -> None:
        """Take what the page's terminal has read."""
        if isinstance(driver := self.app._driver, PageDriver):
            driver.feed(keys)

    def resize(self, columns: int, rows: int) -> None:
        """Take the size of the page's terminal, also before the dashboard draws."""
        self.app.page_size = (columns, rows)
        if isinstance(driver := self.app._driver, PageDriver):
            driver.resize(columns, rows)


def adapt(loop: asyncio.AbstractEventLoop) -> None:
    """Give the page's Python what Textual and the dashboard expect.

    There is only one thread, so the processor time of the thread is that of the process. If a task
    was made by a task factory, the loop of Pyodide 314 cannot name it, because it calls a function
    that Python 3.14 no longer has. Textual sets a task factory only to be faster, so it is ignored
    here.
    """
    time.thread_time = time.process_time
    loop.set_task_factory = lambda factory: None  # type: ignore[method-assign]


def start(page: Page, text: str, wanted: str, columns: int, rows: int) -> Live:
    """Start the run that a link names, and the dashboard that shows the run. `text` is the run's
    scenario or the data of the link's chapter. `wanted` has the parts of the link and the version
    of the code, as JSON.

    Raises ScenarioError or LinkError if the text is no scenario, or the link names something that
    does not exist.
    """
    if sys.platform == "emscripten":
        adapt(asyncio.get_running_loop())
    given: Mapping[str, Any] = json.loads(wanted)
    live = Live(page, text, read(given["link"]), given["version"])
    settle_collector()
    live.begin(columns, rows)
    return live
