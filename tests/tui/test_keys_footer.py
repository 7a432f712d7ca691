"""The line of keys at the bottom of the screen: it is drawn again only if its keys change, and its
keys can be clicked with the mouse.
"""

import asyncio

import pytest
from rich.text import Text

from tests.tui.paused_app import shown
from tests.tui.test_act_line import SilentFeed
from tui.app import DashboardApp
from tui.screens.about_screen import AboutScreen
from tui.screens.registry import DECLARATIONS
from tui.widgets.keys_footer import MORE, KeysFooter

pytestmark = pytest.mark.tui


def test_in_a_narrow_window_keys_are_whole_and_the_rest_is_announced() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(200, 40)) as pilot:
            await pilot.pause()
            assert MORE not in shown(app).splitlines()[-1]
            for screen in DECLARATIONS:
                await pilot.resize_terminal(80, 24)
                await pilot.press(screen.key)
                await pilot.pause()
                *_, tabs, footer = shown(app).splitlines()
                assert len(footer) <= 80
                assert "q quit" in footer
                keys = app.screen.query_one(KeysFooter).shown
                assert all(f"{key.display} {key.description}" in footer for key in keys), (
                    "no key is cut"
                )
                hidden = sum(each.binding.show for each in app.screen.active_bindings.values())
                assert (hidden > len(keys)) == footer.endswith(MORE)
                assert screen.title in tabs, "the present screen's title is whole"
                assert all(each.title in tabs or MORE in tabs for each in DECLARATIONS)

    asyncio.run(run())


def test_the_same_keys_are_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    draw = KeysFooter.render

    def render(self: KeysFooter) -> Text:
        drawn.append(len(self.shown))
        return draw(self)

    monkeypatch.setattr(KeysFooter, "render", render)

    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            shown(app)
            await pilot.pause()
            before = len(drawn)
            app.screen.refresh_bindings()
            await pilot.pause()
            assert drawn[before:] == []
            app._set_filter("a")  # with a filter there is one key more
            await pilot.pause()
            assert "all lines" in shown(app).splitlines()[-1]
            assert drawn[before:]

    asyncio.run(run())


def test_a_click_on_a_key_is_that_key() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            footer = app.screen.query_one(KeysFooter)
            names = [key.description for key in footer.shown]
            line = shown(app).splitlines()[-1]
            at = line.index("about")
            assert "about" in names
            assert await pilot.click(KeysFooter, offset=(at, 0))
            await pilot.pause()
            assert isinstance(app.screen, AboutScreen)

    asyncio.run(run())


def test_a_click_beside_the_keys_does_nothing() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(200, 40)) as pilot:
            await pilot.pause()
            before = app.screen
            assert await pilot.click(KeysFooter, offset=(199, 0))
            await pilot.pause()
            assert app.screen is before

    asyncio.run(run())


def test_the_key_under_the_mouse_is_marked() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            footer = app.screen.query_one(KeysFooter)
            plain = footer.render()
            assert await pilot.hover(KeysFooter, offset=(plain.plain.index("about"), 0))
            marked = footer.render()
            assert marked.plain == plain.plain
            assert len(marked.spans) > len(plain.spans)
            await pilot.hover("StatusLine")
            await pilot.pause()
            assert footer.render() == plain

    asyncio.run(run())
