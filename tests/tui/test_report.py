"""The report that `--report FILE` writes about the dashboard."""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest

from tests.tui.test_act_line import SilentFeed
from tui.app import DashboardApp
from tui.command import _check_report
from tui.report import AppReport

pytestmark = pytest.mark.tui


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lateness_is_the_age_of_the_picture_at_its_worst(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    report = AppReport(path, 103.0)
    report.taken(100.0, 0.25, Counter())
    report.frame(100.1)
    report.taken(100.2, 0.25, Counter())
    report.taken(104.0, 1.25, Counter(WheelSampled=3))  # nothing for 3.8 s
    report.frame(104.1)
    report.close(104.2, Counter(WheelSampled=5))
    first, *_, last = lines_of(path)
    assert first["late_ms"] == round((104.0 - 100.2 + 0.25) * 1000)
    assert (first["frames"], first["left_out"]) == (1, {"WheelSampled": 3})
    assert (last["frames"], last["left_out"]) == (1, {"WheelSampled": 2})
    assert isinstance(last["rss_bytes"], int)


def test_each_key_is_listed_with_the_frame_that_answers_it(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"

    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed(), report=AppReport(path, time.monotonic()))
        async with app.run_test() as pilot:
            await pilot.press("2")
            await pilot.press("f5")  # no action
            await pilot.press("q")

    asyncio.run(run())
    keys = [key for line in lines_of(path) for key in line["keys"]]
    assert [key["key"] for key in keys] == ["2", "q"]
    assert all(key["drawn_ms"] >= 0 for key in keys)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_report_on_a_full_disk_ends_and_the_dashboard_goes_on() -> None:
    report = AppReport(Path("/dev/full"), time.monotonic() - 10)  # a line is due at once
    told = (
        "the report /dev/full has ended, because it cannot be written (No space left on device);"
        " its lines up to then can be read"
    )

    async def run() -> None:
        app = DashboardApp("demo", feed=SilentFeed(), report=report)
        async with app.run_test() as pilot:
            while not report.failure and app.is_running:
                await pilot.pause()
            await pilot.press("2")
            assert app.is_running
            assert [each.message for each in app._notifications] == [told]
            await pilot.press("q")

    asyncio.run(run())
    assert report.failure == told
    with pytest.raises(click.ClickException, match="the report /dev/full has ended"):
        _check_report(report)
