"""The text of the Purgatory and Replication screens, from recorded clusters of three.

In one recording a follower was paused under acks=all until its session expired, and came back. In
the other recording a follower lagged and its leader was killed. When the old leader started again,
it cut off the records that no other broker had (record_stories.py).
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import BrokerFailed, ReplicaRemovedFromIsr
from kafka_edu.trace.events.purgatory import WaitingOperationSampled
from kafka_edu.trace.events.replication import LogTruncatedByEpoch
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused
from tests.tui.paused_app import Ask, look_at, recording, shown
from tui.app import DashboardApp
from tui.screens.chain_screen import ChainScreen
from tui.screens.purgatory_screen import PurgatoryScreen
from tui.screens.replication_screen import ReplicationScreen
from tui.view_model.partition_view import PartitionKey
from tui.widgets.purgatory_board import EndedLines, OperationLines, PurgatoryTabs
from tui.widgets.replication_board import TroubleLines

pytestmark = pytest.mark.tui

FOLDER = Path(__file__).parent / "recordings"
PAUSED, TRUNCATED = FOLDER / "follower-paused.jsonl.gz", FOLDER / "replica-truncated.jsonl.gz"
SIZES = [(80, 24), (120, 40), (200, 60)]
WEB = PartitionKey("web", 0)


def moment(path: Path, wanted: Callable[[Envelope], bool]) -> int:
    """Return the time in ms from the recording's beginning to the last event for which `wanted`
    returns True.
    """
    begin_us = recording(path)[0].mono_us
    found = [e.mono_us for e in recording(path) if wanted(e)]
    assert found, "no such event was recorded"
    return -(-(found[-1] - begin_us) // 1000)


def paused() -> tuple[int, int]:
    """Return when the follower was paused, and its id."""
    [event] = [e.event for e in recording(PAUSED) if isinstance(e.event, ProcessPaused)]
    broker = event.child.broker
    assert broker is not None
    return moment(PAUSED, lambda e: isinstance(e.event, ProcessPaused)), broker


def truncated() -> tuple[int, int, LogTruncatedByEpoch]:
    """Return when a log was cut, by which broker, and the event."""
    [cut] = [
        e
        for e in recording(TRUNCATED)
        if isinstance(e.event, LogTruncatedByEpoch) and e.event.before != e.event.after
    ]
    assert isinstance(cut.event, LogTruncatedByEpoch)
    assert cut.broker is not None
    return moment(TRUNCATED, lambda e: e is cut), cut.broker, cut.event


def look(path: Path, screen: str, at_ms: int, ask: Ask, size: tuple[int, int] = (120, 40)) -> None:
    look_at(recording(path), at_ms, ask, screen, size)


@pytest.mark.parametrize("size", SIZES)
def test_it_names_the_broker_for_which_requests_wait(size: tuple[int, int]) -> None:
    at_ms, follower = paused()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert re.search(rf"\d requests wait for broker {follower}: \d+ records behind", text)
        assert f"would finish it: broker {follower} fetches" in text
        assert "REQUEST_TIMED_OUT" in text
        assert re.search(r"needs web-0: HW ≥ [\d,]+, is [\d,]+", text)
        found = re.search(
            rf"✗ broker {follower} LEO [\d,]+: (\d+) behind, last fetch (\S+) s", text
        )
        assert found is not None, text
        assert 3.5 < float(found[2]) < 4.5, "as long ago as it was paused"
        assert "from web-log-" in text
        assert "HW moved: broker" in text
        assert "typical wait" in text

    look(PAUSED, "purgatory", at_ms + 4_000, ask, size)


def test_what_the_screen_says_is_what_the_event_says() -> None:
    at_ms, follower = paused()
    begin_us = recording(PAUSED)[0].mono_us

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        last = {
            (e.broker, e.event.waiting.operation): e.event.waiting
            for e in recording(PAUSED)
            if isinstance(e.event, WaitingOperationSampled)
            and e.event.waiting.purgatory == "Produce"
            and at_ms + 3_500 <= (e.mono_us - begin_us) // 1000 <= at_ms + 4_000
        }
        row = app.screen.query_one(OperationLines).line(0).plain
        chosen = next(w for w in last.values() if f"{w.client} #{w.correlation_id}" in row)
        [need] = chosen.why
        text = shown(app)
        assert f"needs web-0: HW ≥ {need.at_least:,}, is {need.have:,}" in text
        for holder, leo in need.holders:
            assert f"{holder} LEO {leo:,}" in text
        [replica] = [r for r in need.replicas if r.broker == follower]
        assert f"{need.at_least - replica.log_end_offset:,} behind" in text

    look(PAUSED, "purgatory", at_ms + 4_000, ask)


def test_the_waits_end_when_the_broker_has_left_the_isr() -> None:
    _, follower = paused()
    out_ms = moment(PAUSED, lambda e: isinstance(e.event, ReplicaRemovedFromIsr))

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert f"wait for broker {follower}" not in text
        assert "✓ HW moved: new leader epoch" in text
        ended = app.screen.query_one(EndedLines)
        lines = [ended.line(i).plain for i in range(ended.count())]
        assert any(re.search(r"[3-9]\.\d s HW moved: new leader epoch", line) for line in lines)
        ended.focus()
        await pilot.pause()  # the focus is set a moment later
        ended.cursor = next(i for i, line in enumerate(lines) if "leader epoch" in line)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert "broker" in shown(app)

    look(PAUSED, "purgatory", out_ms + 1_500, ask)


def test_the_chosen_operation_stays_chosen_and_its_end_is_shown() -> None:
    at_ms, _ = paused()
    out_ms = moment(PAUSED, lambda e: isinstance(e.event, BrokerFailed))

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        lines = app.screen.query_one(OperationLines)
        await pilot.press("down", "down")
        app.look()
        chosen = lines.choice.operation
        assert chosen == lines.choice.waiting(app.model.purgatory)[2].key
        replay = app.player.replay
        assert replay is not None
        app.model.apply(replay.advance(0))
        app.model.reset()
        app.model.apply(replay.wind_to(out_ms + 1_000))
        app.model.advance(replay.clock_us)
        text = shown(app)
        assert lines.choice.operation == chosen, "another one at its place is not what was chosen"
        assert "✓ ended produce web-0 from web-log-" in text
        await pilot.press("up")
        app.look()
        assert lines.choice.operation != chosen

    look(PAUSED, "purgatory", at_ms + 4_000, ask)


def test_keys_choose_a_broker_and_a_purgatory() -> None:
    at_ms, _ = paused()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        tabs = app.screen.query_one(PurgatoryTabs)
        for _ in range(12):
            if tabs.choice.name == "Fetch":
                break
            await pilot.press("t")
        app.look()
        text = shown(app)
        assert "[Fetch" in text
        assert "no other request is kept waiting" in text
        assert "produce web-0" not in text.split("what happened")[0]
        assert "fetch web-0 for a consumer from patient #" in text
        await pilot.press("right")
        assert tabs.choice.broker == 0
        await pilot.press("left")
        assert tabs.choice.broker is None

    look(PAUSED, "purgatory", at_ms + 4_000, ask)


@pytest.mark.parametrize("size", SIZES)
def test_a_lagging_follower_as_a_bar_that_ends_early(size: tuple[int, int]) -> None:
    at_ms, follower = paused()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert f"broker {follower} lags in web-0:" in text
        bars = {
            int(found[1]): found[2]
            for found in re.finditer(r"^[ ▶]*broker (\d) \S+ +([▇█▒]+)", text, re.MULTILINE)
        }
        assert sorted(bars) == [0, 1, 2], text
        shortest = min(bars, key=lambda broker: len(bars[broker]))
        assert shortest == follower
        assert "▒" in text, "what is written and not committed"
        assert "not committed yet" in text
        assert "a replica lags" in text

    look(PAUSED, "replication", at_ms + 4_000, ask, size)


@pytest.mark.parametrize("size", SIZES)
def test_what_the_old_leader_threw_away(size: tuple[int, int]) -> None:
    at_ms, broker, cut = truncated()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        records = cut.before - cut.after
        words = f"broker {broker} cut off {records} records, {cut.before} → {cut.after}"
        answer = next(line for line in text.splitlines() if line.startswith(" ! web-0:"))
        assert f"broker {broker} cut off {records} records, maybe acknowledged" in answer
        assert f"╳ {words}" in text
        assert f"0 from 0  1 from {cut.after}" in text
        assert f"because broker {broker} is gone" in text
        assert "has caught up" in text

    look(TRUNCATED, "replication", at_ms + 1_000, ask, size)


def test_the_cut_is_drawn_where_it_was() -> None:
    at_ms, _, cut = truncated()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        line = next(line for line in text.splitlines() if "╳╳" in line)
        assert f"{cut.before - cut.after} cut off, {cut.after} to {cut.before - 1}" in line
        scale = next(line for line in text.splitlines() if "▼" in line)
        left, right = re.findall(r"\d+", scale)[0], re.findall(r"\d+", scale)[-1]
        begin, width = scale.index(left), scale.rindex(right) + len(right) - scale.index(left)
        per_cell = (int(right) - int(left)) / width
        at = int(left) + (line.index("╳") - begin) * per_cell
        assert abs(at - cut.after) <= 1.5 * per_cell
        assert abs(line.count("╳") * per_cell - (cut.before - cut.after)) <= 2 * per_cell

    look(TRUNCATED, "replication", at_ms + 1_000, ask)


def test_without_a_live_leader_it_says_who_led() -> None:
    killed_ms = moment(TRUNCATED, lambda e: isinstance(e.event, ProcessEnded))
    cut = truncated()[2]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "✕ web-0 has no live leader: clients cannot write or fetch" in text
        assert f"led it, last LEO {cut.before}" in text
        rows = app.screen.query_one(TroubleLines)
        assert rows.choice.key == WEB
        await pilot.press("enter")
        await pilot.pause()
        assert not isinstance(app.screen, ChainScreen), "its ISR has not changed yet"

    look(TRUNCATED, "replication", killed_ms + 2_000, ask)


def test_left_and_right_select_a_replica_for_the_acts() -> None:
    killed_ms = moment(TRUNCATED, lambda e: isinstance(e.event, ProcessPaused))

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        p = app.model.cluster.partitions.by_key[WEB]
        screen = app.screen
        assert isinstance(screen, ReplicationScreen)
        follower = next(broker for broker in p.replicas if broker != p.leader)
        assert screen.act_values() == {"broker": follower}, "it can be paused"
        assert f"▶ broker {follower}" in shown(app)
        await pilot.press("right")
        assert screen.act_values() == {"broker": p.leader}
        assert f"▶ broker {p.leader}" in shown(app)
        await pilot.press("p")
        assert app.model.cluster.brokers[p.leader].process == "running", (
            "a recording stays as it is"
        )

    look(TRUNCATED, "replication", killed_ms - 500, ask)


def test_the_acts_are_for_the_broker_that_is_missing() -> None:
    at_ms, follower = paused()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        screen = app.screen
        assert isinstance(screen, PurgatoryScreen)
        assert screen.act_values() == {"broker": follower}
        await pilot.press("right")
        assert screen.act_values() == {"broker": 0}, "the selected one goes first"

    look(PAUSED, "purgatory", at_ms + 4_000, ask)


def test_enter_follows_the_cut_that_the_row_names_and_not_the_isr_that_grew_after_it() -> None:
    at_ms, _, cut = truncated()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert re.search(r"LogTruncatedByEpoch +#\d+ of b\d", text := shown(app)), text
        assert f"before={cut.before}  after={cut.after}" in text

    look(TRUNCATED, "replication", at_ms + 1_000, ask)


@pytest.mark.parametrize("screen", ["purgatory", "replication"])
@pytest.mark.parametrize("size", [(40, 12), (20, 5), (80, 24)])
def test_every_moment_can_be_drawn_in_any_terminal(screen: str, size: tuple[int, int]) -> None:
    """Go through the whole recording. If a widget raises an exception, the app ends and the test
    fails.
    """

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        replay = app.player.replay
        assert replay is not None
        for at_ms in range(0, replay.length_ms, 2_500):
            app.model.reset()
            app.model.apply(replay.wind_to(at_ms))
            app.model.advance(replay.clock_us)
            app.look()
            await pilot.pause()
        assert app.is_running

    look(TRUNCATED, screen, 0, ask, size)
