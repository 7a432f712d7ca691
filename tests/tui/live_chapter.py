"""Run one chapter on a real cluster, without keys, and compare its page with the run."""

import json
import os
import subprocess
import sys
from pathlib import Path

from chapters.chapter import Chapter

ROOT = Path(__file__).resolve().parents[2]


def check_live_chapter(one: Chapter, folder: Path, *options: str, timeout_s: int = 500) -> None:
    """Fail unless the chapter ends without errors, its page agrees with the run, and its cluster is
    gone.
    """
    report = folder / "chapter.json"
    words = [*one.command.split(), "--fast", *options, "--json", str(report)]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_edu", *words],
        env={**os.environ, "KAFKA_EDU_HOME": str(folder / "home")},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(target["holds"] for target in json.loads(report.read_text())["targets"])
    assert not list((folder / "home" / "clusters").glob("*")), "its cluster is gone"
