"""The dashboard on a simulated run: pause, step, go back, act there, and see another future."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.trace.events.simulation import SimulationSampled
from tests.tui.live_app import LiveApp
from tui.app import DashboardApp
from tui.futures.futures_screen import FuturesScreen
from tui.simulated_app import SimulatedApp
from tui.simulation import Simulation

pytestmark = pytest.mark.tui

SCENARIO = """\
> cluster brokers=3
> topic t partitions=2 rf=3
> producer p topic=t rate=10
> run 60s
> settle 5s
"""


def on_a_run(
    folder: Path,
    drive: Callable[[DashboardApp, LiveApp], Awaitable[None]],
    learners: Sequence[str] = (),
) -> list[Path]:
    """Drive the dashboard on a simulated run. Return the files of its futures."""
    file = folder / "short.sim"
    file.write_text(SCENARIO, encoding="utf-8")

    async def run() -> list[Path]:
        simulation = Simulation(str(file), 3, learners)
        app = SimulatedApp("short", simulation.folder, feed=simulation.feed)
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                await drive(app, LiveApp(app, pilot))
        finally:
            kept = await asyncio.to_thread(simulation.end)
        return kept

    return asyncio.run(run())


async def drive(app: DashboardApp, dashboard: LiveApp) -> None:
    def now() -> SimulationSampled:
        assert app.model.simulation is not None
        return app.model.simulation

    async def until(wanted: Callable[[], bool], what: str) -> None:
        await dashboard.see(lambda _: wanted(), what)

    await dashboard.shows("▶ sim 0.", "×1", "2 partitions, every replica in sync", "future 1")
    await dashboard.press("space")
    await dashboard.shows("‖ sim", "step: event")
    paused_us = now().at_us

    await dashboard.press("u", "u", "u")
    await dashboard.shows("step: ms")
    await dashboard.press("full_stop")
    await until(lambda: now().at_us == paused_us + 1_000, "a step of a millisecond")

    await dashboard.press("comma")
    await dashboard.shows("1 ms behind", "z: now")
    await until(lambda: app.model.cluster.glow.now_us == paused_us, "the moment one step before")
    await dashboard.press("full_stop")
    await dashboard.shows("‖ sim", "step: ms")

    await dashboard.press("comma")
    await dashboard.shows("1 ms behind")
    await dashboard.press("k", "y")
    text = await dashboard.shows("future 2", "killed (SIGKILL)", "ZooKeeper holds its session")
    assert "behind" not in text, "the past is the present now"
    assert now().turns == 1
    assert "executed again from the start: the same" in now().note
    await until(lambda: app.model.cluster.glow.now_us <= now().at_us, "the clock of this future")

    await dashboard.press("s")
    await dashboard.press("space")
    await dashboard.shows("▶ sim", "every replica in sync")

    await dashboard.press("9", "home", "down", "J")
    await dashboard.shows("behind · space: go on here · z: now")
    there_us = app.model.cluster.glow.now_us
    await dashboard.press("space")
    await dashboard.shows("▶ sim", "future 2")
    assert now().turns == 2, "executed again, with the acts that were made by hand"
    await until(lambda: app.model.cluster.glow.now_us > there_us, "its future")

    app.player.breakpoints.toggle("a process ends")
    await dashboard.shows("stopped: a process ends · sup: broker 1 killed")
    await until(lambda: now().state == "paused", "that the run stands still too")
    hit = app.player.hit
    assert hit is not None
    assert now().at_us == hit.envelope.mono_us, "in the very callback"
    await dashboard.press("space")
    await dashboard.shows("▶ sim")
    assert now().turns == 2, "it goes on without being executed again"


def test_a_learner_pauses_steps_goes_back_and_makes_another_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    kept = on_a_run(tmp_path, drive)
    assert [path.name for path in kept] == ["future-1.sim", "future-2.sim"]
    acts = [line for line in kept[1].read_text().splitlines() if line.startswith("> at")]
    assert [act.split()[3:] for act in acts] == [["kill", "1"], ["start", "1"]]


async def second_future(app: DashboardApp, dashboard: LiveApp) -> None:
    """Wait until the dashboard knows that the run is in future 2. A note of the run may say so
    before, and the key `f` would still name future 1.
    """
    await dashboard.shows("future 2", "killed (SIGKILL)")
    await dashboard.see(
        lambda _: app.model.simulation is not None and app.model.simulation.future == 2,
        "the state of future 2",
    )


async def compare(app: DashboardApp, dashboard: LiveApp) -> None:
    def now() -> SimulationSampled:
        assert app.model.simulation is not None
        return app.model.simulation

    def places(text: str) -> int:
        """Return how many places the panel says to differ, or -1."""
        found = re.search(r"· (\d+) places? differ now", text)
        return int(found[1]) if found else -1

    await dashboard.shows("▶ sim 0.")
    await dashboard.press("space")
    await dashboard.shows("‖ sim")
    await dashboard.press("f")
    await dashboard.shows("there is one future only")
    fork_us = now().at_us
    await dashboard.press("u", "u", "u", "full_stop")
    await dashboard.see(lambda _: now().at_us == fork_us + 1_000, "a step")
    await dashboard.press("comma")
    await dashboard.shows("1 ms behind")
    await dashboard.press("k", "y")
    await second_future(app, dashboard)
    await dashboard.press("full_stop")
    await dashboard.see(lambda _: now().at_us > fork_us + 1_000, "another step")

    await dashboard.press("f")
    await dashboard.shows("Future 2 and …, side by side", "future 1: without", "kill 1")
    await dashboard.press("enter")
    text = await dashboard.see(lambda s: places(s) > 0, "what differs")
    assert "asked to kill broker 1" in text, "the first difference"
    assert "future 2" in text
    assert "killed (SIGKILL)" in text
    screen = app.screen
    assert isinstance(screen, FuturesScreen)
    marked = screen.marked_words(0)
    assert any("SIGKILL" in words for words in marked)
    assert not any("broker 3 :" in words for words in marked), "what is the same has no mark"

    await dashboard.press("f")
    text = await dashboard.shows("▶ future 1", "cluster short · future 1")
    assert "killed" not in text.partition("━")[2], "nobody has killed it there"
    await dashboard.press("k", "y")
    await dashboard.shows("this future is only shown")
    await dashboard.press("4")
    await dashboard.shows("partitions: the worst first")
    await dashboard.press("comma")
    await dashboard.shows("1 ms behind")
    await dashboard.see(lambda s: places(s) >= 0, "both futures one step before")
    await dashboard.press("9", "f", "home", "down", "J")
    await dashboard.see(lambda s: "behind" in s, "a moment before the fork")
    both = "no fact differs" not in dashboard.text()
    assert both, "the first difference stays, also when the past is shown"
    await dashboard.see(lambda s: places(s) == 1, "one place: the number of the future")
    assert screen.marked_words(0) == ["2"]

    await dashboard.press("F")
    await dashboard.see(lambda _: not isinstance(app.screen, FuturesScreen), "one future again")
    assert app.model.also_lanes == frozenset()


def test_two_futures_side_by_side_mark_what_differs_and_only_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    on_a_run(tmp_path, compare)
    assert [path.name for path in (tmp_path / "clusters").glob("sim-*")] == [f"sim-{os.getpid()}"]


async def compare_with_a_part(app: DashboardApp, dashboard: LiveApp) -> None:
    await dashboard.shows("▶ sim 0.")
    await dashboard.press("space")
    await dashboard.shows("‖ sim")
    await dashboard.press("u", "u", "u", "u")
    await dashboard.shows("step: ms")
    state = app.model.simulation
    assert state is not None
    fork_us = state.at_us
    await dashboard.press("full_stop")
    await dashboard.see(lambda _: app.model.cluster.glow.now_us == fork_us + 1_000, "a step")
    await dashboard.press("comma")
    await dashboard.shows("1 ms behind")
    await dashboard.press("k", "y")
    await second_future(app, dashboard)
    await dashboard.press("f")
    await dashboard.shows("Future 2 and …, side by side")
    await dashboard.press("enter")
    await dashboard.shows("asked to kill broker 1", "differ now")
    screen = app.screen
    assert isinstance(screen, FuturesScreen)
    for twin in screen.twins:
        assert {name: list(found) for name, found in twin.model.learners.parts.items()} == {
            "02-1": [2]
        }
    await dashboard.press("u", "u", "u", "u")
    await dashboard.shows("step: learner")
    before_us = app.model.cluster.glow.now_us
    await dashboard.press("full_stop")
    await dashboard.see(lambda _: app.model.cluster.glow.now_us > before_us, "its next answer")
    await dashboard.see(lambda _: screen.compared.together, "both futures there")
    assert not screen.compared.failed


def test_two_futures_of_a_run_with_a_learners_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a stored future has a line `learner`, so the future is also played with the
    learner's part.
    """
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path / "a home"))
    part = tmp_path / "a wheel.py"
    part.write_text(find_exercise("02-1").solution.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    on_a_run(tmp_path, compare_with_a_part, ["2:02-1=a wheel.py"])


async def go_far_back(app: DashboardApp, dashboard: LiveApp) -> None:
    def now() -> SimulationSampled:
        assert app.model.simulation is not None
        return app.model.simulation

    await dashboard.shows("▶ sim 0.")
    wanted_us = now().run_us + 150_000
    await dashboard.see(lambda _: not app.player.holds(wanted_us), "that events are dropped")
    await dashboard.press("space")
    await dashboard.shows("‖ sim")
    ended_us = now().at_us
    there_us = now().run_us + 100_000
    await app.action_show_moment(there_us)
    await dashboard.see(lambda _: now().turns == 1, "that the run has gone back")
    await dashboard.see(lambda _: now().at_us == there_us < ended_us, "the moment")
    await dashboard.shows("‖ sim 0.100 s", "2 partitions, every replica in sync")
    await dashboard.press("u", "u", "u", "comma")
    await dashboard.shows("1 ms behind")
    assert now().turns == 1, "the events before it are there too"


def test_a_moment_whose_events_are_not_kept_is_shown_by_going_back_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    monkeypatch.setattr("tui.player.TAPE_EVENTS", 1_000)
    monkeypatch.setattr("tui.app.SHOWN_US", 20_000)
    on_a_run(tmp_path, go_far_back)


def test_a_scenario_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))

    async def run() -> None:
        simulation = Simulation(str(tmp_path / "none.sim"), None)
        await simulation.feed.run()
        assert "cannot read" in simulation.feed.failed
        assert simulation.end() == []
        assert not simulation.folder.path.exists()

    asyncio.run(run())


def test_a_run_that_nobody_keeps_is_deleted_with_its_futures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    simulation = Simulation(str(tmp_path / "none.sim"), None)
    simulation.folder.future(1).write_text("> cluster brokers=3\n")
    simulation.end_and_delete()
    assert not simulation.folder.path.exists()
