"""The text of the Controller and ZooKeeper screens, from a recorded cluster of three.

A broker was paused until its session expired; another was stopped; the controller was killed; and
/controller was deleted (record_control_plane.py).
"""

import inspect
import re
import sys
from pathlib import Path
from types import FrameType

import pytest
from textual.pilot import Pilot

from kafka_edu.trace.event import ZOOKEEPER, Envelope, SourceKind
from kafka_edu.trace.events.controller import (
    ControlledShutdownProcessed,
    ControllerElected,
    ControllerEventQueued,
    ControllerEventStarted,
    LeaderElected,
    PartitionStateChanged,
)
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused
from kafka_edu.trace.events.zk import SessionExpired, WatchSnapshot, ZnodeDeleted, ZnodeSnapshot
from tests.tui.paused_app import Ask, look_at, recording, screen_text, shown
from tests.unit.tui.story_of_events import Story
from tui.app import DashboardApp
from tui.screens.chain_screen import ChainScreen
from tui.screens.dashboard_screen import DashboardScreen
from tui.widgets.controller_events import EventLines
from tui.widgets.session_lines import SessionLines
from tui.widgets.znode_lines import ZnodeLines

pytestmark = pytest.mark.tui

RECORDING = Path(__file__).parent / "recordings" / "control-plane.jsonl.gz"
SIZES = [(80, 24), (120, 40), (200, 60)]


def moments(cls: type[tuple[object, ...]]) -> list[tuple[int, Envelope]]:
    """Return when (ms from the beginning) events of this type happened."""
    begin_us = recording(RECORDING)[0].mono_us
    return [
        (-(-(envelope.mono_us - begin_us) // 1000), envelope)
        for envelope in recording(RECORDING)
        if isinstance(envelope.event, cls)
    ]


def look(
    screen: str,
    at_ms: int,
    ask: Ask,
    size: tuple[int, int] = (120, 40),
    events: tuple[Envelope, ...] | None = None,
) -> None:
    look_at(events or recording(RECORDING), at_ms, ask, screen, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_next_controller_and_from_what_it_elected(size: tuple[int, int]) -> None:
    at_ms, elected = moments(ControllerElected)[0]
    assert isinstance(elected.event, ControllerElected)
    _, ended = next(
        (at, e)
        for at, e in moments(ProcessEnded)
        if isinstance(e.event, ProcessEnded) and e.event.signal
    )
    assert isinstance(ended.event, ProcessEnded)
    dead = ended.event.child.id

    async def ask(_: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        epoch = app.model.controller.terms[-1].epoch
        assert f"♛ broker {elected.source.id} is the controller" in text
        assert f"epoch {epoch}" in text
        assert "Reelect" in text
        assert "♛ elected" in text
        assert re.search(r"-\d  ✓ nobody → broker \d", text), "the dead leader had left the ISR"
        assert f"✕ broker {dead}  not alive" in text
        assert "← chosen" in text
        assert "Online" in text
        assert max(map(len, text.splitlines())) <= size[0]
        if size[0] >= 120:
            assert f"broker {dead} was taken out of the ISR of 8 partitions; it led" in text
            assert "it is not alive" in text
            assert "is the first of AR" in text
            assert f"before: broker {dead}" in text
            assert re.search(r"NonExistent +– +.*→ New", text), "the table, from the snapshot"
            assert "DeletionIneligible" in text
        for line in text.splitlines():
            if "is the first of AR" in line:
                assert "✓" in line

    look("controller", at_ms + 400, ask, size)


def test_sigterm_moves_leaders_first_and_says_who_could_not_lead() -> None:
    at_ms, processed = next(
        (at, e)
        for at, e in moments(ControlledShutdownProcessed)
        if isinstance(e.event, ControlledShutdownProcessed) and e.event.led
    )
    assert isinstance(processed.event, ControlledShutdownProcessed)
    going = processed.event.broker_id

    async def ask(_: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert f"ControlledShutdown {going}" in text
        assert f"broker {going} may go" in text
        assert "ControlledShutdown\n" in text or ", ControlledShutdown" in text, "the strategy"
        assert "its broker is shutting down" in text
        assert re.search(r"partitions: \d Online → Online", text), "they stay online"
        assert "itself" in text

    look("controller", at_ms + 60, ask, (140, 50))


def test_partitions_by_their_last_election_and_the_chain_behind_one() -> None:
    at_ms, _ = moments(ControllerElected)[0]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("v")
        await pilot.pause()
        text = shown(app)
        assert re.search(r"(web|payments)-\d +✓ broker \d → broker \d, epoch \d+", text)
        assert "← chosen" in text
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert "What caused it" in shown(app) or "What caused it" in screen_text(app.screen)
        await pilot.press("escape")
        await pilot.press("v")
        await pilot.pause()
        assert "waited" in shown(app)

    look("controller", at_ms + 400, ask)


def test_the_cursor_follows_the_newest_event_until_it_is_moved() -> None:
    at_ms, _ = moments(ControllerElected)[0]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        lines = app.screen.query_one(EventLines)
        shown(app)
        assert lines.chosen is not None
        assert not lines.chosen.idle, "something came of it"
        await pilot.press("home")
        assert lines.cursor == 0
        shown(app)
        assert lines.cursor == 0
        await pilot.press("end")
        shown(app)
        assert lines.cursor == max(lines.newest(), lines.count() - 1)

    look("controller", at_ms + 1_500, ask)


@pytest.mark.parametrize("size", SIZES)
def test_a_paused_brokers_session_counts_down(size: tuple[int, int]) -> None:
    at_ms, paused = moments(ProcessPaused)[0]
    assert isinstance(paused.event, ProcessPaused)
    broker = paused.event.child.id

    async def ask(_: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        (line,) = [line for line in text.splitlines() if "dies in" in line]
        assert f"broker {broker}" in line
        assert "‖" in line, "it is paused"
        assert re.search(r"dies in [\d.]+ m?s silent [\d.]+ s", line)
        assert "/" in text
        assert "brokers" in text
        assert max(map(len, text.splitlines())) <= size[0]

    look("zookeeper", at_ms + 4_500, ask, size)


def test_it_expires_its_znode_goes_and_the_watch_fires() -> None:
    at_ms, _ = moments(SessionExpired)[0]
    broker = next(
        e.event.child.id for _, e in moments(ProcessPaused) if isinstance(e.event, ProcessPaused)
    )

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert re.search(rf"broker {broker}.*✕ expired \d+ ms ago", text)
        assert re.search(rf" {broker} +gone \d+ ms ago with b{broker}'s session", text)
        assert re.search(r"/brokers/ids children → b\d BrokerChange", text)
        await pilot.press("tab")
        tree = app.screen.query_one(ZnodeLines)
        tree.focus()
        await pilot.pause()  # the focus is set a moment later
        rows = [row.node.path for row in tree.rows]
        tree.cursor = rows.index("/controller")
        text = shown(app)
        assert "goes with broker" in text
        assert "watched by broker" in text
        assert re.search(r"brokerid +\d", text), "its data, field by field"

    look("zookeeper", at_ms + 300, ask, (160, 50))


def test_controller_is_deleted_by_hand_and_made_again() -> None:
    at_ms, _ = [
        (at, e)
        for at, e in moments(ZnodeDeleted)
        if isinstance(e.event, ZnodeDeleted) and e.event.path == "/controller"
    ][-1]

    async def ask(_: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert re.search(r"/controller deleted → b\d Reelect", text)

    look("zookeeper", at_ms + 600, ask, (160, 50))


def test_znodes_open_and_close_by_keys() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        tree = app.screen.query_one(ZnodeLines)
        tree.focus()
        await pilot.pause()  # the focus is set a moment later
        shown(app)
        await pilot.press("home")
        before = tree.count()
        tree.cursor = [row.label for row in tree.rows].index("web")
        await pilot.press("right")
        shown(app)
        assert tree.count() > before
        assert "0/state" in [row.label for row in tree.rows]
        assert "leader_epoch" in shown(app)
        await pilot.press("left")
        assert tree.count() == before
        await pilot.press("left")
        assert tree.rows[tree.cursor].label == "topics", "up to its parent"
        await pilot.press("enter")
        assert not tree.rows[tree.cursor].is_open

    look("zookeeper", moments(LeaderElected)[-1][0], ask, (160, 50))


def test_the_filter_finds_znodes_that_are_not_open_and_events_by_name() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.filter_words = ("web", "state")
        text = shown(app)
        assert text.count("/brokers/topics/web/partitions/") >= 6
        tree = app.screen.query_one(ZnodeLines)
        assert all("web" in row.label for row in tree.rows)
        app.filter_words = ()
        shown(app)
        assert "controller_epoch" in [row.label for row in tree.rows]
        app.action_look("controller")
        await pilot.pause()
        app.filter_words = ("controlledshutdown",)
        lines = app.screen.query_one(EventLines)
        shown(app)
        assert lines.chosen is not None
        assert lines.chosen.name == "ControlledShutdown"
        await pilot.pause()
        assert "may go" in shown(app), "the one line is in view, wherever the list stood before"

    look("zookeeper", moments(ControllerElected)[-1][0], ask, (160, 50))


def test_the_selected_session_stays_when_others_come_and_go() -> None:
    at_ms, _ = moments(SessionExpired)[0]

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        lines = app.screen.query_one(SessionLines)
        lines.focus()
        await pilot.pause()  # the focus is set a moment later
        shown(app)
        await pilot.press("down")
        await pilot.press("down")
        assert lines.broker == 2
        assert app.replay is not None
        app.model.apply(app.replay.advance(60_000_000))
        shown(app)
        assert lines.broker == 2

    look("zookeeper", at_ms - 500, ask)


def test_without_zookeepers_events_the_screen_says_so_and_shows_what_brokers_report() -> None:
    events = tuple(e for e in recording(RECORDING) if e.source.kind is not SourceKind.ZOOKEEPER)
    begin_us = events[0].mono_us
    at_ms = moments(ControllerElected)[0][0] - (begin_us - recording(RECORDING)[0].mono_us) // 1000

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.model.zookeeper.kind = "apache"
        app.model.zookeeper.modes = {1: "follower", 2: "leader", 3: ""}
        shown(app)
        await pilot.pause()
        text = shown(app)
        assert "server 1 follower · server 2 leader · server 3 serves nobody" in text
        assert "Apache ZooKeeper emits no events" in text
        assert "below is what the brokers report" in text
        assert "alive, brokers say" in text
        assert "controller_epoch" in text
        assert re.search(r"/controller deleted → b\d Reelect", text)

    look("zookeeper", at_ms + 400, ask, (160, 50), events)


MANY = 10_000
"""Partitions and znodes. A frame draws some forty of them, and makes fewer calls than this."""


def ten_thousand() -> list[Envelope]:
    """Return the events of a controller that elects leaders for 10,000 partitions. ZooKeeper has
    their topics.
    """
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    queued = story.tell(1, ControllerEventQueued(name="BrokerChange", detail="", queue_size=1))
    begun = story.tell(
        1, ControllerEventStarted(name="BrokerChange", detail="", queued_us=5), cause=queued
    )
    isr, live = (1, 2, 3), (1, 2)
    for number in range(MANY):
        path = f"/brokers/topics/t{number}"
        state = f"{path}/partitions/0/state"
        story.tell(
            ZOOKEEPER,
            ZnodeSnapshot(
                path=state,
                czxid=0,
                mzxid=0,
                version=0,
                ephemeral_owner=0,
                data_length=2,
                num_children=0,
                data='{"leader":1}',
            ),
        )
        story.tell(ZOOKEEPER, WatchSnapshot(path=path, kind="data", cnxn=1))
        change = PartitionStateChanged(
            topic=f"t{number}",
            partition=0,
            before="OfflinePartition",
            after="OnlinePartition",
            reason="elected",
            controller_epoch=4,
        )
        story.tell(1, change, cause=begun)
        elected = LeaderElected(
            topic=f"t{number}",
            partition=0,
            strategy="OfflinePartition",
            replicas=isr,
            isr_before=isr,
            live=live,
            old_leader=3,
            new_leader=1,
            isr=live,
            leader_epoch=1,
            unclean=False,
            controller_epoch=4,
            zk_path=state,
            zk_version=1,
        )
        story.tell(1, elected, cause=begun)
    return story.envelopes


def test_a_frame_costs_little_with_ten_thousand_partitions_and_znodes() -> None:
    events = ten_thousand()

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for envelope in events:
            app.model.controller.apply(envelope)
            app.model.zookeeper.apply(envelope)
        for screen in ("controller", "zookeeper"):
            app.action_look(screen)
            await pilot.pause()
            assert calls_of_a_frame(app) < MANY, f"{screen}: it looks at rows that nobody sees"
        tree = app.screen.query_one(ZnodeLines)
        tree.focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("end")
        tree.cursor = next(i for i, row in enumerate(tree.rows) if row.hidden)
        tree.action_move(0)
        await pilot.pause()
        assert "9,900 more" in shown(app)

    look("controller", 0, ask, (200, 60))


def calls_of_a_frame(app: DashboardApp) -> int:
    """Let everything on the screen change. Return how many calls of the dashboard's functions the
    next frame needs.
    """
    assert isinstance(app.screen, DashboardScreen)
    app.screen.tick()  # the first frame of a screen shares out its rows
    app.model.controller.version += 1
    app.model.zookeeper.tree.version += 1
    ours = str(Path(inspect.getfile(DashboardApp)).parent)
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(ours)

    sys.setprofile(count)
    try:
        app.screen.tick()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("screen", ["controller", "zookeeper"])
@pytest.mark.parametrize("size", [(20, 5), (40, 12), (300, 100)])
def test_odd_sizes_and_every_moment_draw_without_a_traceback(
    screen: str, size: tuple[int, int]
) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert app.replay is not None
        for _ in range(12):
            app.model.apply(app.replay.advance(5_000_000))
            app.model.advance(app.replay.clock_us)
            app.look()
            await pilot.pause()
        assert screen_text(app.screen)

    async def playing(pilot: Pilot[None], app: DashboardApp) -> None:
        assert app.replay is not None
        app.replay.playing = True
        await ask(pilot, app)

    look(screen, 0, playing, size)
