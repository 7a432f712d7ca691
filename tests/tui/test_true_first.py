"""A screen shows only what it knows: while snapshots arrive, about brokers that are silent, about a
time without samples, and when it has too little room.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Kind, Source, SourceKind
from kafka_edu.trace.events.supervisor import ProcessStarted
from tests.tui import paused_app
from tests.tui.paused_app import recording, shown
from tui.app import DashboardApp
from tui.screens.registry import DECLARATIONS
from tui.widgets.broker_cards import BrokerCard
from tui.widgets.wheel_board import WheelBoard

pytestmark = pytest.mark.tui

FOLDER = Path(__file__).parent / "recordings"
KILLED, PAUSED = FOLDER / "controller-killed.jsonl.gz", FOLDER / "follower-paused.jsonl.gz"
JOINED = FOLDER / "third-consumer.jsonl.gz"
OF_EVENTS = [each.name for each in DECLARATIONS if each.name != "wire"]
"""All screens that show events. Frames come from files."""


def live(
    events: Sequence[Envelope],
    ask: Callable[[Pilot[None], DashboardApp], Awaitable[None]],
    advance_us: int = 0,
    size: tuple[int, int] = (120, 40),
) -> None:
    """Run the dashboard as if these events had arrived, the last of them `advance_us` ago."""

    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=size) as pilot:
            app.model.apply(events)
            app.model.advance((events[-1].mono_us if events else 0) + advance_us)
            await ask(pilot, app)

    asyncio.run(run())


async def screens(pilot: Pilot[None], app: DashboardApp) -> dict[str, str]:
    """Return the text of each screen that shows events."""
    found = {}
    for name in OF_EVENTS:
        app.action_look(name)
        for _ in range(3):  # rows are shared out once their widgets know their sizes
            await pilot.pause()
            app.look()
        await pilot.pause()
        found[name] = shown(app)
    return found


def until(path: Path, ms: int) -> list[Envelope]:
    events = recording(path)
    return [e for e in events if e.mono_us <= events[0].mono_us + ms * 1000]


def test_while_snapshots_arrive_no_screen_says_that_there_is_nothing() -> None:
    """The supervisor and one follower have sent their snapshots; the controller has not."""
    silent = {Source.of_broker(2), Source.of_broker(0), Source(SourceKind.ZOOKEEPER, 1)}
    events = [e for e in until(KILLED, 2) if e.source not in silent]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for name, text in (await screens(pilot, app)).items():
            assert "reading the state of broker" in text.splitlines()[0], name
            assert "▶ live" not in text, name
            assert "controller ?" in text, name
            for untrue in ("no controller:", "0 partitions", "no topics yet", "no timers", "✓"):
                assert untrue not in text, (name, untrue)

    live(events, ask)


def test_while_one_broker_of_three_is_known_the_others_leaders_are_not_in_trouble() -> None:
    """A follower's snapshot does not have the ISR, and only the controller has its counts."""
    silent = {Source.of_broker(2), Source.of_broker(0), Source(SourceKind.ZOOKEEPER, 1)}
    events = [e for e in until(JOINED, 2_500) if e.source not in silent]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        told = await screens(pilot, app)
        for name, text in told.items():
            for untrue in ("refused", "below min ISR", "under-replicated", "no controller is"):
                assert untrue not in text, (name, untrue)
        row = next(line for line in told["cluster"].splitlines() if line.startswith(" web-0"))
        assert "?/1" in row
        assert "? its ISR is not known" in told["replication"]
        assert "not known: reading the state of brokers 0, 2" in told["controller"]
        assert "? reading the state of brokers 0, 2" in told["controller"]

    live(events, ask)


def test_while_the_rings_are_read_the_past_is_not_empty() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.model.reads_rings = True
        for name, text in (await screens(pilot, app)).items():
            assert "reading the rings of the processes" in text.splitlines()[0], name
            assert "0 partitions" not in text, name

    live([], ask)


def test_before_anything_is_known_the_cards_of_later_do_not_make_brokers_of_their_own() -> None:
    """The user goes back to the time when the dashboard was started. The broker cards disappear
    only in the next frame.
    """

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await paused_app.until(pilot, app, lambda _: len(app.screen.query(BrokerCard)) == 3)
        app.model.reset()
        assert "no controller:" not in shown(app)
        text = await paused_app.until(pilot, app, lambda _: not app.screen.query(BrokerCard))
        assert "waiting for the first broker" in text
        assert not app.model.cluster.brokers.by_id

    live(until(PAUSED, 6_000), ask)


def test_old_samples_are_dimmed_with_their_age_and_nothing_is_well() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        told = await screens(pilot, app)
        for name, text in told.items():
            assert "? brokers 0, 1, 2 have sent nothing for 52 s" in text.splitlines()[0], name
            for untrue in (
                "3/2 ok",
                "no request is kept waiting",
                "nothing moves",
                "no deletion or compaction is due",
            ):
                assert untrue not in text, (name, untrue)
        for name in ("cluster", "wheels", "purgatory", "replication", "requests", "groups"):
            assert "52 s old" in told[name], name
        for name in ("cluster", "replication"):
            assert "all in sync then, 52 s old" in told[name], name
        assert "then, 52 s old" in next(
            line for line in told["replication"].splitlines() if line.startswith(" ISR")
        )
        fetch = next(line for line in told["purgatory"].splitlines() if "b1 fetch web-0" in line)
        assert "ms" in fetch.partition("52 s old")[2], "it had not waited for a second then"
        app.action_look("wheels")
        await pilot.pause()
        board = app.screen.query_one(WheelBoard)
        drawn = board.draw()
        dim = [span for span in drawn.spans if str(span.style) == board.palette.dim]
        assert sum(span.end - span.start for span in dim) > 0.9 * len(drawn.plain.replace("\n", ""))

    live(until(PAUSED, 6_000), ask, advance_us=52_000_000)


def test_of_a_time_with_facts_only_offsets_are_not_known() -> None:
    facts = [e for e in recording(PAUSED) if EVENT_TYPES[e.name].kind is Kind.FACT]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.model.cluster.facts_only = True
        told = await screens(pilot, app)
        for name, text in told.items():
            assert text.splitlines()[0].startswith(" ? not known: of this time there are"), name
        row = next(line for line in told["cluster"].splitlines() if line.startswith(" web-0"))
        assert row.count(" ? ") >= 2, "HW and LEO"
        assert "there is no sample of this time" in told["replication"]
        log = next(line for line in told["log"].splitlines() if "web-0 " in line)
        assert "0 B" not in log
        group = next(line for line in told["groups"].splitlines() if "of ?" in line)
        assert "lag ?" in group

    live(facts, ask)


def test_of_a_time_with_facts_only_there_are_no_samples_though_the_brokers_are_known() -> None:
    """The rings have all facts since the start of the brokers, so the dashboard does not wait for a
    snapshot.
    """
    facts = [e for e in recording(PAUSED) if EVENT_TYPES[e.name].kind is Kind.FACT]
    starts = [
        facts[0]._replace(
            source=SUPERVISOR,
            event=ProcessStarted(
                process=f"broker-{broker}", child=Source.of_broker(broker), pid=100 + broker
            ),
        )
        for broker in (0, 1, 2)
    ]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.model.cluster.facts_only = True
        told = await screens(pilot, app)
        for name in ("wheels", "purgatory", "requests"):
            assert "of this time there are facts only, and no sample" in told[name], name
        for text in told.values():
            assert "silent for" not in text

    live([*starts, *facts], ask, advance_us=9_000_000)


def test_a_level_of_the_wheels_without_room_is_announced() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.action_look("wheels")
        await pilot.pause()
        text = shown(app)
        board = app.screen.query_one(WheelBoard)
        assert board.timer is not None
        for level in board.timer.wheels:
            assert f"L{level} " in text, "drawn, or named among those without room"
        assert "no room for L" in text

    live(until(FOLDER / "leader-killed.jsonl.gz", 14_500), ask, size=(80, 24))
