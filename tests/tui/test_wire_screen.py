"""The Wire screen on a captured session of real clients."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka_edu.instruments.wire.capture import read_capture
from tests.tui.paused_app import Ask, screen_text
from tui.app import DashboardApp
from tui.view_model.wire_view import WireView
from tui.widgets.wire_board import FrameLines, HexLines, TreeLines

pytestmark = pytest.mark.tui

CAPTURE = Path(__file__).parent / "recordings" / "wire-session.capture.gz"
COUNT = len(read_capture(CAPTURE))
SIZES = [(80, 24), (120, 40), (200, 60)]


def look(ask: Ask, size: tuple[int, int] = (120, 40)) -> None:
    """Run the dashboard on the captured frames alone, on the Wire screen."""

    async def run() -> None:
        view = WireView()
        view.add(read_capture(CAPTURE))
        app = DashboardApp("wire", screen="wire", wire=view)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            app.look()
            await pilot.pause()
            await ask(pilot, app)

    asyncio.run(run())


async def settled(pilot: Pilot[None], app: DashboardApp, *keys: str) -> str:
    """Press keys, let the screen draw, and return its text."""
    await pilot.press(*keys)
    app.look()
    await pilot.pause()
    return screen_text(app.screen)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_list_the_tree_and_the_bytes_fit_at_every_size(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = await settled(pilot, app)
        assert "→ ApiVersions v3 request · shop → broker 0" in text
        assert "✓ 65 bytes, each one explained" in text
        assert f"frames: {COUNT}" in text
        assert "api_key  18 = ApiVersions" in text
        assert "0000  00 00 00 3d 00 12 00 03" in text
        assert max(map(len, text.splitlines())) <= size[0]
        bytes_shown = app.screen.query_one(HexLines)
        assert bytes_shown.per_line == (8 if size[0] < 110 else 16)

    look(ask, size)


def test_a_request_and_its_answer_by_one_key() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        await settled(pilot, app, *["down"] * 8)
        text = await settled(pilot, app)
        assert "→ Produce v9 request · shop → broker 0 · correlation 3" in text
        assert "132 bytes, 1 batch, 2 records" in text
        text = await settled(pilot, app, "w")
        assert "← Produce v9 response · shop ← broker 0 · correlation 3" in text
        assert "answers after" in text
        assert "→ Produce v9 request" in await settled(pilot, app, "w")

    look(ask)


def test_a_field_lights_up_in_the_bytes_and_a_byte_in_the_tree() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        view = app.model.wire
        await settled(pilot, app, *["down"] * 8)
        app.screen.query_one(TreeLines).focus()
        await pilot.pause()  # the focus is set a moment later
        names = [row.node.name for row in view.rows]
        text = await settled(pilot, app, *["down"] * names.index("acks"))
        assert "body.acks  bytes 20-21  int16" in text
        assert "When to answer: 0 never" in text
        assert view.span == (20, 22)
        app.screen.query_one(HexLines).focus()
        await pilot.pause()  # the focus is set a moment later
        at = view.chosen.data.index(b"\x04web") if view.chosen is not None else 0
        text = await settled(pilot, app, *["right"] * (at - view.byte))
        assert "body.topic_data[0].name" in text
        assert "compact string: length + 1 in a varint (KIP-482)" in text
        app.screen.query_one(TreeLines).focus()
        await pilot.pause()  # the focus is set a moment later
        opened = await settled(pilot, app, "enter")
        assert "length  4 = 3 + 1" in opened
        shut = await settled(pilot, app, "enter")
        assert "length  4 = 3 + 1" not in shut

    look(ask)


def test_the_old_client_is_found_by_a_key() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = await settled(pilot, app, "i")
        assert "frames: 6 of client old-shop" in text
        assert "Produce v1" in text
        assert "Produce v9" not in text
        await settled(pilot, app, "i", "i", "i")
        assert f"frames: {COUNT}" in await settled(pilot, app, "i")

    look(ask)


def test_words_find_frames_and_leave_the_chosen_one_whole() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        app._set_filter("produce old-shop")
        text = await settled(pilot, app)
        app.look()
        assert "→ b0 Produce v1" in text
        assert "← b0 Produce v1" in text
        assert "Metadata" not in text
        assert "client_software_name" in text, "the chosen frame is still shown"
        text = await settled(pilot, app, "end")
        assert "← Produce v1 response · old-shop" in text
        await settled(pilot, app, "escape")
        assert app.filter_words == ()

    look(ask)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_first_wrong_byte_is_named_and_stands_under_the_cursor(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        text = await settled(pilot, app, "end")
        assert "✗ Metadata v9" in text
        assert "✗ first wrong byte: byte 24 (0x0018) is 0x7f" in text
        assert "✗ length" in text
        line = next(line for line in text.splitlines() if "0010✗" in line or "0018✗" in line)
        assert "7f 77 65 62" in line
        assert app.model.wire.byte == 24
        assert app.screen.query_one(FrameLines).cursor == COUNT - 1

    look(ask, size)


def test_without_frames_the_screen_says_how_to_get_some() -> None:
    async def run() -> None:
        app = DashboardApp("wire", screen="wire")
        async with app.run_test(size=(80, 24)) as pilot:
            text = await settled(pilot, app)
            assert "no frame is captured" in text
            for key in ("c", "w", "i", "a", "enter", "tab", "right", "down", "end", "tab", "left"):
                await settled(pilot, app, key)
            app.model.wire.want("a-b-0", 7)
            assert "request #7 of a-b-0 is not captured" in await settled(pilot, app)

    asyncio.run(run())


@pytest.mark.parametrize("size", [(40, 12), (20, 5)])
def test_a_tiny_terminal_is_no_error(size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        for key in ("down", "end", "tab", "down", "tab", "right", "w", "d"):
            await settled(pilot, app, key)

    look(ask, size)
