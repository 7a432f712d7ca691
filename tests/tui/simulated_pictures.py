"""Draw the pictures of a session with a simulated run, for docs/simulator.md.

PYTHONPATH=. python -m tests.tui.simulated_pictures
"""

import asyncio
from pathlib import Path
from typing import Final

from kafka_edu.common.terminal_picture import tidy
from kafka_edu.trace.events.simulation import SimulationSampled
from tests.tui.live_app import LiveApp
from tui.simulated_app import SimulatedApp
from tui.simulation import Simulation

PICTURES: Final = Path(__file__).parents[2] / "docs" / "screenshots"
SCENARIO, SEED = "replication", 7
SIZE: Final = (120, 34)
WIDE: Final = (160, 40)
LATER_US: Final = 6_000_000
"""Then the run is paused."""
BACK_US: Final = 3_600_000
"""The moment of the fork: a link is slow, and broker 3 leads a partition with an ISR of two."""
FUTURE_US: Final = 5_600_000
"""Then the other future is drawn."""


async def draw() -> None:
    simulation = Simulation(SCENARIO, SEED)
    app = SimulatedApp(SCENARIO, simulation.folder, feed=simulation.feed)
    async with app.run_test(size=SIZE) as pilot:
        dashboard = LiveApp(app, pilot)

        def now() -> SimulationSampled:
            assert app.model.simulation is not None
            return app.model.simulation

        async def until_us(at_us: int) -> None:
            await dashboard.see(lambda _: now().at_us >= at_us, f"{at_us} µs")

        def write(name: str) -> None:
            app.clear_notifications()
            app.look()
            svg = tidy(app.export_screenshot(title="kafka-edu dashboard --sim"))
            (PICTURES / f"simulated-{name}.svg").write_text(svg, encoding="utf-8")

        await dashboard.shows("▶ sim")
        await until_us(LATER_US)
        await dashboard.press("space")
        await dashboard.shows("‖ sim")
        app.player.show(BACK_US)
        await dashboard.shows("space: go on here")
        write("past")
        await dashboard.select(3)
        await dashboard.press("k", "y")
        await dashboard.shows("future 2", "killed (SIGKILL)")
        await dashboard.press("space")
        await until_us(FUTURE_US)
        await dashboard.press("space")
        await dashboard.shows("‖ sim")
        write("future")
        await pilot.resize_terminal(*WIDE)
        await dashboard.press("f")
        await dashboard.shows("side by side")
        await dashboard.press("enter")
        await dashboard.shows("places differ now", "cluster replication · future 1")
        write("futures")
    for path in await asyncio.to_thread(simulation.end):
        path.unlink()
    simulation.folder.path.rmdir()


if __name__ == "__main__":
    asyncio.run(draw())
