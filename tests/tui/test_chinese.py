"""The key `g` shows every word of the glossary in Chinese, on every screen. Every column of the
screen stays at its place.
"""

import asyncio

import pytest
from rich.cells import cell_len

from tests.tui.moments import MOMENTS, app_at, settle
from tests.tui.snapshots import settled, text_of
from tui.app import DashboardApp
from tui.in_chinese import Verbatim, found_in, term_of

pytestmark = pytest.mark.tui
RULES = set("│┃║┊╔╗╚╝╭╮╰╯├┤┌┐└┘▕▏")


def columns(row: str) -> list[str]:
    """Return the character in each column of the row. A wide character is followed by an empty
    text.
    """
    return [part for c in row for part in (c, *[""] * (cell_len(c) - 1))]


def rows(app: DashboardApp) -> list[list[str]]:
    """Return the rows of the screen as columns. The widgets whose text is never translated are left
    blank.
    """
    found = [
        columns(row + " " * app.size.width)[: app.size.width] for row in text_of(app).splitlines()
    ]
    for widget in (each for each in app.screen.query() if isinstance(each, Verbatim)):
        region = widget.region
        for row in found[region.y : region.bottom]:
            row[region.x : region.right] = " " * region.width
    return found


def starts(row: list[str]) -> list[int]:
    """Return the columns in which a cell begins behind a gap."""
    return [
        at
        for at in range(2, len(row))
        if row[at - 2 : at] == [" ", " "] and row[at] not in (" ", "")
    ]


async def drawn(screen: str, size: tuple[int, int]) -> tuple[list[list[str]], list[list[str]]]:
    """Return a screen in English and in Chinese."""
    app, replay = app_at(MOMENTS[screen])
    async with app.run_test(size=size) as pilot:
        settle(app, replay, MOMENTS[screen])
        app.action_look(screen)
        await pilot.press("g")
        await settled(app, pilot)
        chinese = rows(app)
        await pilot.press("g")
        await settled(app, pilot)
        english = rows(app)
    return english, chinese


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", list(MOMENTS))
def test_each_word_changes_and_each_column_stays(screen: str, size: tuple[int, int]) -> None:
    english, chinese = asyncio.run(drawn(screen, size))
    in_chinese = "\n".join("".join(row) for row in chinese)
    for row in english:
        for match in found_in("".join(row)):
            term = term_of(match)
            assert term.word in in_chinese or term.short in in_chinese, term.english
    for row in chinese:
        left = [match.group() for match in found_in("".join(row))]
        assert set(left) <= {"ZooKeeper"}, "".join(row)
    for before, after in zip(english, chinese, strict=True):
        assert len(before) == len(after)
        if before[1:3] == ["✓", " "] or "".join(before).startswith(" 1 "):
            continue  # what `g` itself says, and the line of screens, which fits its words itself
        for at, sign in enumerate(before):
            if sign in RULES:
                assert after[at] == sign, "".join(after)
        for at in starts(before):
            assert after[at - 1] == " ", "".join(after)
            assert after[at] == before[at] or not after[at].isascii(), "".join(after)
