"""The events of eight hours go through every reducer of the dashboard. The second four hours must
not need more memory than the first four.
"""

import gc
import sys
from typing import Final

import pytest

from benchmarks.fact_stream import FactStream
from tui import player as player_module
from tui.model import Model
from tui.player import Player

pytestmark = pytest.mark.tui

HOURS: Final = 8
CYCLE_S: Final = 12
"""Every twelve seconds something goes wrong, and is mended."""


@pytest.fixture(autouse=True)
def _short_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "TAPE_EVENTS", 15_000)
    monkeypatch.setattr(player_module, "MAX_KEYFRAMES", 2)


@pytest.mark.rotated
def test_eight_hours_of_events_keep_no_more_than_four() -> None:
    stream, player = FactStream(), Player(Model("demo"))
    blocks: list[int] = []
    for n in range(HOURS * 3600 // CYCLE_S):
        player.take(list(stream.cycle(n)), stream.now_us)
        if (n + 1) % (3600 // CYCLE_S) == 0:  # an hour's worth
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert len(player.model.ticker.history.events) <= 20_000
    # History, tape and keyframes are full by then.
    assert max(blocks[HOURS // 2 :]) < max(blocks[: HOURS // 2]) * 1.05, blocks


@pytest.mark.rotated
def test_an_open_view_that_is_paused_for_hours_keeps_no_more() -> None:
    stream, player = FactStream(), Player(Model("demo"))
    player.take(list(stream.cycle(0)), stream.now_us)
    player.toggle()
    for n in range(1, 1_200):
        player.take(list(stream.cycle(n)), stream.now_us)
    assert player.paused
    assert len(player.tape) <= 15_000
    assert player.model.pause is not None
    assert player.model.pause.not_held > 10_000
