"""The line of keys: made anew only for other keys, and without what Textual's footer keeps."""

import asyncio
import gc
import weakref

import pytest
from textual.widget import Widget

from tests.tui.paused_app import shown
from tests.tui.test_act_line import SilentFeed
from tui.app import DashboardApp
from tui.screens.registry import DECLARATIONS
from tui.widgets.keys_footer import MORE

pytestmark = pytest.mark.tui


def test_keys_that_are_not_shown_any_more_are_forgotten() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            old: list[weakref.ref[Widget]] = []
            for words in ("a", "", "b", ""):  # with a filter there is one key more
                app._set_filter(words)
                await pilot.pause()
                old += map(weakref.ref, app.screen.query("FooterKey"))
            await pilot.pause()
            gc.collect()
            now = {*app.screen.query("FooterKey")}
            alive = {widget for each in old if (widget := each()) is not None}
            assert len(old) > len(now) > 0
            assert alive <= now

    asyncio.run(run())


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
                keys = [*app.screen.query("FooterKey")]
                assert all(key.region.right <= 80 for key in keys), "no key is cut"
                hidden = sum(each.binding.show for each in app.screen.active_bindings.values())
                assert (hidden > len(keys)) == footer.endswith(MORE)
                assert screen.title in tabs, "the present screen's title is whole"
                assert all(each.title in tabs or MORE in tabs for each in DECLARATIONS)

    asyncio.run(run())


def test_the_same_keys_are_not_made_anew() -> None:
    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed())
        async with app.run_test(size=(120, 40)) as pilot:
            shown(app)
            await pilot.pause()
            before = [*app.screen.query("FooterKey")]
            app.screen.refresh_bindings()
            await pilot.pause()
            assert [*app.screen.query("FooterKey")] == before
            app._set_filter("a")
            await pilot.pause()
            assert {*app.screen.query("FooterKey")} & {*before} == set()

    asyncio.run(run())
