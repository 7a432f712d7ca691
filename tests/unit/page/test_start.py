"""The page's run and dashboard in one thread: a leader is killed, and the run goes back in time.

The page's loop is that of the browser. Here it is asyncio's own, so this test needs no browser.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

import page.live_run
import page.start
from chapters.chapter import find_chapters
from chapters.page_files import data_of
from kafka_edu.instruments.presenter.presentation import Presentation, SavedPlace
from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.sim.scenario.language import ScenarioError, parse
from kafka_edu.supervisor.action_client import ActionRefusedError
from kafka_edu.trace.events.simulation import SimulationSampled
from page.link import Link, LinkError, read
from page.live_run import FEW_UNSEEN, MOST_UNSEEN, PASSES, LiveRun, with_small_indexes
from page.start import Live, PagePresenter
from page.terminal import PageDriver
from tests.tui.paused_app import screen_text
from tests.waiting import PATIENCE_S

SCENARIO = """\
> cluster brokers=3
> topic t partitions=2 rf=3
> producer p topic=t rate=10
> run 60s
> settle 5s
"""


@pytest.fixture(autouse=True)
def log_messages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page logs nothing about its simulated faults. Other tests in this process read the log."""
    monkeypatch.setattr(page.live_run, "silence_faults", lambda: None)


class PageOfTest:
    """Remembers what the worker would tell the page."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.futures: dict[str, str] = {}
        self.ends: list[str] = []
        self.places: list[tuple[str, int, int, str]] = []

    def write(self, text: str, /) -> None:
        self.written.append(text)

    def keep(self, name: str, text: str, /) -> None:
        self.futures[name] = text

    def progress(self, chapter: str, step: int, steps: int, link: str, /) -> None:
        self.places.append((chapter, step, steps, link))

    def ended(self, why: str, /) -> None:
        self.ends.append(why)


class Driven:
    """A run that a test drives by keys and reads as text."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.app = live.app

    def now(self) -> SimulationSampled:
        assert self.app.model.simulation is not None
        return self.app.model.simulation

    async def until(self, wanted: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not wanted():
            assert time.monotonic() < end, f"never {what}; the screen:\n{self.text()}"
            await asyncio.sleep(0.02)  # nothing reports what a screen shows

    def text(self) -> str:
        if not self.app.is_running:
            return ""
        with self.app._context():  # a widget that was not drawn yet looks for its app
            return screen_text(self.app.screen)

    async def shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text() for text in texts), " and ".join(texts))

    async def type(self, *keys: str) -> None:
        """Type keys one after the other, as a person does."""
        for each in keys:
            self._live.keys(each)
            await asyncio.sleep(0)


@pytest.mark.tui
def test_a_run_that_fails_is_shown_and_refuses_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.start, "FOLDER", tmp_path)
    shown = PageOfTest()

    def broken() -> Iterator[float]:
        raise RuntimeError("a bug")
        yield 0.0

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        live = Live(shown, SCENARIO, Link("short", 3))
        live.begin(80, 24)
        driven = Driven(live)
        await driven.shows("▶ sim 0.")
        live.run._turns = broken()
        feed = driven.app._simulation
        assert feed is not None
        await driven.until(lambda: "RuntimeError: a bug" in feed.failed, "the feed's error")
        with pytest.raises(ActionRefusedError, match="a bug"):
            await live.run.ask("sim-pause", {})
        await driven.type("q")
        await driven.until(lambda: bool(shown.ends), "the end")

    asyncio.run(run())


class BusyRun:
    """A run whose turns follow each other without a pause, and a reader of its events."""

    def __init__(self) -> None:
        self.turns = 0
        self.live = LiveRun(
            with_small_indexes(parse(SCENARIO, "short")), 3, lambda future, text: ""
        )
        self.live._turns = self._without_a_pause()

    def _without_a_pause(self) -> Iterator[float]:
        while True:
            self.turns += 1
            yield 0.0

    async def __aenter__(self) -> "BusyRun":
        await self.live.begin()
        self._reading = asyncio.ensure_future(StageFeed(lambda: self.live.pipes).run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.live.end()
        await self._reading

    async def first_turn(self) -> None:
        while not self.turns:
            await asyncio.sleep(0)


def test_a_run_on_a_slow_machine_leaves_the_dashboard_many_passes_between_two_turns() -> None:
    """To handle one event or draw a frame, the dashboard needs a hundred passes of the loop."""

    async def run() -> None:
        async with BusyRun() as busy:
            await busy.first_turn()
            before = busy.turns
            for _ in range(100):
                await asyncio.sleep(0)
            assert busy.turns - before <= 100 // (PASSES - 1) + 1

    asyncio.run(run())


def test_a_run_waits_while_the_dashboard_has_not_processed_its_events() -> None:
    async def run() -> None:
        async with BusyRun() as busy:
            busy.live.unseen = lambda: MOST_UNSEEN + 1
            while not busy.live.watched.events.watched:
                await asyncio.sleep(0)
            for _ in range(200):
                await asyncio.sleep(0)
            assert busy.turns == 0
            busy.live.unseen = lambda: MOST_UNSEEN
            await busy.first_turn()

    asyncio.run(run())


def test_gauges_are_sampled_again_when_the_dashboard_has_processed_them_or_after_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted: list[bool] = []

    def send(*, gauges: bool = True) -> bool:
        wanted.append(gauges)
        return gauges

    async def of_a_turn(live: LiveRun, unseen: int, gauges_s: float) -> bool:
        """Return whether a turn samples gauges, with this many unseen events."""
        live.unseen = partial(int, unseen)
        monkeypatch.setattr(page.live_run, "GAUGES_S", gauges_s)
        wanted.clear()
        while not wanted:
            await asyncio.sleep(0)
        return wanted[0]

    async def run() -> None:
        async with BusyRun() as busy:
            monkeypatch.setattr(busy.live.watched, "send", send)
            assert await of_a_turn(busy.live, 0, 1e9)
            assert not await of_a_turn(busy.live, FEW_UNSEEN, 1e9)
            assert await of_a_turn(busy.live, FEW_UNSEEN, 0.0)

    asyncio.run(run())


@pytest.mark.tui
def test_a_learner_kills_a_leader_and_goes_back_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.start, "FOLDER", tmp_path)
    shown = PageOfTest()

    async def run() -> None:
        live = Live(shown, SCENARIO, Link("short", 3))
        live.begin(80, 24)
        live.resize(120, 40)  # the page's layout is not complete before the worker begins
        driven = Driven(live)
        await driven.shows("▶ sim 0.", "2 partitions, every replica in sync", "future 1")
        assert driven.app.size == (120, 40)
        await driven.type(" ")
        await driven.shows("‖ sim", "step: event")
        await driven.type("k")
        await driven.shows("kill -9 broker 1?")
        await driven.type("y")
        await driven.shows("killed (SIGKILL)")
        killed_us = driven.now().at_us
        await driven.type(" ")
        await driven.until(lambda: driven.now().at_us > killed_us + 2_500_000, "an election")
        await driven.type(" ", "<")
        await driven.shows("behind", "z: now")
        live.resize(90, 30)
        await driven.until(lambda: driven.app.size.width == 90, "the new size")
        there_us = driven.app.model.cluster.glow.now_us
        await driven.type(" ")
        await driven.until(lambda: driven.now().turns == 1, "that the run has gone back")
        assert "executed again from the start: the same" in driven.now().note
        await driven.until(lambda: driven.now().at_us > there_us, "that it goes on from there")
        await driven.type("q")
        await driven.until(lambda: bool(shown.ends), "the end")

    asyncio.run(run())
    assert shown.ends == [""]
    assert "\x1b[?1049h" in shown.written[0]
    assert [act for act in parse(shown.futures["future-1.sim"], "f").acts if act.verb == "kill"]


def test_a_text_that_is_no_scenario_is_refused_with_its_line() -> None:
    with pytest.raises(ScenarioError, match="there is no command 'explode'"):
        Live(PageOfTest(), "> cluster brokers=3\n> explode\n", Link("bad"))


def test_the_dashboard_of_a_page_draws_by_the_driver_of_the_page() -> None:
    assert Live(PageOfTest(), SCENARIO, Link("short")).app.driver_class is PageDriver


def presentation_of(live: Live) -> Presentation:
    assert isinstance(live.app, PagePresenter)
    return live.app.presentation


def data_of_chapter(number: str) -> str:
    return json.dumps(data_of(find_chapters()[number]))


@pytest.mark.tui
def test_a_step_of_a_chapter_is_answered_and_a_link_opens_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.start, "FOLDER", tmp_path)
    shown, data = PageOfTest(), data_of_chapter("00")

    async def taken() -> tuple[str, int, str]:
        live = Live(shown, data, Link(chapter="00", step=2), "abcd")
        live.begin(120, 44)
        driven = Driven(live)
        await driven.shows("2/5 · Kill a leader", "‖ sim")
        await driven.type(" ")
        await driven.shows("Who will notice first", "▶ sim")
        await driven.type("3")
        await driven.shows("How sure are you?")
        await driven.type("2")
        await driven.shows("✓ the process has ended", "Yes.")
        await driven.type(",")
        await driven.until(lambda: driven.now().state == "paused", "that the run stands still")
        stage = live.run.watched.stage
        for command in ("sim-unit", "sim-unit", "sim-unit", "sim-step"):
            await live.run.ask(command, {})  # so all callbacks of the moment have run
        until_us = stage._step_until_us
        await driven.until(lambda: stage.at_us == until_us, "a millisecond later")
        shown_link = read(dict(parse_qsl(live.link())))  # `,` shows the past
        assert shown_link.at_us == live.app.model.cluster.glow.now_us < stage.at_us
        assert shown_link.place == presentation_of(live).begin_of(shown_link.at_us)
        link = live.link_to(stage.at_us, presentation_of(live).place())
        there = (link, stage.at_us, stage.digest)
        await driven.type("q")
        await driven.until(lambda: bool(shown.ends), "the end")
        return there

    async def opened(link: str, at_us: int) -> str:
        again = PageOfTest()
        live = Live(again, data, read(dict(parse_qsl(link))), "abcd")
        live.begin(120, 44)
        driven = Driven(live)
        await driven.shows("2/5 · Kill a leader", "‖ sim", "✓ the process has ended", "Yes.")
        stage = live.run.watched.stage
        assert presentation_of(live).choices == {1: 3}
        await driven.until(lambda: stage.at_us == at_us, "the moment of the link")
        digest = stage.digest
        assert not again.places, "it is not the begin of a step"
        await driven.type(" ")
        await driven.shows("3/5 · Nobody leads", "▶ sim")
        live.app.exit()
        return digest

    link, at_us, digest = asyncio.run(taken())
    assert [(chapter, step, steps) for chapter, step, steps, _ in shown.places] == [
        ("00", 1, 5),
        ("00", 2, 5),
    ]
    assert read(dict(parse_qsl(shown.places[1][3]))).acts[0].endswith("rate=200 acks=all")
    assert asyncio.run(opened(link, at_us)) == digest, "the same facts, byte for byte"


@pytest.mark.tui
def test_a_link_to_a_named_moment_shows_it_though_the_run_is_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.start, "FOLDER", tmp_path)

    async def opened() -> None:
        live = Live(PageOfTest(), data_of_chapter("00"), Link(chapter="00", fact="killed_at"))
        live.begin(120, 44)
        driven, at = Driven(live), presentation_of(live)
        await driven.until(lambda: "killed_at" in at.named_us, "the moment")
        glow = live.app.model.cluster.glow
        await driven.until(
            lambda: live.app.player.paused and 0 <= glow.now_us - at.named_us["killed_at"] < 1_000,
            "that the screen shows the moment",
        )
        await driven.until(lambda: driven.now().state == "paused", "that the run stands still")
        assert live.run.watched.stage.at_us >= at.named_us["killed_at"]
        live.app.exit()

    asyncio.run(opened())


@pytest.mark.parametrize(
    ("link", "why"),
    [
        (Link(chapter="00", step=9), "chapter 00 has 5 steps, not 9"),
        (Link(chapter="00", fact="nothing"), "has no moment 'nothing' in a simulated run"),
        (Link(chapter="00", at_us=5, place=SavedPlace(9, "narration", {}, {})), "no step 10"),
    ],
)
def test_a_link_to_a_moment_that_a_chapter_does_not_have_is_refused(
    link: Link, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.start, "FOLDER", tmp_path)
    with pytest.raises(LinkError, match=why):
        Live(PageOfTest(), data_of_chapter("00"), link)


def test_indexes_are_small_unless_the_scenario_says_their_size() -> None:
    small = with_small_indexes(parse(SCENARIO, "first"))
    assert dict(small.properties)["log.index.size.max.bytes"] == "65536"
    assert with_small_indexes(small) is small
    chosen = parse(SCENARIO.replace("brokers=3", "brokers=3 log.index.size.max.bytes=800"), "own")
    assert dict(with_small_indexes(chosen).properties)["log.index.size.max.bytes"] == "800"
