"""The time line, the control of time, and slow motion on the screen, from recordings of real
clusters.
"""

import asyncio
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from kafka_edu.instruments.breakpoints import BREAKPOINTS
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessResumed
from kafka_edu.trace.events.zk import SessionExpired
from tests.tui.paused_app import Ask, after_last, recording, screen_text, shown
from tests.tui.test_cluster_room import cluster_with
from tui.app import DashboardApp
from tui.screens.breakpoint_screen import BreakpointScreen
from tui.screens.chain_screen import ChainScreen
from tui.view_model.descent import descent
from tui.widgets.ticker_lines import TickerLines
from tui.widgets.wheel_board import LIES, WheelBoard

pytestmark = pytest.mark.tui

FOLDER = Path(__file__).parent / "recordings"
KILLED, PAUSED, TRAVEL = (
    FOLDER / f"{name}.jsonl.gz"
    for name in ("controller-killed", "controller-paused", "records-travel")
)
SIZES = [(80, 24), (120, 40), (200, 60)]


def look(path: Path, at_ms: int, ask: Ask, size: tuple[int, int] = (120, 40)) -> None:
    """Run the dashboard, paused at this moment of the recording."""

    async def run() -> None:
        replay = Replay(recording(path))
        replay.playing = False
        app = DashboardApp("demo", replay=replay)
        async with app.run_test(size=size) as pilot:
            app.player.wind_to(at_ms)
            await pilot.pause()
            await ask(pilot, app)

    asyncio.run(run())


@pytest.mark.parametrize("size", SIZES)
def test_the_chain_runs_by_arrows_from_the_kill_to_the_new_leaders(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("9")
        await pilot.press("a")  # the news only, so that the whole chain fits
        await pilot.pause()
        text = shown(app)
        assert all(f"b{broker}" in text for broker in range(3)), "a lane for each broker"
        assert max(map(len, text.splitlines())) <= size[0]
        lines = {line.number: line for line in app.model.ticker.lines}
        elected = next(
            line for line in lines.values() if isinstance(line.envelope.event, LeaderElected)
        )
        chain = []
        at = elected.cause
        while at in lines:
            chain.append(type(lines[at].envelope.event))
            at = lines[at].cause
        assert chain[-1] is ProcessEnded, "the first cause is the kill"
        assert SessionExpired in chain
        assert "└─" in text, "an arrow turns to its effect"
        assert "▶" in text
        assert "broker 2 kill" in text

    look(KILLED, after_last(KILLED, LeaderElected) + 50, ask, size)


@pytest.mark.parametrize("size", SIZES)
def test_every_screen_has_the_strip_with_the_cause(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for key in "12":
            await pilot.press(key)
            await pilot.pause()
            text = shown(app)
            strip = app.screen.query_one(TickerLines)
            assert strip.size.height >= 2
            assert "leader of web" in text
            line = next(line for line in text.splitlines() if "leader of web" in line)
            assert "because" in line, "the cause is not cut off"

    look(KILLED, after_last(KILLED, LeaderElected) + 50, ask, size)


def test_enter_follows_a_line_to_the_kill() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("9", "a")
        strip = app.screen.query_one(TickerLines)
        lines = list(app.model.ticker.lines)
        strip.cursor = next(
            at for at, line in enumerate(lines) if isinstance(line.envelope.event, LeaderElected)
        )
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        text = screen_text(app.screen)
        assert "asked to kill broker" in text, "the chain of a kill begins at the kill"
        assert "expired" in text

    look(KILLED, after_last(KILLED, LeaderElected) + 50, ask)


def test_after_pause_expiry_and_resume_the_screen_names_the_new_controller() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        elected = [e for e in recording(PAUSED) if isinstance(e.event, ControllerElected)]
        new = elected[-1].source.id
        text = shown(app)
        assert "controller none" not in text
        assert f"♛ controller broker {new}" in text
        returned = next(
            e.event.child.id for e in recording(PAUSED) if isinstance(e.event, ProcessResumed)
        )
        assert returned != new, "the old controller came back, and is none any more"

    events = recording(PAUSED)
    look(PAUSED, (events[-1].mono_us - events[0].mono_us) // 1000, ask)


def test_a_breakpoint_is_chosen_by_keys_and_stops_the_recording() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(app.screen, BreakpointScreen)
        at = [point.name for point in BREAKPOINTS].index("a leader changes")
        app.screen.query_one(OptionList).highlighted = at
        await pilot.press("space")
        assert "■ a leader changes" in screen_text(app.screen)
        await pilot.press("escape")
        await pilot.pause()
        app.player.toggle()
        while app.player.hit is None:
            app.player.tick(500_000)
        text = shown(app)
        assert "■ stopped: a leader changes · b" in text.splitlines()[0]
        assert app.replay is not None
        assert not app.replay.playing

    look(KILLED, 0, ask)


def test_slow_motion_says_what_it_is_and_how_much_it_is_slowed() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("m")
        app.workers.cancel_group(app, "ticks")  # the real clock would move the mark too
        assert app.replay is not None
        app.replay.playing = True
        while app.model.motion.journey is None:
            app.player.tick(50_000)
        app.replay.playing = False
        app.player.tick(1_500_000)
        app.look()
        await pilot.pause()  # the strip has as many rows as there are lanes now
        app.look()
        await pilot.pause()
        text = shown(app)
        assert re.search(r"web-\d @\d+: 1 of ", text)
        assert re.search(r"producer web-log-\d +■ sends", text)
        assert len(re.findall(r"broker \d ○ +└─+▶?", text)) == 2, "both followers"
        assert "1 of " in text
        assert "slowed 1,000×" in text or "slowed 500×" in text
        assert "■ appends" in text
        assert "◆" in text, "the mark is on its way"
        assert " ms" in text, "the axis has a unit"
        await pilot.press("m")
        app.look()
        assert "slowed" not in shown(app)

    look(TRAVEL, 500, ask)


@pytest.mark.parametrize("size", SIZES)
def test_slow_motion_replays_one_task_on_the_dial(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("2")
        await pilot.pause()
        await pilot.press("m")
        app.workers.cancel_group(app, "ticks")  # the real clock would move the task too
        assert app.replay is not None
        app.replay.playing = True
        motion = app.model.motion
        while motion.journey is None or motion.journey.kind != "timer tasks":
            app.player.tick(50_000)
        app.replay.playing = False
        seen = []
        for at, station in enumerate(motion.journey.stations):
            since_us = station.at_us - motion.journey.stations[0].at_us
            motion.elapsed_us = since_us * motion.journey.factor
            down = descent(motion)
            assert down is not None
            assert down.at == at
            app.look()
            await pilot.pause()
            text = shown(app)
            board = app.screen.query_one(WheelBoard)
            assert board.timer is not None
            assert board.timer.key == down.key
            head = f"{LIES} {down.task}"
            assert head in text
            assert all(stop.words in text or stop.brief in text for stop in down.stops), "no cut"
            *dial, _ = board.draw().plain.partition(head)[0].splitlines() or ["", ""]
            if down.stops[at].level in board.timer.wheels:
                assert "\n".join(dial).count(LIES) == 1, "the task lies in one slot of the dial"
            seen.append(down.stops[at].words)
        assert len(seen) >= 3, "it came down at least one level"
        assert seen[0].startswith("level ")
        await pilot.press("m")
        app.look()
        await pilot.pause()
        assert LIES + " " not in shown(app), "the dial is the live one again"

    look(TRAVEL, 500, ask, size)


def test_an_empty_cluster_says_what_to_do_here() -> None:
    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            assert "press l to make one" not in shown(app), "nobody has said yet that it is empty"
            app.model.apply(cluster_with({}).envelopes)
            app.look()
            await pilot.pause()
            text = shown(app)
            assert "press l to make one" in text
            assert "demo` makes" not in text

    asyncio.run(run())


def test_the_time_of_a_line_that_has_just_come_can_be_read() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("9")
        await pilot.pause()
        lines = app.screen.query_one("#timeline", TickerLines)
        ground = f" on {lines.palette.glow}"
        glowing = [
            str(span.style).removesuffix(ground)
            for index in range(lines.count())
            for span in lines.line(index).spans
            if str(span.style).endswith(ground)
        ]
        assert glowing
        assert set(glowing) == {lines.palette.text}

    look(KILLED, after_last(KILLED, LeaderElected), ask)


def test_filtered_lines_keep_their_lanes_and_the_arrows_between_them() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("9")
        await pilot.pause()
        app.filter_words = ("web",)
        text = shown(app).splitlines()
        lines = app.screen.query_one("#timeline", TickerLines)
        begin = lines.title().index("sup") + 1
        words = begin + lines.lane_width * len(lines.lanes()) + 1
        rows = [line for line in text if "┊" in line]
        assert len(rows) > 30
        assert {row[words : words + 2] for row in rows} <= {"b0", "b1", "zk"}, "below each other"
        (written,) = (at for at, row in enumerate(rows) if "partitions/2/state set" in row)
        (led,) = (at for at, row in enumerate(rows) if "leader of web-2 nobody" in row)
        gutter = rows[led].index("└")
        assert "▶●" in rows[led]
        assert rows[written][gutter] == "┐"
        between = {row[gutter] for row in rows[written + 1 : led]}
        assert between in ({"│"}, {"│", "┼"}), "straight down, across other arrows too"

    look(KILLED, after_last(KILLED, LeaderElected) + 3_000, ask)
