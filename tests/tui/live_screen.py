"""One screen of the real app on a real cluster: press keys, and wait for what it shows."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from kafka_edu.supervisor.cluster import Cluster
from tests.waiting import PATIENCE_S
from tui.app import TICK_S, DashboardApp


class LiveScreen:
    """The app, in a terminal of its own that only the test sees."""

    def __init__(self, app: DashboardApp, pilot: Pilot[None]) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    def text(self) -> str:
        """Return the screen as lines of text."""
        self.app.look()
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def shows(self, *wanted: str | Callable[[str], bool]) -> str:
        """Wait until the screen shows all of this, and return it. Fails with the last screen."""
        end = time.monotonic() + PATIENCE_S
        while True:
            text = self.text()
            missing = [w for w in wanted if not (w(text) if callable(w) else w in text)]
            if not missing:
                return text
            if time.monotonic() > end:
                raise AssertionError(f"the screen never showed {missing}; it shows\n{text}")
            await self._pilot.pause(TICK_S)  # the app draws five times a second


@asynccontextmanager
async def live_screen(
    cluster: Cluster, screen: str, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[LiveScreen]:
    """Run the app on this screen, until the block ends."""
    app = DashboardApp(cluster.name, cluster.folder, screen=screen)
    async with app.run_test(size=size) as pilot:
        while not app.is_complete():
            await pilot.pause(TICK_S)
        yield LiveScreen(app, pilot)
    await asyncio.sleep(0)
