"""The dashboard's own ticks, what waits in a flood of events, and what late events allow to say."""

import asyncio
import gc

import pytest
from textual.worker import Worker

from tests.tui.paused_app import shown
from tui.app import TICK_S, DashboardApp, next_due
from tui.collector import THRESHOLDS, settle_collector
from tui.screens import dashboard_screen
from tui.screens.dashboard_screen import DashboardScreen
from tui.view_model.cluster_view import ClusterView
from tui.widgets.status_line import LATE_US

pytestmark = pytest.mark.tui


def test_ticks_keep_their_beat_and_a_late_one_is_made_up_for() -> None:
    assert next_due(10.0, now_s=10.01) == 10.0 + TICK_S
    late = 10.0 + 1.5 * TICK_S
    assert next_due(10.0, now_s=late) == 10.0 + TICK_S, "at once: it was due before"


def test_a_night_of_sleep_is_one_late_tick() -> None:
    morning = 10.0 + 8 * 3600
    due = next_due(10.0, morning)
    assert due == morning - TICK_S
    assert next_due(due, morning) == morning


def test_ticks_end_with_the_application() -> None:
    async def run() -> list[Worker[object]]:
        app = DashboardApp("demo")
        async with app.run_test():
            ticking = [worker for worker in app.workers if worker.group == "ticks"]
            assert [worker.is_running for worker in ticking] == [True]
        return ticking

    (worker,) = asyncio.run(run())
    assert worker.is_finished


def test_in_a_flood_the_footer_changes_at_most_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 5_000_000
    monkeypatch.setattr(dashboard_screen, "now_us", lambda: now)
    process = "running"
    refreshed: list[str] = []
    monkeypatch.setattr(DashboardScreen, "_process", lambda _: process)
    monkeypatch.setattr(DashboardScreen, "refresh_bindings", lambda _: refreshed.append(process))

    async def run() -> None:
        nonlocal now, process
        app = DashboardApp("demo")
        async with app.run_test():
            shown(app)
            refreshed.clear()
            app.model.flooded = True
            process = "stopped"
            shown(app)
            assert refreshed == []
            now += 1_000_000
            shown(app)
            assert refreshed == ["stopped"]
            process, app.model.flooded = "running", False
            shown(app)
            assert refreshed == ["stopped", "running"], "without a flood at once"

    asyncio.run(run())


def test_while_events_are_late_that_all_is_well_is_said_of_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    well = "✓ all is well: 8 partitions, every replica in sync"
    monkeypatch.setattr(ClusterView, "verdict", lambda _: ("ok", well))

    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            assert well in shown(app)
            app.model.late_us = LATE_US + 400_000
            app.look()
            await pilot.pause()
            text = shown(app)
            assert "… 2.4 s ago: all is well: 8 partitions" in text
            assert "✓ all is well" not in text

    asyncio.run(run())


def test_the_collector_searches_less_often_and_leaves_the_start_alone() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        settle_collector()
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
