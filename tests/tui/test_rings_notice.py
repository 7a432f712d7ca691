"""The user goes back further than the dashboard has seen. Then the rings of the processes are read,
and the result is reported only once.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from kafka_edu.instruments.look_back import LookBack
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope
from tests.tui.paused_app import until
from tests.tui.test_act_line import SilentFeed
from tests.tui.test_cluster_room import cluster_with
from tui.app import DashboardApp
from tui.player import RINGS_BYTES

pytestmark = pytest.mark.tui


class OneLook(SilentFeed):
    """A feed that brings some events, once."""

    def __init__(self) -> None:
        self._left = cluster_with({"web": 2}).envelopes

    def drain(self, now: int | None = None, most: int = sys.maxsize) -> list[Envelope]:
        left, self._left = self._left, []
        return left


def test_that_nothing_older_is_remembered_is_said_once_while_the_key_is_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[ClusterFolder] = []
    said: list[str] = []

    async def nothing_older(
        folder: ClusterFolder, *, facts_only: bool, most_bytes: int
    ) -> LookBack:
        assert facts_only
        assert most_bytes == RINGS_BYTES
        read.append(folder)
        return LookBack([], [])

    monkeypatch.setattr("tui.app.look_back", nothing_older)
    monkeypatch.setattr(DashboardApp, "notify", lambda _, message: said.append(message))

    async def run() -> None:
        app = DashboardApp("demo", ClusterFolder(tmp_path / "demo"), feed=OneLook())
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, app, lambda _: bool(app.player.tape))
            await pilot.press("space")
            for asked in range(1, 4):
                while len(read) < asked:
                    await pilot.press("<")

    asyncio.run(run())
    assert said == ["nothing older is stored"]
