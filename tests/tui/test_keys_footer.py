"""The line of keys: made anew only for other keys, and without what Textual's footer keeps."""

import asyncio
import gc
import weakref

import pytest
from textual.widget import Widget

from tests.tui.paused_app import shown
from tests.tui.test_act_line import SilentFeed
from tui.app import DashboardApp

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
