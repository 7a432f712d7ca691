"""On every screen, the key `S` sorts a list by its next column, and the key `R` reverses the
order.
"""

import asyncio
import re

import pytest
from textual.pilot import Pilot

from tests.tui.moments import MOMENTS, app_at, settle
from tests.tui.paused_app import Ask, screen_text, shown, until
from tui.app import DashboardApp
from tui.screens.about_screen import AboutScreen
from tui.widgets.drawn import Lines, Order, Value
from tui.widgets.group_board import GroupLines, MemberLines, OffsetLines
from tui.widgets.partition_matrix import MatrixRows
from tui.widgets.purgatory_board import OperationLines
from tui.widgets.replication_board import TroubleLines
from tui.widgets.request_board import RequestRows, SlowLines
from tui.widgets.waiting_lines import WaitingLines

pytestmark = pytest.mark.tui

SORTABLE: list[tuple[str, type[Lines]]] = [
    ("cluster", MatrixRows),
    ("wheels", WaitingLines),
    ("purgatory", OperationLines),
    ("replication", TroubleLines),
    ("groups", GroupLines),
    ("groups", MemberLines),
    ("groups", OffsetLines),
    ("requests", RequestRows),
    ("requests", SlowLines),
]


def look(screen: str, ask: Ask) -> None:
    """Run the dashboard on a screen, paused at the moment of its picture."""

    async def run() -> None:
        app, replay = app_at(MOMENTS[screen])
        async with app.run_test(size=(120, 40)) as pilot:
            settle(app, replay, MOMENTS[screen])
            app.action_look(screen)
            await pilot.pause()
            app.look()
            await pilot.pause()
            await ask(pilot, app)

    asyncio.run(run())


async def lines_from_the_top(pilot: Pilot[None], lines: Lines) -> list[int]:
    """Move the cursor from the top of the list to its end. Return the lines in the order in which
    they are shown, without the headings.
    """
    await pilot.press("home")
    found = [lines.cursor]
    for _ in range(lines.count() - 1):
        await pilot.press("down")
        found.append(lines.cursor)
    return found[lines.heads :]


def is_sorted(values: list[Value | None], order: Order) -> bool:
    """Return whether the numbers or words are in this order, and lines without a value come
    last.
    """
    numbers = [value for value in values if isinstance(value, int | float)]
    words = [value for value in values if isinstance(value, str)]
    numbers.sort(reverse=order.greatest_first)
    words.sort(reverse=order.greatest_first)
    missing = len(values) - len(numbers) - len(words)
    return values == [*numbers, *words, *[None] * missing]


@pytest.mark.parametrize(("screen", "kind"), SORTABLE)
@pytest.mark.rotated
def test_each_column_of_a_list_sorts_it_both_ways(screen: str, kind: type[Lines]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        lines = app.screen.query_one(kind)
        lines.focus()
        await pilot.pause()  # the focus is set a moment later
        own = await lines_from_the_top(pilot, lines)
        assert len(own) >= 1
        for order in kind.orders:
            for key in ("S", "R"):
                await pilot.press(key)
                assert lines.sorted_by is not None
                assert lines.sorted_by.name == order.name
                assert lines.sorted_by.greatest_first == (order.greatest_first is (key == "S"))
                found = await lines_from_the_top(pilot, lines)
                assert sorted(found) == own, "the same lines"
                values = [lines.values(index)[order.name] for index in found]
                assert is_sorted(values, lines.sorted_by), (lines.sorted_by, values)
        await pilot.press("S")
        assert lines.sorted_by is None
        assert await lines_from_the_top(pilot, lines) == own

    look(screen, ask)


def test_the_columns_head_and_the_lists_title_say_the_order() -> None:
    async def ask_cluster(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "  lag      ISR/min" in shown(app)
        await pilot.press("S")
        text = shown(app)
        worst = max(app.model.cluster.partitions.by_key.values(), key=lambda p: p.lag)
        assert worst.lag > 0
        assert str(worst.key) in text.partition(" ▼lag ")[2].splitlines()[1]

    async def ask_purgatory(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "waiting: the longest first" in shown(app)
        await pilot.press("S", "S")
        assert "waiting: by ▲client" in shown(app)
        await pilot.press("R")
        assert "waiting: by ▼client" in shown(app)

    look("cluster", ask_cluster)
    look("purgatory", ask_purgatory)


@pytest.mark.parametrize("screen", ["cluster", "timeline"])
def test_footer_and_about_name_the_keys_where_a_list_can_be_sorted(screen: str) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        can = screen == "cluster"
        assert ("S sort" in shown(app)) == can
        assert "R reverse" not in shown(app)
        await pilot.press("S")
        await until(pilot, app, lambda text: ("R reverse" in text) == can)
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, AboutScreen)
        about = "Partitions and replicas: S sorts the list by lag, ISR, epoch, HW, LEO."
        assert (about in screen_text(app.screen)) == can

    look(screen, ask)


def test_a_filtered_list_is_sorted_and_keeps_its_head() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await pilot.press("slash", *"fetch", "enter")
        rows = app.screen.query_one(RequestRows)
        rows.focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("S")
        text = shown(app)
        assert "▼p50" in text
        assert "Fetch (follower)" in text
        assert not re.search(r"b\d Produce", text)

    look("requests", ask)


def test_the_cursor_stays_on_its_line_and_in_view() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rows = app.screen.query_one(MatrixRows)
        rows.focus()
        await pilot.pause()  # the focus is set a moment later
        await pilot.press("down")
        chosen = rows.key(rows.cursor)
        for _ in rows.orders:
            await pilot.press("S")
            assert rows.key(rows.cursor) == chosen
            assert f" {chosen} " in shown(app)

    look("cluster", ask)
