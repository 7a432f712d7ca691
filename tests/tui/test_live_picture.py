"""A picture of a cluster in which one process sends nothing. The program gives this process up
after some seconds, however few looks it takes in this time.
"""

import asyncio

import pytest

from kafka_edu.common.time import MockTime
from tests.tui.test_act_line import SilentFeed
from tui.app import LINK_TIMEOUT_S, DashboardApp, live_picture

pytestmark = pytest.mark.tui

ROUND_MS = 1_270
"""How long a look took once on a busy machine, where a tenth of a second was meant."""


class SlowRounds(MockTime):
    """A machine on which each wait takes much longer than it should."""

    async def sleep(self, ms: float) -> None:
        await super().sleep(ms + ROUND_MS)
        await asyncio.sleep(0)


class NeverComplete(SilentFeed):
    def complete(self) -> bool:
        return False


def test_a_process_that_sends_nothing_is_given_up_after_seconds() -> None:
    time = SlowRounds()
    begun_ms = time.hi_res_clock_ms()
    app = DashboardApp("demo", feed=NeverComplete())
    svg = asyncio.run(live_picture(app, 1.0, "cluster", (80, 24), False, time))
    assert svg.startswith("<svg")
    watched_ms = 1_000 + ROUND_MS
    took_ms = time.hi_res_clock_ms() - begun_ms
    assert LINK_TIMEOUT_S * 1000 <= took_ms - watched_ms < LINK_TIMEOUT_S * 1000 + 2 * ROUND_MS


def test_a_complete_cluster_is_drawn_at_once() -> None:
    time = MockTime()
    begun_ms = time.hi_res_clock_ms()
    app = DashboardApp("demo", feed=SilentFeed())
    asyncio.run(live_picture(app, 1.0, "cluster", (80, 24), False, time))
    assert time.hi_res_clock_ms() - begun_ms == 1_000
