"""The text of the Groups and Requests screens, from recordings of real clusters.

Groups: a third consumer joined and was stopped with SIGSTOP. Requests: many produces waited in a
queue, because each broker had only one io thread (record_groups.py).
"""

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka_edu.trace.events.group import GroupAssigned, MemberJoined, RebalanceStarted
from tests.tui.paused_app import (
    Ask,
    after_last,
    look_at,
    recording,
    shown,
    until,
    wind_through,
)
from tui.app import DashboardApp
from tui.screens.chain_screen import ChainScreen
from tui.screens.requests_screen import HopsScreen
from tui.widgets.group_board import GroupLines, MemberLines, RebalanceLines
from tui.widgets.member_clients import MemberClients

pytestmark = pytest.mark.tui

FOLDER = Path(__file__).parent / "recordings"
GROUPS, REQUESTS = FOLDER / "third-consumer.jsonl.gz", FOLDER / "few-io-threads.jsonl.gz"
CLIENTS = FOLDER / "clients-hold.jsonl.gz"
SIZES = [(80, 24), (120, 40), (200, 60)]


def look(screen: str, at_ms: int | None, ask: Ask, size: tuple[int, int] = (120, 40)) -> None:
    look_at(recording(GROUPS if screen == "groups" else REQUESTS), at_ms, ask, screen, size)


@pytest.mark.parametrize("size", SIZES)
def test_who_fell_silent_and_what_moved(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "guest-3 fell silent: no heartbeat within the" in text
        assert "coordinator broker" in text
        assert "(__consumer_offsets-" in text
        assert re.search(r"✕ guest-3 .*web-\d,\d .*→ – .*removed", text)
        assert re.search(r"● guest-1 +leader", text)
        assert "Preparing" in text
        assert max(map(len, text.splitlines())) <= size[0]
        if size[1] >= 32:
            assert re.search(r"web-\d guest-\d .* of \d+ .*lag \d+", text)

    look("groups", None, ask, size)


@pytest.mark.parametrize("size", SIZES)
def test_for_whom_the_group_waits_while_it_gathers(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "rebalances: guest-3 joined" in text
        assert re.search(r"waits for guest-\d, guest-\d to join, \d+ ms so far", text)
        assert text.count("◌ guest-") == 2
        assert re.search(r"\+ guest-3 .*– +→ not yet", text)

    joined = after_last(GROUPS, MemberJoined)
    look("groups", joined + 20, ask, size)


def test_an_older_rebalance_can_be_chosen_and_its_causes_followed() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rebalances = app.screen.query_one(RebalanceLines)
        rebalances.focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("down")
        text = shown(app)
        assert re.search(r"\+ guest-3 .*– +→ web-4,5", text), text
        assert "✕ guest-3" not in text
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert "rebalances" in shown(app)

    look("groups", None, ask)


def test_offsets_take_the_members_place_on_a_small_terminal() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "offsets: committed of" not in shown(app)
        await pilot.press("t")
        await pilot.pause()
        assert re.search(r"web-\d guest-\d .* of \d+ .*lag \d+", shown(app))
        await pilot.press("t")
        await pilot.pause()
        assert "members: before → after" in shown(app)

    look("groups", None, ask, (80, 24))


def test_on_a_wide_terminal_each_member_has_its_client_next_to_it() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert re.search(r"partition +position +committed +lag +state", text)
        clocks = r"load-consumer-1 poll\(\) ━+─* 5 min 00 s left · session ━+─* 9\.\d s"
        assert re.search(clocks, text)
        for partition in range(6):
            assert re.search(rf"│   orders-{partition} +[\d,]+ +[\d,]+ +\d+  Fetching", text), text
        assert re.search(r"orders-\d load-consumer-1 +\d+ of \d+ +lag \d+", text), "the offsets"
        await pilot.press("down")
        text = shown(app)
        assert re.search(r"patient +fetches [\d.]+/s · reports nothing of its own", text)
        assert re.search(r"orders-0 +\? +\d+ +\d+  lag of the committed offset", text), text

    look_at(recording(CLIENTS), 9_000, ask, "groups", (160, 48))


def test_a_member_that_gives_partitions_up_between_two_frames_breaks_no_line() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        clients = app.screen.query_one(MemberClients)
        for view in app.model.clients.by_key.values():
            if view.consumer is not None:
                view.consumer = view.consumer._replace(partitions=())
        lines = [clients.line(index).plain for index in range(clients.count())]
        assert sum("Fetching" in line for line in lines) == 6, "those of the last frame"
        clients.tick()
        assert "Fetching" not in shown(app)

    look_at(recording(CLIENTS), 9_000, ask, "groups", (160, 48))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48)])
def test_a_key_leads_from_a_member_to_its_client_and_back(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert ("position" in shown(app)) == (size[0] >= 160)
        await pilot.press("down", "c")
        await until(pilot, app, lambda text: re.search(r"▶ patient +foreign", text) is not None)
        await pilot.press("up", "c")
        await until(pilot, app, lambda text: re.search(r"▶ load +Stable", text) is not None)

    look_at(recording(CLIENTS), 9_000, ask, "groups", size)


def test_a_key_is_for_the_group_that_is_chosen_now_not_for_the_one_drawn_last() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        groups, members = app.screen.query_one(GroupLines), app.screen.query_one(MemberLines)
        first = members.member()
        groups.action_move(1)  # no frame is drawn before the next key
        second = members.member()
        assert first is not None
        assert second is not None
        assert (first.name, second.name) == ("load-consumer-1", "patient")

    look_at(recording(CLIENTS), 9_000, ask, "groups", (120, 40))


def test_before_any_group_there_is_a_hint() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "no broker coordinates a group yet" in shown(app)

    look("groups", 200, ask)


@pytest.mark.parametrize("size", SIZES)
def test_the_time_goes_to_the_queue_and_who_occupies_the_handlers(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "of the time goes to the request queue: 1 handler, 8 before" in text
        assert "CreateTopics" in text
        assert re.search(r"CreateTopics is \d+% of the", " ".join(text.split()))
        assert re.search(r"b0 Produce .*ms .*µs", text)
        assert re.search(r"Fetch \(follower\)", text)
        assert "CreateTopics rdkafka#" in text
        assert max(map(len, text.splitlines())) <= size[0]
        if size[0] >= 120:
            assert "throttle" in text
            assert "req/s" in text

    look("requests", None, ask, size)


def test_one_broker_and_one_request_hop_by_hop() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("right")
        text = shown(app)
        assert "[b0]" in text
        assert "b1 Produce" not in text
        await pilot.press("left", "enter")
        await pilot.pause()
        assert isinstance(app.screen, HopsScreen)
        text = shown(app)
        assert "how its time was spent" in text
        assert "request queue" in text
        assert "█" in text
        assert re.search(r"total +\d+ ms", text)
        assert "…" not in text.split("total")[0].split("how its time was spent")[1]
        assert "waiting until the new partitions have leaders" in text
        assert "receives CreateTopics" in text, "the control plane's hops are always recorded"
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, HopsScreen)

    look("requests", None, ask)


@pytest.mark.parametrize("screen", ["groups", "requests"])
@pytest.mark.parametrize("size", [(20, 5), (40, 12), (80, 24)])
def test_small_and_light_terminals_and_going_through_a_whole_recording(
    screen: str, size: tuple[int, int]
) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("d")
        await wind_through(pilot, app, 8)
        assert shown(app)

    look(screen, None, ask, size)


def test_a_rebalance_without_its_cause_is_told_in_the_coordinators_words() -> None:
    """A recording that begins late has the rebalance, but not the member's event that caused it."""
    events = [e for e in recording(GROUPS) if not isinstance(e.event, MemberJoined)]
    assert any(isinstance(e.event, RebalanceStarted | GroupAssigned) for e in events)

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "guest-3" in shown(app)
        assert "joined" in shown(app)

    look_at(events, after_last(GROUPS, MemberJoined) + 20, ask, "groups")


def test_one_click_chooses_a_rebalance_and_a_second_click_follows_its_causes() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.look()
        await pilot.pause()
        lines = app.screen.query_one(RebalanceLines)
        assert len(lines.rows) > 1
        at = (5, lines.gutter.top + 1)
        await pilot.click(RebalanceLines, offset=at)
        assert lines.cursor == 1
        assert lines.choice.rebalance_us == lines.rows[1].started_us
        assert not isinstance(app.screen, ChainScreen)
        await pilot.click(RebalanceLines, offset=at)
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)

    look("groups", None, ask)
