"""`kafka-edu bench dashboard`: give the dashboard 10,000 facts a second.

The frames that it draws are counted. The whole application runs without a terminal: feed, reducers,
widgets, Textual's compositor. One frame is one painting by Textual. The facts are invented
(fact_stream): a cluster in trouble, with elections, ISR changes, requests of the controller and
connections. So the figures are only about the dashboard. `bench trace-cost` measures what a watched
broker has to do.

If other programs use the machine, the frames per second depend mostly on these programs. Therefore
the figures also give the CPU time of an event and of a frame, and the share of one core that 10
frames and 10,000 facts a second need.

The cost of each reducer is measured separately, as CPU time for each event.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter, deque
from pathlib import Path
from typing import Final

from rich.console import RenderableType
from textual.screen import Screen

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.trace.event import Envelope
from tui.app import DashboardApp, Feed
from tui.collector import settle_collector
from tui.model import Model

from .fact_stream import FactStream

NAME = "dashboard"
HELP = "10,000 facts a second into the dashboard: frames drawn, CPU, and each reducer's cost"

FACTS_S: Final = 10_000
FRAMES_S: Final = 10.0
WATCHED_S: Final = 10.0
WARM_UP_S: Final = 2.0
SIZE: Final = (120, 40)
COST_EVENTS: Final = 30_000


class MadeFeed:
    """A feed of invented events at a given rate, in real time."""

    def __init__(self, events_s: int) -> None:
        self._stream = FactStream(step_us=1_000_000 // events_s)
        self._made: deque[Envelope] = deque()
        self._cycle = 0
        self._offset_us: int | None = None
        self.handed_out = 0
        self.left_out: Counter[str] = Counter()

    async def run(self) -> None:
        """Do nothing. `drain` makes the events when it is called."""

    def complete(self) -> bool:
        return True

    def late_us(self) -> int:
        """Return how late the oldest event that waits for `drain` is, in µs. 0 if no event
        waits.
        """
        if self._offset_us is None or not self._made:
            return 0
        return max(time.monotonic_ns() // 1000 - self._offset_us - self._made[0].mono_us, 0)

    def to_now(self) -> None:
        """Do nothing, because this feed always shows the present."""

    def drain(self, now: int | None = None, most: int = sys.maxsize) -> list[Envelope]:
        """Return the events whose time has come, at most `most` of them."""
        now_us = now if now is not None else time.monotonic_ns() // 1000
        if self._offset_us is None:
            self._offset_us = now_us
        ripe = now_us - self._offset_us
        while self._stream.now_us < ripe:
            self._made.extend(self._stream.cycle(self._cycle))
            self._cycle += 1
        out: list[Envelope] = []
        while self._made and self._made[0].mono_us <= ripe and len(out) < most:
            envelope = self._made.popleft()
            out.append(envelope._replace(mono_us=envelope.mono_us + self._offset_us))
        self.handed_out += len(out)
        return out


class CountedApp(DashboardApp):
    """The dashboard with counts: frames, events, and the CPU time that is used for events.

    One frame is one painting by Textual.
    """

    frames = 0
    facts = 0
    taking_s = 0.0

    def _take(self, feed: Feed, now: int) -> None:
        begin = time.process_time()
        super()._take(feed, now)
        self.taking_s += time.process_time() - begin
        assert isinstance(feed, MadeFeed)
        self.facts = feed.handed_out

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        self.frames += 1
        super()._display(screen, renderable)


async def watch(screen: str, facts_s: int, seconds: float) -> dict[str, float]:
    """Run the dashboard with one screen open for `seconds`, and return its figures."""
    feed = MadeFeed(facts_s)
    app = CountedApp("bench", feed=feed, screen=screen)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(WARM_UP_S)
        frames, facts, taking_s = app.frames, app.facts, app.taking_s
        wall, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - wall < seconds:
            await asyncio.sleep(0.1)  # the measured time passes
        took, cpu_s = time.monotonic() - wall, time.process_time() - cpu
        frames, facts = max(app.frames - frames, 1), max(app.facts - facts, 1)
        taking_s = app.taking_s - taking_s
        event_us, frame_ms = taking_s / facts * 1e6, (cpu_s - taking_s) / frames * 1e3
        return {
            "frames/s": frames / took,
            "facts/s": facts / took,
            "CPU %": 100 * cpu_s / took,
            "CPU µs an event": event_us,
            "CPU ms a frame": frame_ms,
            # On a busy machine the frames/s and facts/s above say little. The next value is the
            # share of a core that the dashboard needs for FRAMES_S frames and `facts_s` facts a
            # second.
            "% of a core needed": facts_s * event_us / 1e4 + FRAMES_S * frame_ms / 10,
        }


def costs() -> dict[str, float]:
    """Return reducer → its CPU time for one event in µs.

    The time for making the events is not included.
    """
    stream = FactStream(step_us=100)
    events: list[Envelope] = []
    cycle = 0
    while len(events) < COST_EVENTS:
        events.extend(stream.cycle(cycle))
        cycle += 1
    found = {}
    model = Model("bench")
    for name, reducer in vars(model).items():
        apply = getattr(reducer, "apply", None)
        if apply is not None and name != "motion":  # it takes nothing while it is off
            begin = time.process_time()
            for envelope in events:
                apply(envelope)
            found[name] = (time.process_time() - begin) / len(events) * 1e6
    begin = time.process_time()
    model.state()
    found["one keyframe, ms"] = (time.process_time() - begin) * 1e3
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=__doc__)
    parser.add_argument("--facts", type=int, default=FACTS_S, help="facts a second")
    parser.add_argument("--seconds", type=float, default=WATCHED_S, help="for each screen")
    parser.add_argument(
        "--screen", action="append", help="a screen to open (default: cluster and timeline)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the figures to this file"
    )
    args = parser.parse_args(argv)
    settle_collector()
    report = Report(NAME)
    for screen in args.screen or ["cluster", "timeline"]:
        found = asyncio.run(watch(screen, args.facts, args.seconds))
        for name, value in found.items():
            report.figure(f"{screen}: {name}", round(value, 1))
        report.target(f"{screen}: frames/s", found["frames/s"], ">=", FRAMES_S)
        report.target(f"{screen}: facts/s", found["facts/s"], ">=", 0.95 * args.facts)
        report.target(f"{screen}: % of a core needed", found["% of a core needed"], "<=", 100)
    for name, cost in costs().items():
        report.figure(name if "," in name else f"{name}: µs an event", round(cost, 1))
    report.show()
    if args.json:
        report.write(args.json)
    return 0 if report.holds else 1
