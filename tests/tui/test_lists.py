"""Lists: the scrollbar shows the position of the list, and each line is drawn only once in a
frame.
"""

import asyncio

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from tui.screens.declaration import ScreenDeclaration
from tui.widgets.drawn import Lines

pytestmark = pytest.mark.tui

HEIGHT = 10


class Numbers(Lines):
    """A list that follows its end."""

    def __init__(self) -> None:
        super().__init__(follow=True)
        self.numbers = 1
        self.drawn: list[int] = []
        """The lines that were drawn, in this order."""

    def count(self) -> int:
        return self.numbers

    def line(self, index: int) -> Text:
        self.drawn.append(index)
        return Text(str(index))


class NumbersApp(App[None]):
    """A reader without a filter, and one list."""

    chinese = False
    filter_words: tuple[str, ...] = ()
    declarations: tuple[ScreenDeclaration, ...] = ()

    def compose(self) -> ComposeResult:
        yield Numbers()


def test_a_scrollbar_that_appears_stands_where_the_list_has_scrolled_to() -> None:
    async def run() -> None:
        app = NumbersApp()
        async with app.run_test(size=(20, HEIGHT)) as pilot:
            numbers = app.query_one(Numbers)
            await pilot.pause()
            assert not numbers.show_vertical_scrollbar
            numbers.numbers = 5 * HEIGHT
            numbers.tick()
            await pilot.pause()
            assert numbers.show_vertical_scrollbar
            assert numbers.scroll_y == 4 * HEIGHT
            assert numbers.vertical_scrollbar.position == 4 * HEIGHT

    asyncio.run(run())


def test_a_line_that_has_come_is_drawn_once_for_the_comparison_and_the_paint() -> None:
    async def run() -> None:
        app = NumbersApp()
        async with app.run_test(size=(20, HEIGHT)) as pilot:
            numbers = app.query_one(Numbers)
            numbers.numbers = 5 * HEIGHT
            numbers.tick()
            await pilot.pause()
            numbers.drawn.clear()
            numbers.numbers += 3
            numbers.tick()
            await pilot.pause()
            in_view = range(numbers.scroll_offset.y, numbers.count())
            assert numbers.drawn == list(in_view)
            painted = [strip.text.split()[:1] for strip in app.screen._compositor.render_strips()]
            assert painted[: len(in_view)] == [[str(index)] for index in in_view]

    asyncio.run(run())


def test_a_line_that_has_not_changed_is_drawn_again_when_the_cursor_leaves_it() -> None:
    async def run() -> None:
        app = NumbersApp()
        async with app.run_test(size=(20, HEIGHT)) as pilot:
            numbers = app.query_one(Numbers)
            numbers.numbers = 3
            numbers.tick()
            await pilot.pause()
            await pilot.press("up")
            await pilot.pause()
            styles = [
                [str(part.style) for part in strip if part.text.strip()]
                for strip in app.screen._compositor.render_strips()[:3]
            ]
            ground = numbers.palette.cursor
            assert [ground in " ".join(style) for style in styles] == [False, True, False]

    asyncio.run(run())
