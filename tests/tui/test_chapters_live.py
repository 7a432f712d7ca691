"""Each chapter runs on a real cluster, in the dashboard, and what its page says holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chapters.chapter import Chapter, find_chapters

pytestmark = pytest.mark.tui

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = list(find_chapters().values())


@pytest.mark.parametrize("one", CHAPTERS, ids=lambda one: one.number)
def test_a_chapter_runs_live_and_its_page_holds(one: Chapter, tmp_path: Path) -> None:
    report = tmp_path / "chapter.json"
    words = ["chapter", one.number, "--fast", "--json", str(report)]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_edu", *words],
        env={**os.environ, "KAFKA_EDU_HOME": str(tmp_path / "home")},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(target["holds"] for target in json.loads(report.read_text())["targets"])
    assert not list((tmp_path / "home" / "clusters").glob("*")), "its cluster is gone"
