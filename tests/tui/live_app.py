"""The real dashboard on a real cluster, driven by keys and read as text, without a terminal."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from textual.pilot import Pilot

from kafka_edu.supervisor.cluster import Cluster
from tests.tui.paused_app import screen_text
from tests.waiting import PATIENCE_S
from tui.app import DashboardApp

LOOK_EVERY_S: Final = 0.1


class LiveApp:
    """The app, for the time of one test."""

    def __init__(self, app: DashboardApp, pilot: Pilot[None]) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    def text(self) -> str:
        return screen_text(self.app.screen)

    async def see(self, wanted: Callable[[str], bool], what: str) -> str:
        """Wait until `wanted` accepts the text of the screen, and return the text. If it never
        does, fail and show the screen.
        """
        end = time.monotonic() + PATIENCE_S
        while not wanted(text := self.text()):
            assert time.monotonic() < end, f"the screen never showed {what}; it shows\n{text}"
            await self._pilot.pause(LOOK_EVERY_S)  # nothing reports what a screen shows
        return text

    async def shows(self, *texts: str) -> str:
        """Wait until the screen shows all of these texts, and return its text. If it never does,
        fail and show the screen.
        """
        return await self.see(lambda s: all(text in s for text in texts), " and ".join(texts))

    async def select(self, broker: int) -> None:
        """Go to the Cluster screen and select a broker's card."""
        await self.press("1")
        await self.see(lambda s: f"broker {broker} :" in s, f"the card of broker {broker}")
        chosen = self._selected()
        for _ in range(8):
            if chosen == str(broker):
                return
            await self.press("right")
            await self.see(lambda _, before=chosen: self._selected() != before, "another broker")
            chosen = self._selected()
        raise AssertionError(f"broker {broker} cannot be selected:\n{self.text()}")

    def _selected(self) -> str:
        """Return the id of the selected broker's card, as the Cluster screen shows it."""
        return self.text().partition("▶ broker ")[2].partition(" ")[0]


def run_live(
    cluster: Cluster,
    test: Callable[[LiveApp], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
) -> None:
    """Run a test with the dashboard on that cluster."""

    async def run() -> None:
        app = DashboardApp(cluster.name, cluster.folder)
        async with app.run_test(size=size) as pilot:
            await test(LiveApp(app, pilot))

    asyncio.run(run())
