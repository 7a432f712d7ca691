"""The text of the screens, from the recording of a cluster of three brokers. A leader was killed
under load and started again.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from kafka_edu.common.terminal_picture import tidy
from kafka_edu.instruments.replay import Replay
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.trace.event import meaning
from kafka_edu.trace.events.controller import BrokerFailed, LeaderElected
from kafka_edu.trace.events.supervisor import ProcessEnded
from tests.tui.paused_app import Ask, look_at, recording, screen_text, shown, until
from tests.waiting import PATIENCE_S
from tui.app import DashboardApp, picture
from tui.command import dashboard
from tui.palette import DARK, LIGHT
from tui.screens.about_screen import AboutScreen
from tui.screens.batch_screen import BatchScreen
from tui.screens.chain_screen import ChainScreen
from tui.screens.source_screen import SourceScreen
from tui.screens.wheels_screen import WheelsScreen
from tui.subjects import ALL_SUBJECTS
from tui.widgets.broker_cards import BrokerCard
from tui.widgets.partition_matrix import MatrixRows
from tui.widgets.timer_tabs import TimerTabs

pytestmark = pytest.mark.tui

RECORDING = Path(__file__).parent / "recordings" / "leader-killed.jsonl.gz"
Event = TypeVar("Event", bound=tuple[object, ...])


def moment(cls: type[Event]) -> tuple[int, Event]:
    """Return the last event of this type, and its time in ms from the recording's beginning."""
    begin_us = recording(RECORDING)[0].mono_us
    for envelope in reversed(recording(RECORDING)):
        if isinstance(envelope.event, cls):
            return -(-(envelope.mono_us - begin_us) // 1000), envelope.event
    raise AssertionError(f"no {cls.__name__} was recorded")


def look(at_ms: int, ask: Ask, size: tuple[int, int] = (120, 36)) -> None:
    look_at(recording(RECORDING), at_ms, ask, size=size)


def test_the_cluster_before_anything_happens() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "✓ all is well: 8 partitions, every replica in sync" in text
        assert "cluster demo" in text
        for broker in (0, 1, 2):
            assert f"broker {broker} :" in text
        assert text.count("♛") >= 2, "next to the controller in the head, and on its card"
        for partition in range(6):
            assert f"web-{partition}" in text
        assert "3/2 ok" in text
        assert "leader of" in text

    look(moment(ProcessEnded)[0] - 300, ask)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
def test_a_killed_leader_and_the_new_leaders(size: tuple[int, int]) -> None:
    killed, ended = moment(ProcessEnded)

    async def when_killed(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "without a leader: broker" in text.splitlines()[0]
        assert f"broker {ended.child.id}" in text
        assert "killed (SIGKILL)" in text
        assert "ZooKeeper holds its s" in text
        assert "still leader of" in text
        assert "no leader" in text, "and not: 2/1 ok"
        assert "✕●" in text, "ZooKeeper still has the dead broker as leader, and in the ISR"
        assert "✕" in text

    look(killed + 5, when_killed, size)

    async def when_elected(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "under-replicated: broker" in text.splitlines()[0]
        assert "left the cluster" in text
        assert f"★{ended.child.id}" in text, "the preferred leader is the dead one"
        assert "because broker" in text
        assert "2/2 ok" in text
        assert "↑" in text

    look(moment(LeaderElected)[0] + 150, when_elected, size)


def test_enter_follows_the_chain_to_the_cause_and_to_what_followed() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rows = app.screen.query_one(MatrixRows)
        rows.focus()
        await pilot.pause()  # the focus is set a moment later
        elected = moment(LeaderElected)[1]
        rows.cursor = [str(key) for key in app.model.cluster.partitions.by_key].index(
            f"{elected.topic}-{elected.partition}"
        )
        await pilot.press("enter")
        text = await until(pilot, app, lambda text: "What caused it, and what followed" in text)
        assert isinstance(app.screen, ChainScreen)
        assert "└▶" in text
        await pilot.press("escape")
        await until(pilot, app, lambda text: "What caused it" not in text)
        assert not isinstance(app.screen, ChainScreen)

    look(moment(LeaderElected)[0] + 150, ask)


def test_the_chain_says_what_its_event_means_in_whole_sentences() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        elected = next(
            e for e in reversed(recording(RECORDING)) if isinstance(e.event, LeaderElected)
        )
        await app.push_screen(ChainScreen(app.model.ticker, elected))
        detail = str(app.screen.query_one("#detail", Static).render())
        assert detail.splitlines()[1] == meaning(LeaderElected)

    look(moment(LeaderElected)[0] + 150, ask)


def test_wheels_with_hands_rates_and_what_waits() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("2")
        await pilot.pause()
        text = shown(app)
        assert "purgatory, broker" in text
        assert "level 1 · 1 ms × 20" in text
        assert "level 2 · 20 ms × 20" in text
        assert "▲" in text
        assert "inserted" in text
        assert "demoted" in text
        assert "clock" in text
        tabs = app.screen.query_one(TimerTabs)
        before = tabs.key
        await pilot.press("right")
        assert tabs.key is not None
        assert before is not None
        assert tabs.key.broker != before.broker
        assert f"broker {tabs.key.broker}" in shown(app)
        await pilot.press("t")
        assert tabs.key.timer != before.timer
        await pilot.press("1")
        await pilot.pause()
        assert "ISR/min" in shown(app)

    look(moment(ProcessEnded)[0] - 300, ask)


def test_wheels_fit_a_small_screen_as_strips() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("2")
        await pilot.pause()
        text = shown(app)
        assert "L1 1 ms × 20" in text or "level 1" in text
        assert "hand at" in text
        assert max(map(len, text.splitlines())) <= 80

    look(moment(ProcessEnded)[0] - 300, ask, (80, 24))


def test_about_and_source_of_the_widget_in_focus() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.screen.query_one(MatrixRows).focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("question_mark")
        await pilot.pause()
        text = screen_text(app.screen)
        assert "Partitions and replicas" in text
        assert "LeaderElected" in text
        assert "kafka_edu/replication/partition.py" in text
        app.screen.query_one(OptionList).focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("enter")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, SourceScreen)
        assert "class Partition" in screen_text(app.screen)

    look(moment(BrokerFailed)[0], ask, size=(120, 48))


def test_about_reaches_its_events_with_pagedown_in_a_lower_window() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.screen.query_one(MatrixRows).focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("question_mark")
        await pilot.pause()
        assert "LeaderElected" not in screen_text(app.screen)
        await pilot.press("pagedown")
        await pilot.pause()
        assert "LeaderElected" in screen_text(app.screen)

    look(moment(BrokerFailed)[0], ask, size=(120, 36))


def test_about_shows_each_event_once_with_its_whole_meaning() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for subject in ALL_SUBJECTS:
            await app.push_screen(AboutScreen(subject))
            words = str(app.screen.query_one("VerticalScroll Static", Static).render())
            lines = words.partition("Events that feed it:\n")[2].splitlines()
            names = [line.partition(" ")[0] for line in lines]
            assert names == list(dict.fromkeys(cls.__name__ for cls in subject.events))
            for line, cls in zip(lines, dict.fromkeys(subject.events), strict=True):
                assert line.endswith(meaning(cls))
            app.pop_screen()

    look(moment(BrokerFailed)[0], ask)


def test_a_click_selects_a_broker_and_a_recording_cannot_be_acted_on() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.click("#broker-2")
        await pilot.pause()
        assert [card.broker_id for card in app.screen.query(BrokerCard) if card.selected] == [2]
        await pilot.press("left")
        assert [card.broker_id for card in app.screen.query(BrokerCard) if card.selected] == [1]
        await pilot.press("k")
        await pilot.pause()
        assert "SIGKILL?" not in shown(app)
        footer = shown(app).splitlines()[-1]
        assert "kill" not in footer
        assert "step" in footer

    look(moment(ProcessEnded)[0] - 300, ask)


def test_the_player_steps_winds_and_plays_on() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        replay = app.replay
        assert replay is not None
        at, at_us = replay.at_ms, replay.clock_us
        await pilot.press("full_stop")
        assert replay.clock_us > at_us
        await pilot.press("comma", "comma")
        assert replay.clock_us < at_us
        await pilot.press("less_than_sign")
        assert replay.at_ms <= max(at - 5_000, 0) + 1_000
        await pilot.press("plus", "space")
        assert (replay.speed, replay.playing) == (2.0, True)
        assert "×2" in shown(app)

    look(moment(ProcessEnded)[0], ask)


def test_light_and_dark_tell_the_same_with_other_colours() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        dark = shown(app)
        await pilot.press("d")
        await pilot.pause()
        assert app.current_theme.dark is False
        assert shown(app) == dark

    look(moment(BrokerFailed)[0], ask)
    assert len(DARK.brokers) == len(LIGHT.brokers)


def test_a_picture_needs_no_terminal_and_no_net(tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    result = CliRunner().invoke(
        dashboard, ["--replay", str(RECORDING), "--screenshot", str(out), "--size", "90x30"]
    )
    assert result.exit_code == 0, result.output
    svg = out.read_text(encoding="utf-8")
    assert "payments-1" in svg
    assert "font-face" not in svg
    assert "url(http" not in svg


def test_blanks_before_text_become_a_place_in_the_picture() -> None:
    svg = (
        '<text class="r1" x="10" y="20" textLength="61"'
        ' clip-path="url(#a)">&#160;&#160;b0&#160;</text>'
    )
    assert (
        tidy(svg)
        == '<text class="r1" x="34.4" y="20" textLength="36.6" clip-path="url(#a)">b0&#160;</text>'
    )


def test_wrong_words_on_the_command_line_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    no_recording = tmp_path / "x.jsonl"
    no_recording.write_text("hello\n")
    for words, answer in (
        (["--replay", str(no_recording)], "not a stream of kafka-edu events"),
        (["--screenshot", str(tmp_path / "x.svg")], "there is no cluster 'default'"),
        (
            ["--replay", str(RECORDING), "--screenshot", str(tmp_path / "no" / "x.svg")],
            "Name a file in a folder that you may write to",
        ),
        (["--size", "9x9", "--screenshot", "x.svg"], "at least 40x12"),
        (["--cluster", "nowhere"], "needs a terminal"),
    ):
        result = CliRunner().invoke(dashboard, words)
        assert result.exit_code != 0
        assert answer in result.output


def test_a_picture_of_the_wheels() -> None:
    svg = asyncio.run(
        picture(
            "demo",
            Replay(recording(RECORDING)),
            moment(ProcessEnded)[0] - 300,
            "wheels",
            (120, 36),
            light=True,
        )
    )
    assert "purgatory" in svg


def test_a_filter_leaves_only_the_lines_that_hold_its_words() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rows = app.screen.query_one(MatrixRows)
        before = rows.count()
        await pilot.press("slash", *"payments")
        await pilot.press("enter")
        text = await until(pilot, app, lambda text: "web-0 " not in text)
        assert "payments-1" in text
        assert "/payments" in text.splitlines()[0]
        rows.focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("end")
        assert rows.key(rows.cursor) is not None
        assert str(rows.key(rows.cursor)) == "payments-1", "the last line that is shown"
        await pilot.press("escape")
        await until(pilot, app, lambda text: "web-0" in text)
        assert rows.count() == before

    look(moment(ProcessEnded)[0] - 300, ask)


def test_a_filter_that_nothing_holds_says_so() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("slash", *"nonsense", "enter")
        await until(pilot, app, lambda text: "no line holds: nonsense" in text)
        await pilot.press("up", "down", "enter")
        await pilot.press("escape")

    look(moment(ProcessEnded)[0] - 300, ask)


async def seen(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until this holds. The palette searches in a thread."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, screen_text(pilot.app.screen)
        await pilot.pause(0.1)


def test_the_palette_lists_screens_and_jumps() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("colon")
        await pilot.pause()
        await pilot.press(*"wheels")
        await seen(pilot, lambda: "screen: Wheels" in screen_text(app.screen))
        await pilot.press("enter")
        await seen(pilot, lambda: isinstance(app.screen, WheelsScreen))

    look(moment(ProcessEnded)[0] - 300, ask)


def test_letters_in_place_of_symbols_and_a_terminal_too_small() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app.ascii_filter.enabled = True
        app.refresh_css(animate=False)
        await until(pilot, app, lambda text: "payments-1" in text and text.isascii())
        await pilot.resize_terminal(20, 5)
        await until(pilot, app, lambda text: "too small" in text)
        await pilot.resize_terminal(100, 30)
        text = await until(pilot, app, lambda text: "payments-1" in text)
        assert "too small" not in text

    look(moment(ProcessEnded)[0] - 300, ask)


def test_no_color_leaves_greys_and_every_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR (no-color.org): no meaning depends on a colour."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = shown(app)
        assert "✕" in text
        assert "without a leader" in text.splitlines()[0]
        for strip in app.screen._compositor.render_strips():
            for part in strip:
                for colour in (part.style.color, part.style.bgcolor) if part.style else ():
                    if colour is not None and colour.triplet is not None:
                        assert len(set(colour.triplet)) == 1, part

    look(moment(ProcessEnded)[0] + 5, ask)


def test_a_digit_leaves_a_window_for_the_screen_that_it_names() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("question_mark")
        await until(pilot, app, lambda _: isinstance(app.screen, AboutScreen))
        await pilot.press("2")
        await until(pilot, app, lambda _: isinstance(app.screen, WheelsScreen))

    look(1_000, ask)


def test_a_digit_is_a_letter_where_words_are_typed() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("slash", "2", "enter")
        assert app.filter_words == ("2",)

    look(1_000, ask)


def test_a_long_explanation_is_read_page_by_page() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("question_mark")
        await until(pilot, app, lambda _: isinstance(app.screen, AboutScreen))
        before = await until(pilot, app, lambda text: "Its classes" in text)
        await pilot.press("pagedown")
        await until(pilot, app, lambda text: text != before)
        await pilot.press("pageup")
        await until(pilot, app, lambda text: text == before)

    look(1_000, ask, (80, 24))


def test_the_language_is_switched_with_a_word_on_how_to_go_back() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("g")
        await until(pilot, app, lambda text: "in Chinese now; g switches to English" in text)

    look(1_000, ask)


def test_the_log_screen_says_what_is_on_the_disk_and_what_goes_next() -> None:
    events = recording(RECORDING.with_name("log-compacted.jsonl.gz"))

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("L")
        text = shown(app)
        assert "broker 0 compacts users-0 now" in text
        assert "users-0 on broker 0 · 8 segments · 201 kB · cleanup.policy compact" in text
        assert "dirty from 3,540" in text
        assert "recovery point 5,310" in text
        assert "90 % of 198 kB, due above 50 %: being cleaned" in text
        assert "1,770 of 1,970 records gone" in text
        assert "00000000000000005310.log" in text
        assert "gone from the disk in 4 s" in text
        await pilot.press("right", "down")
        text = shown(app)
        assert "web-0 on broker 1" in text
        assert "cleanup.policy delete" in text
        assert "retention by time takes it in 6 d 23 h" in text
        assert "00000000000000000000.log.deleted" in text, "retention by size took it just now"
        assert "cleaner:" not in text, "only compacted topics have one"

    look_at(events, 30_520, ask, size=(180, 40))


def test_the_moves_screen_says_what_moves_and_what_holds_it_back() -> None:
    events = recording(RECORDING.with_name("replicas-move.jsonl.gz"))

    async def to_another_dir(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("M")
        text = shown(app)
        assert "orders-0 on broker 1" in text
        assert "299 kB left" in text
        assert "copies · throttled" in text

    look_at(events, 6_000, to_another_dir)

    async def to_another_broker(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("M")
        text = shown(app)
        assert "orders-0: brokers 0,1 → 2,1, 299 kB left" in text
        assert "A: waits for broker 2 to join the ISR" in text
        assert "throttle of broker 2 as follower:" in text
        assert "holds copies back for" in text
        await pilot.press("down")
        assert "/a → " in shown(app)

    look_at(events, 11_400, to_another_broker)

    async def at_the_end(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("M")
        text = shown(app)
        assert "nothing moves" in text
        assert "attempt 1, 0 leaders left" in text, "broker 2 has shut down"

    look_at(events, 15_000, at_the_end)


def test_a_batch_of_a_segment_is_shown_down_to_its_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "00000000000000000000.log", tmp_path / "00000000000000000002.log"
    first.write_bytes(
        build_batch([Record(0, 5, b"old", b"1")]) + build_batch([Record(1, 5, b"next", b"2")])
    )
    second.write_bytes(build_batch([Record(2, 5, b"newest", b"3")]))

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        def said() -> str:
            return " ".join(str(one.render()) for one in app.screen.query(Static))

        await app.push_screen(BatchScreen("web-0 on broker 1", [first, second]))
        assert "batch 1 of 1: offsets 2 to 2" in said()
        assert "newest" in said()
        await pilot.press("left_square_bracket")
        assert "batch 2 of 2: offsets 1 to 1" in said()
        await pilot.press("left")
        assert "old" in said()
        assert "CRC-32C of everything" not in said()
        await pilot.press("d")
        assert "CRC-32C of everything" in said()
        first.unlink()
        await pilot.press("right_square_bracket", "left_square_bracket")
        assert "cannot be read: No such file" in said()
        await pilot.press("escape")
        assert not isinstance(app.screen, BatchScreen)

    look(1000, ask)


def test_a_recording_has_no_bytes_of_a_log_and_says_so() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("L", "w")
        assert not isinstance(app.screen, BatchScreen)
        notes = [note.message for note in app._notifications]
        assert notes == ["a recording has events, and not the bytes of the log's files"]

    look_at(recording(RECORDING.with_name("log-compacted.jsonl.gz")), 30_520, ask)


def test_the_client_screen_says_what_each_client_holds_and_why() -> None:
    events = recording(RECORDING.with_name("clients-hold.jsonl.gz"))

    async def in_the_stall(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("C")
        text = shown(app)
        assert "load-producer-1 holds 492 records back for 2.8 s: orders-0: no connection" in text
        assert "broker 0 ■■■■■ 5 of 5, oldest 2.8 s" in text
        assert "broker 2 DISCONNECTED" in text
        assert "442 kB of 33.6 MB" in text
        assert "oldest batch 3.1 s, given up in 117 s" in text
        assert "no connection to the leader · 2.8 s old · 6 batches, 284 records" in text
        await pilot.press("down")
        text = shown(app)
        assert "consumer load-consumer-1 · group load · Stable · generation 1 · range" in text
        assert "heartbeat ━" in text
        assert "poll() ━━━━━━━━ 5 min 00 s of 5 min 00 s left" in text
        assert "position    committed           HW      lag  state" in text
        await pilot.press("down")
        text = shown(app)
        assert "seen from the brokers' side: its buffers, positions and poll clock" in text
        assert "heartbeat ? broker 2: 3.0 s old" in text, "its coordinator is gone"
        await pilot.press("down")
        text = shown(app)
        assert "web-log-0       foreign  produces 0/s · no produce or fetch for" in text
        assert "fetches  last" in text

    look_at(events, 13_000, in_the_stall, size=(180, 45))

    async def while_all_is_well(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("C")
        text = shown(app)
        assert "2 clients without trouble: " in text
        assert "requests: broker" not in text
        assert "keys act on broker 0" in text
        await pilot.press("right")
        assert "keys act on broker 1" in shown(app)

    look_at(events, 8_000, while_all_is_well, size=(180, 45))
