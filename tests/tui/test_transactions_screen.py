"""The text of the Transactions screen, from a recording of a real cluster.

Our own producers committed, aborted, were fenced, and left transactions open; one of them hangs
(record_transactions.py).
"""

import asyncio
import re
from pathlib import Path
from typing import Final

import pytest
from textual.pilot import Pilot

from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind
from kafka_edu.trace.events.supervisor import ProcessPaused
from kafka_edu.trace.events.transaction import (
    ProducerFenced,
    TransactionalIdInitialised,
    TransactionTimedOut,
)
from tests.tui.paused_app import Ask, after_last, look_at, recording, shown, wind_through
from tui.app import DashboardApp
from tui.screens.chain_screen import ChainScreen

pytestmark = pytest.mark.tui

RECORDING: Final = Path(__file__).parent / "recordings" / "transactions-held.jsonl.gz"
SIZES: Final = [(80, 24), (120, 40), (160, 48)]
PAUSED_MS: Final = 2_600
"""So long after the pause a marker is missing, and the samples of the paused broker are old."""


def look(at_ms: int, ask: Ask, size: tuple[int, int] = (120, 40)) -> None:
    look_at(recording(RECORDING), at_ms, ask, "transactions", size)


def moment(cls: type[Event]) -> int:
    """Return the time just after the last event of this type, in ms from the recording's
    beginning.
    """
    return after_last(RECORDING, cls)


def line(text: str, begin: str) -> str:
    """Return the line that begins like this, or an empty text."""
    return next((row for row in text.splitlines() if row.strip(" ▶").startswith(begin)), "")


@pytest.mark.parametrize("size", SIZES)
def test_an_open_a_waiting_and_a_hanging_transaction(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert max(map(len, text.splitlines())) <= size[0]
        words = " ".join(text.split())
        assert re.search(
            r"orders-3 hangs: producer \d+ \(report\) has a transaction open there for [\d.]+ s",
            words,
        )
        assert "No coordinator knows it: no marker will come" in words
        assert re.search(r"stock +Ongoing +b\d .*open [\d.]+ s · ━+─* \d+ s of 20 s left", text)
        assert re.search(r"payments +PrepareCommit +b\d .*markers [■□]{2} \d of 2 written", text)
        assert "waits for ord" in line(text, "payments Prepare")
        assert "transaction.timeout.ms" in text
        assert re.search(r"orders-3 +b\d +3 +0 +3 +✕ hangs: report, [\d.]+ s", text)
        held = line(text, "orders-1")
        assert "stock, " in held
        assert "s old" in next(row for row in text.splitlines() if "s old" in row)
        if size[1] >= 40:
            assert re.search(r"payments will commit, and waits [\d.]+ s for the markers of ", text)
            assert re.search(r"broker 0 leads orders-2 and i(s paused|…)", words)

    look(moment(ProcessPaused) + PAUSED_MS, ask, size)


def test_the_chosen_id_with_its_markers_and_its_fences() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("down")
        for _ in range(3):  # the chosen id has more lines than the one before, and gets their room
            app.look()
            await pilot.pause()
        text = shown(app)
        assert re.search(
            r"payments · producer \d+, epoch 2 · client pay-b · coordinator broker", text
        )
        assert re.search(r"PrepareCommit for [\d.]+ s: it will commit when all its markers", text)
        assert re.search(r"markers \d of 2 written: [■□] orders-\d  [■□] orders-\d", text)
        assert "fenced epoch 0 (pay-a) by epoch 2 (pay-b): its EndTxn was refused" in text
        assert "fenced epoch 0 (pay-a) by pay-b, which initialises" in text
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert "payments" in shown(app)

    look(moment(ProcessPaused) + PAUSED_MS, ask)


@pytest.mark.parametrize("size", SIZES)
def test_who_was_fenced_by_whom_is_the_answer_for_some_seconds(size: tuple[int, int]) -> None:
    events = [e for e in recording(RECORDING) if getattr(e.event, "producer_id", 0) != -1]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        words = " ".join(shown(app).split())
        assert re.search(
            r"payments, \d+ ms ago: fenced epoch 0 \(pay-a\) by epoch 2 \(pay-b\): its EndTxn",
            words,
        )

    look_at(events, moment(ProducerFenced) + 100, ask, "transactions", size)


def test_after_its_time_out_the_coordinator_ends_it() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert re.search(r"stock +CompleteAbort .*aborted [\d.]+ m?s ago", text)
        assert re.search(r"by the coordinator: its transaction was open for 2\d s", text)

    look(moment(TransactionTimedOut) + 1_500, ask)


def test_the_top_line_of_every_screen_names_a_partition_whose_transaction_hangs() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        top = shown(app).splitlines()[0]
        assert "! a hanging transaction holds back read_committed readers of orders-3" in top
        assert "all is well" not in shown(app)

    look_at(recording(RECORDING), moment(TransactionTimedOut) + 1_500, ask, "cluster", (120, 40))


@pytest.mark.parametrize("size", [(20, 5), (40, 12), *SIZES])
def test_small_and_light_terminals_and_going_through_the_whole_recording(
    size: tuple[int, int],
) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("d")
        await wind_through(pilot, app, 12)
        assert shown(app)

    look(0, ask, size)


def test_rows_without_room_are_announced() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.resize_terminal(80, 20)
        for _ in range(3):
            app.look()
            await pilot.pause()
        assert re.search(r"partitions, the longest held first · \d more below", shown(app))

    look(moment(ProcessPaused) + PAUSED_MS, ask, (80, 20))


def facts(events: tuple[Envelope, ...]) -> list[Envelope]:
    """Return only the facts, without samples. The rings of the processes have only facts."""
    return [e for e in events if e.name not in EVENT_TYPES or EVENT_TYPES[e.name].kind is Kind.FACT]


def test_in_the_past_of_the_rings_offsets_are_not_known() -> None:
    async def run() -> None:
        replay = Replay(facts(recording(RECORDING)))
        app = DashboardApp("demo", replay=replay, screen="transactions")
        async with app.run_test(size=(120, 40)) as pilot:
            app.model.cluster.facts_only = True
            app.model.apply(replay.wind_to(moment(ProcessPaused) + PAUSED_MS))
            app.model.advance(replay.clock_us)
            replay.playing = False
            await pilot.pause()
            text = shown(app)
            assert re.search(r"orders-3 +b\d +\? +\? +\? +report, ", text), text
            assert "hangs" not in text, "a fact that is not in the rings may have ended it"

    asyncio.run(run())


def test_old_samples_are_dimmed_with_their_age() -> None:
    events = recording(RECORDING)
    until = [e for e in events if e.mono_us <= events[0].mono_us + 9_000_000]

    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=(120, 40)) as pilot:
            app.model.apply(until)
            app.model.advance(until[-1].mono_us + 52_000_000)
            app.action_look("transactions")
            for _ in range(3):
                await pilot.pause()
                app.look()
            text = shown(app)
            assert "hangs" not in text
            stock = line(text, "stock")
            assert "52 s old" in stock
            assert re.search(r"open (\d+ ms|\d\.\d s) ", stock), "it grows while nobody reports"
            assert text.count("52 s old") >= 4, text

    asyncio.run(run())


def test_while_snapshots_arrive_it_reads() -> None:
    events = recording(RECORDING)
    known = [
        e for e in events if e.broker in (None, 1) and e.mono_us <= events[0].mono_us + 500_000
    ]

    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=(120, 40)) as pilot:
            app.model.apply(known)
            app.model.advance(known[-1].mono_us)
            app.action_look("transactions")
            await pilot.pause()
            text = shown(app)
            assert "… reading the state of brokers 0, 2" in text
            assert "no LSO is held back" not in text

    asyncio.run(run())


def test_without_the_fact_who_initialised_the_client_is_not_known() -> None:
    """A dashboard that was opened later gets a snapshot, which does not name the client."""
    events = [
        e
        for e in read_recordings([RECORDING])
        if not isinstance(e.event, TransactionalIdInitialised)
    ]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert re.search(r"stock · producer \d+, epoch 0 · client \? · coordinator", shown(app))

    look_at(events, moment(ProcessPaused), ask, "transactions")
