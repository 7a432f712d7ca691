"""The presenter plays a script by keys on a recording, and plays the same script on a real
cluster.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from textual.pilot import Pilot
from textual.scrollbar import ScrollTo

from kafka_edu.instruments.presenter.bookmark import Bookmark
from kafka_edu.instruments.presenter.break_tools import Idea
from kafka_edu.instruments.presenter.presentation import Phase, Presentation
from kafka_edu.instruments.presenter.script_reader import read_script
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from tests.waiting import PATIENCE_S, wait_for
from tui.presenter import break_screen
from tui.presenter.panel import PresenterPanel
from tui.presenter.presenter_app import PresenterApp
from tui.screens.registry import DECLARATIONS

pytestmark = pytest.mark.tui

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "chapters" / "ch00_first_lesson" / "script.toml"
RECORDING = Path(__file__).parent / "recordings" / "leader-killed.jsonl.gz"
Show = Callable[[Pilot[None], PresenterApp], Awaitable[None]]


def present(tmp_path: Path, show: Show, size: tuple[int, int] = (120, 40)) -> None:
    """Present the chapter's script on the committed recording."""

    async def run() -> None:
        script = read_script(SCRIPT, [each.name for each in DECLARATIONS])
        bookmark = Bookmark(SCRIPT, script.digest, "recording", tmp_path)
        presentation = Presentation(script, live=False, place=bookmark.load())
        replay = Replay(read_recordings([RECORDING]))
        app = PresenterApp(presentation, bookmark, "demo", replay=replay)
        async with app.run_test(size=size) as pilot:
            place = f"{presentation.step + 1}/5 ·"
            for _ in range(200):  # a busy machine paints the panel some turns later
                app.tick()
                await pilot.pause()
                if place in text(app):
                    break
            await show(pilot, app)

    asyncio.run(run())


def text(app: PresenterApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def press(pilot: Pilot[None], app: PresenterApp, key: str) -> str:
    """Press a key, play the recording until the fact comes for which the step waits, and return the
    screen's text.
    """
    await pilot.press(key)
    while app.presentation.waits and not app.presentation.failure:
        app.player.tick(1_000_000)
        app.tick()
        await pilot.pause()
    for _ in range(3):
        app.tick()
        await pilot.pause()
    return text(app)


def test_the_question_stands_before_the_answer_and_the_way_back_shows_the_moment(
    tmp_path: Path,
) -> None:
    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        assert "1/5 · Records arrive" in text(app)
        assert "✓ the HW of a partition" in await press(pilot, app, "space")
        assert "2/5 · Kill a leader" in await press(pilot, app, "space")
        asked = await press(pilot, app, "space")
        assert "Who will notice first" in asked
        assert "Only the session in ZooKeeper" not in asked
        assert "killed (SIGKILL)" not in asked
        assert "How sure are you? 1 a guess · 2 rather sure" in await press(pilot, app, "1")
        answered = await press(pilot, app, "2")
        assert "No, choice 3. The connections break at once" in answered
        assert "✓ the process has ended" in answered
        assert "killed (SIGKILL)" in answered, "the card of the dead broker"
        assert "3/5 · Nobody leads" in await press(pilot, app, "space")
        assert "Broker 1 is dead" in text(app)

        await press(pilot, app, "backspace")
        before = await press(pilot, app, "backspace")
        assert "1/5 · Records arrive" in before
        assert "an earlier step, at the moment of the recording" in before
        assert "killed (SIGKILL)" not in before, "the screen shows that moment"
        assert "all is well" in before
        await press(pilot, app, "space")
        assert "killed (SIGKILL)" in await press(pilot, app, "space")
        assert app.presentation.shown == app.presentation.step == 2

    present(tmp_path, show)


def test_digits_jump_to_screens_while_no_question_is_open(tmp_path: Path) -> None:
    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        await press(pilot, app, "2")
        assert app.screen is not app.get_screen("cluster")
        assert app.screen.query(PresenterPanel), "the panel is on every screen"
        assert "1/5 · Records arrive" in text(app)

    present(tmp_path, show)


def test_it_resumes_where_it_stopped(tmp_path: Path) -> None:
    async def first(pilot: Pilot[None], app: PresenterApp) -> None:
        for key in ("space", "space", "space", "3", "1", "space"):
            await press(pilot, app, key)
        assert app.presentation.step == 2

    async def again(pilot: Pilot[None], app: PresenterApp) -> None:
        assert app.presentation.step == 2
        shown = text(app)
        assert "3/5 · Nobody leads" in shown
        app.tick()
        await pilot.pause()
        assert "Broker 1 is dead" in text(app), "the name that an earlier step bound"
        assert "killed (SIGKILL)" in text(app), "the moment of the recording"

    present(tmp_path, first)
    present(tmp_path, again)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_page_ends_in_view_at_each_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        for key in ("space", "space", "space", "3", "1"):
            shown = await press(pilot, app, key)
        assert app.presentation.phase is Phase.ANSWER
        assert "[space] continues · [backspace] back" in shown
        assert "killed (SIGKILL)" in shown

    present(tmp_path, show, size)


def run_present(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kafka_edu", "present", *words],
        env={**os.environ, "KAFKA_EDU_HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_plain_and_fast_on_the_recording(tmp_path: Path) -> None:
    words = (str(SCRIPT), "--plain", "--fast", "--replay", str(RECORDING))
    done = run_present(*words, home=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "✓ web-2 gets a leader from its ISR" in lines
    assert "✓ the ISR of web-2 grows by broker 1" in lines
    asked = next(i for i, line in enumerate(lines) if line.startswith("Who will notice"))
    answered = next(i for i, line in enumerate(lines) if "a broken connection does" in line)
    assert asked < answered
    assert done.stdout.index("broker 1 killed by SIGKILL") > done.stdout.index("Who will notice")


def test_a_recording_without_what_the_script_waits_for_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "never.toml"
    script.write_text(
        'title = "Never"\n[[step]]\ntitle = "Wait"\nsay = "Look."\n[[step.wait]]\n'
        'look = "broker 7 comes"\nevent = "BrokerJoined"\nwhere = { broker_id = 7 }\n',
        encoding="utf-8",
    )
    done = run_present(str(script), "--plain", "--fast", "--replay", str(RECORDING), home=tmp_path)
    assert done.returncode == 1
    assert "step 1 ('Wait') waited without success for: broker 7 comes" in done.stderr
    assert "the recording ended without it" in done.stderr
    assert "Traceback" not in done.stderr


def lead_by_the_controller(cluster: Cluster, partition: str) -> int:
    """Make the controller the leader of a partition. Return its id."""
    controller = cluster.wait_ready()
    topic, _, number = partition.rpartition("-")
    replicas = [controller, *(i for i in cluster.broker_ids if i != controller)]
    cluster.perform("reassign", {"partition": partition, "replicas": ",".join(map(str, replicas))})
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    def leads() -> bool:
        with contextlib.suppress(ClusterError):  # the move is not over yet
            cluster.perform("elect-preferred", {"partition": partition})
        found = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic]
        return found.partitions[int(number)].leader == controller

    wait_for(leads, f"broker {controller} never led {partition}")
    return controller


def test_the_script_on_a_real_cluster(tmp_path: Path) -> None:
    """The script runs first in the dashboard and then as plain text, on the same cluster. So the
    first run must leave the cluster in order.
    """
    home = tmp_path / "home"
    with running_cluster("presented", home=home) as cluster:
        before = {broker: cluster.pid(broker) for broker in cluster.broker_ids}
        done = run_present(str(SCRIPT), "--fast", "--cluster", cluster.name, home=home)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all 5 steps were seen" in done.stdout
        after = {broker: cluster.pid(broker) for broker in cluster.broker_ids}
        assert sum(before[i] != after[i] for i in before) == 1, "one broker was killed and started"

        victim = lead_by_the_controller(cluster, "web-2")
        pid = cluster.pid(victim)
        plain = run_present(str(SCRIPT), "--plain", "--fast", "--cluster", cluster.name, home=home)
        assert plain.returncode == 0, plain.stdout + plain.stderr
        assert "✓ web-2 gets a leader from its ISR" in plain.stdout
        assert cluster.pid(victim) != pid, "this time the controller itself was killed"
        assert "{victim}" not in plain.stdout


@pytest.mark.rotated
def test_the_text_has_room_on_every_screen_of_a_small_terminal(tmp_path: Path) -> None:
    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        await press(pilot, app, "space")
        for declaration in DECLARATIONS:
            app.action_look(declaration.name)
            for _ in range(3):
                app.tick()
                await pilot.pause()
            seen = text(app)
            assert "[space] continues" in seen, f"{declaration.name}:\n{seen}"

    present(tmp_path, show, (80, 24))


class PlayedStage:
    """Stands in for the stage of a live cluster."""

    def ideas(self, presentation: Presentation) -> list[Idea]:
        first = presentation.script.breaks[0]
        return [Idea(first.say, ("./kafka-edu cluster kill 1",))]

    def job_failure(self) -> str:
        return ""

    def close_jobs(self) -> None: ...


def test_there_is_something_to_break_one_key_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[list[str]] = []

    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        assert "Break it" not in await press(pilot, app, "B"), "a recording has nothing to break"
        app._stage = PlayedStage()  # type: ignore[assignment]  # it plays one
        shown = await press(pilot, app, "B")
        assert "Break it" in shown
        assert "1 Kill another leader" in shown
        assert "./kafka-edu cluster kill 1" in shown
        with monkeypatch.context() as patch:
            patch.setenv("TMUX", "here")
            patch.setattr(break_screen.subprocess, "run", lambda words, check: opened.append(words))
            await press(pilot, app, "t")
        assert "Break it" not in await press(pilot, app, "escape")

    present(tmp_path, show)
    [words] = opened
    assert words[:2] == ["tmux", "split-window"]
    assert "cluster kill 1" in words[-1]
    history = Path(re.findall(r"HISTFILE=([^\s;]+)", words[-1])[0])
    assert history.read_text() == "./kafka-edu cluster kill 1\n"
    history.unlink()


async def look_again(pilot: Pilot[None], app: PresenterApp) -> None:
    await pilot.pause()
    app.tick()
    await pilot.pause()


def test_a_long_text_is_scrolled_by_its_own_keys(tmp_path: Path) -> None:
    async def show(pilot: Pilot[None], app: PresenterApp) -> None:
        for key in ("space", "space", "space", "1", "space"):
            await press(pilot, app, key)
        assert "more text" in text(app)
        panel = app.screen.query_one(PresenterPanel)
        panel.scroll_home(animate=False)  # as if the panel had got its size after its text
        await look_again(pilot, app)
        assert panel.is_vertical_scroll_end
        assert "2/5 · Kill a leader" not in text(app)
        for _ in range(3):
            await pilot.press("pageup")
        await look_again(pilot, app)
        assert "2/5 · Kill a leader" in text(app), "the learner has scrolled, so it stays"
        panel.scroll_end(animate=False)
        panel._follows = True
        panel.post_message(ScrollTo(y=0, animate=False))
        await look_again(pilot, app)
        await look_again(pilot, app)
        assert "2/5 · Kill a leader" in text(app), "by the scroll bar too"

    present(tmp_path, show, (80, 24))
