"""Draw each screen as text and colours, in three sizes and three looks, into files that a person
can review.

    PYTHONPATH=. python -m tests.tui.snapshots [SCREEN …]

draws the snapshots again into tests/tui/snapshots. Look at the difference before you commit it.
"""

import asyncio
import os
import string
import sys
import time
from pathlib import Path
from typing import Final

from rich.segment import Segment
from textual.pilot import Pilot

from tests.tui.moments import MOMENTS, app_at, settle
from tui.app import DashboardApp
from tui.screens.registry import DECLARATIONS
from tui.widgets.keys_footer import KeysFooter

FOLDER: Final = Path(__file__).parent / "snapshots"
SIZES: Final = ((80, 24), (120, 40), (200, 60))
COLOURED: Final = (120, 40)
"""The size whose colours are kept: they follow the same rules at every size."""
_LETTERS: Final = string.ascii_letters + string.digits + "+*/=<>()[]{}!$%&"


def path_of(screen: str, size: tuple[int, int]) -> Path:
    return FOLDER / f"{screen}-{size[0]}x{size[1]}.txt"


def _strips(app: DashboardApp) -> list[list[Segment]]:
    return [list(strip) for strip in app.screen._compositor.render_strips()]


def text_of(app: DashboardApp) -> str:
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in _strips(app))


def _colours(app: DashboardApp) -> str:
    """Return a text with one letter for the style of each cell, and a list of what the letters
    mean.
    """
    letters: dict[str, str] = {}
    rows = []
    for strip in _strips(app):
        row = ""
        for part in strip:
            style = str(part.style) if part.style is not None and part.text.strip() else ""
            if not style:
                row += " " * part.cell_length
                continue
            letter = letters.setdefault(style, _LETTERS[len(letters) % len(_LETTERS)])
            row += letter * part.cell_length
        rows.append(row.rstrip())
    legend = [f"{letter}  {style}" for style, letter in letters.items()]
    return "\n".join([*rows, "", *legend])


async def settled(app: DashboardApp, pilot: Pilot[None]) -> None:
    """Draw the screen again and again until nothing changes any more. A list scrolls only after
    some drawings.
    """
    before, same = "", 0
    for _ in range(100):
        app.look()
        await pilot.pause()
        now = text_of(app)
        same = same + 1 if now == before else 0
        if same >= 3 and any(each.shown for each in app.screen.query(KeysFooter)):
            return
        before = now


async def _draw(screen: str) -> dict[tuple[int, int], str]:
    moment = MOMENTS[screen]
    app, replay = app_at(moment)
    drawn = {}
    async with app.run_test(size=SIZES[0]) as pilot:
        settle(app, replay, moment)
        app.action_look(screen)
        await pilot.pause()
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settled(app, pilot)
            parts = [("dark", text_of(app))]
            if size == COLOURED:
                parts.append(("colours, dark", _colours(app)))
                app.action_dark()
                await settled(app, pilot)
                if text_of(app) != parts[0][1]:
                    parts.append(("light", text_of(app)))
                parts.append(("colours, light", _colours(app)))
                app.action_dark()
                await settled(app, pilot)
            app.ascii_filter.enabled = True
            app.refresh_css(animate=False)
            await settled(app, pilot)
            parts.append(("ascii", text_of(app)))
            app.ascii_filter.enabled = False
            app.refresh_css(animate=False)
            await settled(app, pilot)
            drawn[size] = "".join(f"== {name} ==\n{text}\n" for name, text in parts)
    return drawn


def draw(screen: str) -> dict[tuple[int, int], str]:
    """Return the snapshot of a screen for each size. Times of day are UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        return asyncio.run(_draw(screen))
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def main(screens: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for screen in screens or [each.name for each in DECLARATIONS]:
        for size, text in draw(screen).items():
            path_of(screen, size).write_text(text, encoding="utf-8")
        print(f"{screen}: drawn")


if __name__ == "__main__":
    main(sys.argv[1:])
