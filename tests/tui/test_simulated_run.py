"""The dashboard on a simulated run: pause, step, go back, act there, and see another future."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_edu.trace.events.simulation import SimulationSampled
from tests.tui.live_app import LiveApp
from tui.app import DashboardApp
from tui.simulation import Simulation

pytestmark = pytest.mark.tui

SCENARIO = """\
> cluster brokers=3
> topic t partitions=2 rf=3
> producer p topic=t rate=10
> run 60s
> settle 5s
"""


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
    await until(lambda: now().at_us > paused_us, "a step")
    assert now().at_us - paused_us == 1_000

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


def test_a_learner_pauses_steps_goes_back_and_makes_another_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    file = tmp_path / "short.sim"
    file.write_text(SCENARIO, encoding="utf-8")

    async def run() -> None:
        simulation = Simulation(str(file), 3)
        app = DashboardApp("short", simulation.folder, feed=simulation.feed)
        try:
            async with app.run_test(size=(120, 40)) as pilot:
                await drive(app, LiveApp(app, pilot))
        finally:
            kept = await asyncio.to_thread(simulation.end)
        assert [path.name for path in kept] == ["future-1.sim", "future-2.sim"]
        acts = [line for line in kept[1].read_text().splitlines() if line.startswith("> at")]
        assert [act.split()[3:] for act in acts] == [["kill", "1"], ["start", "1"]]

    asyncio.run(run())


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
