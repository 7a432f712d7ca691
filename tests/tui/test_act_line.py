"""The line above the keys shows the result of every act of every screen, or why it failed."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from textual.pilot import Pilot

from kafka_edu.common.user_files import write_private_json
from kafka_edu.supervisor.action_server import ActionRefused, ActionServer, Answer, Request
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Source
from kafka_edu.trace.events.supervisor import ProcessPaused
from tests.tui.paused_app import Ask, until
from tests.tui.test_cluster_room import cluster_with
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import killed, runs
from tui.app import DashboardApp
from tui.screens.dashboard_screen import DashboardScreen

pytestmark = pytest.mark.tui


class SilentFeed:
    """A cluster whose processes emit nothing more."""

    async def run(self) -> None:
        """End at once."""

    def complete(self) -> bool:
        return True

    def drain(self, now: int | None = None, most: int = 0) -> list[Envelope]:
        return []

    def to_now(self) -> None:
        """Be there already."""

    def late_us(self) -> int:
        return 0

    left_out: ClassVar[Counter[str]] = Counter()


async def supervisor(action: str, request: Request) -> Answer:
    if action == "pause":
        raise ActionRefused("broker 0 does not run")
    return {"message": f"done: {action}"}


def look(screen: str, folder: ClusterFolder | None, ask: Ask) -> None:
    """Run the dashboard on a cluster of one broker. If `folder` is given, a supervisor answers the
    acts.
    """

    async def run() -> None:
        server = ActionServer("secret", supervisor)
        port = await server.listen()
        if folder is not None:
            folder.path.mkdir(parents=True)
            address = {"host": "127.0.0.1", "port": port, "token": "secret", "pid": 1}
            write_private_json(folder.action_address, address)
        app = DashboardApp("demo", folder, feed=SilentFeed(), screen=screen)
        async with app.run_test(size=(120, 40)) as pilot:
            app.model.apply(cluster_with({"web": 2}).envelopes)
            app.look()
            await pilot.pause()
            await ask(pilot, app)
        await server.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("screen", "key", "said"),
    [
        ("cluster", "s", " ✓ done: start"),
        ("cluster", "p", " ✗ broker 0 does not run"),
        ("wire", "c", " ✓ done: capture"),
    ],
)
def test_each_act_says_in_the_same_line_what_came_of_it(
    tmp_path: Path, screen: str, key: str, said: str
) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press(key)
        text = await until(pilot, app, lambda text: said in text)
        assert text.splitlines()[-3].startswith(said), "the line above the screens and keys"

    look(screen, ClusterFolder(tmp_path / "demo"), ask)


def test_an_act_that_cannot_be_sent_says_why_there_too() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("c")
        text = await until(pilot, app, lambda text: "✗ a recording has no frames" in text)
        assert text.splitlines()[-3].startswith(" ✗ a recording has no frames")

    look("wire", None, ask)


def test_no_answer_hides_a_question(tmp_path: Path) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        await pilot.press("k")
        screen.acts.confirm("broker 0 started")
        text = await until(pilot, app, lambda text: "[y] yes" in text)
        assert "broker 0 started" not in text
        await pilot.press("n")
        await until(pilot, app, lambda text: "✓ broker 0 started" in text)
        await pilot.press("k", "y")
        await until(pilot, app, lambda text: "✓ done: kill" in text)

    look("cluster", ClusterFolder(tmp_path / "demo"), ask)


@pytest.mark.parametrize("screen", ["cluster", "controller"])
def test_the_footer_has_the_acts_that_fit_what_the_selected_broker_does(
    tmp_path: Path, screen: str
) -> None:
    story = Story()
    child = Source.of_broker(0)
    paused = ProcessPaused(process="broker-0", child=child, pid=100)
    told: list[tuple[Event, set[str]]] = [
        (runs(0), {"k kill", "p pause", "x stop"}),
        (paused, {"k kill", "r resume", "x stop"}),
        (killed(0), {"s start"}),
    ]
    acts = {"k kill", "p pause", "r resume", "x stop", "s start"}

    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for event, fit in told:
            app.model.apply([story.tell(SUPERVISOR, event, after_ms=100)])
            await until(
                pilot, app, lambda text, fit=fit: {act for act in acts if f" {act} " in text} == fit
            )

    look(screen, ClusterFolder(tmp_path / "demo"), ask)
