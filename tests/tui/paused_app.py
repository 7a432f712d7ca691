"""Run the dashboard without a terminal, paused at a moment of a recording, and read its text."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import Envelope, Event
from tests.waiting import PATIENCE_S
from tui.app import DashboardApp

Ask = Callable[[Pilot[None], DashboardApp], Awaitable[None]]
Result = TypeVar("Result")


@cache
def recording(path: Path) -> tuple[Envelope, ...]:
    """Return the events of a recording. It is read once."""
    return tuple(read_recordings([path]))


def after_last(path: Path, cls: type[Event]) -> int:
    """Return the ms from a recording's beginning to just after its last event of this type."""
    events = recording(path)
    at_us = next(e.mono_us for e in reversed(events) if isinstance(e.event, cls))
    return -(-(at_us - events[0].mono_us) // 1000)


def screen_text(screen: Screen[Result]) -> str:
    """Return the screen as lines of text."""
    strips = screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def shown(app: DashboardApp) -> str:
    """Let the dashboard look once more, and return its text."""
    app.look()
    return screen_text(app.screen)


async def until(pilot: Pilot[None], app: DashboardApp, moment: Callable[[str], bool]) -> str:
    """Return the screen's text as soon as it is as wanted."""
    end = time.monotonic() + PATIENCE_S
    while not moment(text := shown(app)):
        assert time.monotonic() < end, text
        await pilot.pause(0.02)
    return text


async def wind_through(pilot: Pilot[None], app: DashboardApp, parts: int) -> None:
    """Go through the whole recording in `parts` steps, and draw the screen after each step."""
    replay = app.replay
    assert replay is not None
    for part in range(parts):
        app.model.reset()
        app.model.apply(replay.wind_to(replay.length_ms * part // parts))
        app.model.advance(replay.clock_us)
        app.look()
        await pilot.pause()


def look_at(
    events: Sequence[Envelope],
    at_ms: int | None,
    ask: Ask,
    screen: str = "cluster",
    size: tuple[int, int] = (120, 40),
) -> None:
    """Run the dashboard on one screen, paused at the moment `at_ms` of the events. None means the
    end of the events.
    """

    async def run() -> None:
        replay = Replay(events)
        app = DashboardApp("demo", replay=replay, screen=screen)
        async with app.run_test(size=size) as pilot:
            app.model.reset()
            app.model.apply(replay.wind_to(replay.length_ms if at_ms is None else at_ms))
            app.model.advance(replay.clock_us)
            replay.playing = False
            for _ in range(3):  # rows are shared out once their widgets know their sizes
                app.look()
                await pilot.pause()
            await ask(pilot, app)

    asyncio.run(run())
