"""The ticks of the dashboard: what is postponed in a flood of events, and what the dashboard says
when its events are late.
"""

import asyncio
import gc
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.events import Event as TextualEvent
from textual.events import Key
from textual.worker import Worker

from kafka_edu.instruments.backlog import BEHIND_US
from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import SUPERVISOR, Envelope
from kafka_edu.trace.events.supervisor import ActionAsked
from tests.tui.paused_app import shown
from tests.tui.test_act_line import SilentFeed
from tests.waiting import PATIENCE_S
from tui import app as app_module
from tui.app import (
    FRAME_S,
    FRAME_SHARE,
    MOST_STEPS,
    TAKING_US,
    TICK_S,
    DashboardApp,
    next_due,
    next_frame,
)
from tui.app import (
    LATE_US as LATE_EVENTS_US,
)
from tui.collector import THRESHOLDS, settle_collector
from tui.player import Player
from tui.screens import dashboard_screen
from tui.screens.controller_screen import ControllerScreen
from tui.screens.dashboard_screen import DashboardScreen
from tui.view_model.cluster_view import ClusterView
from tui.widgets.status_line import LATE_US, StatusLine

pytestmark = pytest.mark.tui

KEY_NAMES = {"<": "less_than_sign", ">": "greater_than_sign", ".": "full_stop", ",": "comma"}


def test_ticks_keep_their_beat_and_a_late_one_is_made_up_for() -> None:
    assert next_due(10.0, now_s=10.01) == 10.0 + TICK_S
    late = 10.0 + 1.5 * TICK_S
    assert next_due(10.0, now_s=late) == 10.0 + TICK_S, "at once: it was due before"


def test_a_night_of_sleep_is_one_late_tick() -> None:
    morning = 10.0 + 8 * 3600
    due = next_due(10.0, morning)
    assert due == morning - TICK_S
    assert next_due(due, morning) == morning


def test_a_frame_that_waited_for_a_core_is_followed_by_a_rest_and_late_events_get_fewer() -> None:
    at_ease = next_frame(10.0, 10.02, 0.02, flooded=False, late_us=0)
    assert 10.1 < at_ease <= 10.0 + FRAME_S
    assert next_frame(10.0, 10.02, 0.02, flooded=True, late_us=0) <= 10.0 + TICK_S, "each tick"
    late = next_frame(10.0, 10.02, 0.02, flooded=True, late_us=LATE_EVENTS_US + 1)
    assert late > at_ease, "a flood that is late does not get more frames, but fewer"
    starved = next_frame(10.0, 10.32, 0.02, flooded=False, late_us=0)
    assert starved == pytest.approx(10.32 + FRAME_SHARE * 0.3)


class EndlessFeed(SilentFeed):
    """More events than anybody can take."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def drain(self, now: int | None = None, most: int = 0) -> list[Envelope]:
        self._log.append("events")
        event = ActionAsked(action="kill", target=SUPERVISOR)
        return [Envelope(SUPERVISOR, 1, 0, 0, 1, event)] * most


def test_a_tick_takes_events_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0

    def later() -> int:
        nonlocal clock
        clock += 10_000
        return clock

    monkeypatch.setattr(app_module, "now_us", later)
    monkeypatch.setattr(app_module, "TAKING_CPU_S", 0.0)
    log: list[str] = []

    async def run() -> None:
        app = DashboardApp("demo", feed=EndlessFeed(log))
        async with app.run_test():
            log.clear()
            app.take_events()
            assert len(log) == TAKING_US // 10_000

    asyncio.run(run())


def test_a_key_is_answered_before_the_next_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ticks run without a rest, and there are always events."""
    monkeypatch.setattr(app_module, "TAKING_US", 0)
    monkeypatch.setattr(app_module, "REST_S", 0.0)
    monkeypatch.setattr(app_module, "TICK_S", 0.0)
    monkeypatch.setattr(app_module, "FLOOD_TICK_S", 0.0)
    monkeypatch.setattr(app_module, "KEY_FIRST_S", PATIENCE_S)
    log: list[str] = []

    class LoggingApp(DashboardApp):
        async def on_event(self, event: TextualEvent) -> None:
            if isinstance(event, Key) and not event.is_forwarded:
                log.append(f"read {event.key}")
            await super().on_event(event)

        def action_look(self, name: str) -> None:
            super().action_look(name)
            log.append(f"shown {name}")

    async def run() -> None:
        app = LoggingApp("demo", feed=EndlessFeed(log))
        async with app.run_test() as pilot:
            for key in ("2", "3", "1"):
                await pilot.press(key)

    asyncio.run(run())
    keys = [entry for entry in log if entry != "events"]
    reads, answers = keys[::2], keys[1::2]
    assert reads == ["read 2", "read 3", "read 1"]
    assert answers == ["shown wheels", "shown purgatory", "shown cluster"]
    for read, answer in zip(reads, answers, strict=True):
        assert log.index(answer) == log.index(read) + 1, "no events in between"
    assert log.count("events") > len(keys), "and yet events go on"


class LateFeed(SilentFeed):
    """Events that are late until somebody wants to see now."""

    def __init__(self) -> None:
        self.late = BEHIND_US + 1

    def late_us(self) -> int:
        return self.late

    def to_now(self) -> None:
        self.late = 0


def test_late_events_get_as_much_processor_time_as_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this test, each round of events costs 10 ms of processor time, and the drawing before it
    has cost 45 ms. So late events get five rounds.
    """

    class Flood(LateFeed):
        taken = 0

        def drain(self, now: int | None = None, most: int = 0) -> list[Envelope]:
            self.taken += 1
            return EndlessFeed([]).drain(now, most)

    async def run() -> None:
        feed = Flood()
        app = DashboardApp("demo", feed=feed)
        async with app.run_test():
            app.workers.cancel_group(app, "ticks")
            monkeypatch.setattr(app, "_may_take_more", lambda *_: False)
            monkeypatch.setattr(app_module.time, "thread_time", lambda: 1.0 + feed.taken * 0.010)
            app.take_events()
            for late_us, rounds in ((LATE_EVENTS_US + 1, 5), (LATE_EVENTS_US, 1)):
                feed.late, before = late_us, feed.taken
                monkeypatch.setattr(app, "_taken_until_s", 1.0 + feed.taken * 0.010 - 0.045)
                await app._take_in_turns()
                assert feed.taken - before == rounds

    asyncio.run(run())


def test_a_screen_that_is_shown_again_keeps_its_styles_until_the_theme_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    styled: list[str] = []
    update_nodes = Stylesheet.update_nodes

    def noted(self: Stylesheet, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        nodes = list(nodes)
        styled.extend(
            node.screen.declaration.name
            for node in nodes
            if isinstance(node, StatusLine) and isinstance(node.screen, DashboardScreen)
        )
        update_nodes(self, nodes, animate)

    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test() as pilot:
            await pilot.press("2", "1")
            await pilot.pause()
            monkeypatch.setattr(Stylesheet, "update_nodes", noted)
            await pilot.press("2", "1")
            await pilot.pause()
            assert styled == []
            await pilot.press("d")
            light = app.screen.query_one(StatusLine).styles.color
            styled.clear()
            await pilot.press("2")
            await pilot.pause()
            assert styled == ["wheels"], "its styles were those of the dark theme"
            assert app.screen.query_one(StatusLine).styles.color == light

    asyncio.run(run())


def test_z_leads_to_now_when_events_are_late_too() -> None:
    async def run() -> None:
        feed = LateFeed()
        app = DashboardApp("demo", feed=feed)
        async with app.run_test() as pilot:
            app.take_events()
            await pilot.press("z")
            assert feed.late == 0

    asyncio.run(run())


def test_a_key_that_is_held_down_moves_once_and_z_need_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(Player, "wind", lambda _, by_ms: log.append(("wind", by_ms)))
    monkeypatch.setattr(Player, "step", lambda _, by: log.append(("step", by)))
    monkeypatch.setattr(Player, "to_now", lambda _: log.append(("now", 0)))

    async def run() -> None:
        app = DashboardApp("demo", ClusterFolder(tmp_path), feed=LateFeed())
        async with app.run_test() as pilot:
            app.take_events()
            for keys, moves in (
                ([*"<<<<<<>"], [("wind", -25_000)]),
                ([*"<<.<"], [("wind", -10_000), ("step", 1), ("wind", -5_000)]),
                ([","] * 40, [("step", -1)] * MOST_STEPS),
                ([*"<<<<z"], [("now", 0)]),
            ):
                names = [KEY_NAMES.get(key, key) for key in keys]
                for name, key in zip(names, keys, strict=True):
                    app.post_message(Key(name, key))
                await pilot.pause()
                assert log == moves
                log.clear()

    asyncio.run(run())


def test_new_snapshots_follow_a_gap_of_facts_in_the_recording(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requested: list[str] = []
    wanted: list[bool] = []
    monkeypatch.setattr(TraceFeed, "ask_for_snapshots", lambda _: requested.append("snapshot"))
    monkeypatch.setattr(Recorder, "takes_snapshot", lambda _: bool(wanted) and wanted.pop(0))

    async def run() -> None:
        app = DashboardApp("demo", ClusterFolder(tmp_path), record=tmp_path / "r.jsonl")
        async with app.run_test():
            app.workers.cancel_group(app, "ticks")
            wanted[:] = [False, True, False]
            for requests in (0, 1, 1):
                app.take_events()
                assert len(requested) == requests
        app.close_recording(pytest.fail)

    asyncio.run(run())


def test_the_head_says_what_was_left_out() -> None:
    async def run() -> None:
        feed = SilentFeed()
        app = DashboardApp("demo", feed=feed)
        async with app.run_test(size=(120, 40)):
            app.take_events()
            feed.left_out.update(WheelSampled=1_240, RequestDequeued=30, ActionAsked=1)
            app.take_events()
            assert "left out 1,240 samples, 30 hops, 1 fact" in shown(app)
            feed.left_out.clear()

    asyncio.run(run())


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
    monkeypatch.setattr(ClusterView, "verdict", lambda *_: ("ok", well))

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


def test_a_tick_between_the_change_of_a_screen_and_its_mount_draws_the_screen_below() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            app.action_look("controller")
            other = app.screen_stack[-1]
            assert isinstance(other, ControllerScreen)
            assert not other.is_mounted
            app.look()
            await pilot.pause()
            assert other.is_mounted
            app.look()

    asyncio.run(run())
