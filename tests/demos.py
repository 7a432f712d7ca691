"""A demo as a user starts it: a command, figures in a file, and an exit code that says whether all
targets hold.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_edu.common.python_process import python_command, python_environment


class Played(NamedTuple):
    """The output and the figures of a demo."""

    said: str
    figures: dict[str, Any]  # numbers, texts and lists, as the demo has them
    targets: dict[str, float]
    """Target name → value found. All hold, except perhaps those that compare times."""


def play(
    folder: Path,
    demo: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    of_speed: tuple[str, ...] = (),
) -> Played:
    """Run `kafka-edu demo DEMO` with its files below `folder`. If `demo` is empty, run the first
    demo.

    The demo must succeed, and every target must hold, except those that compare times: a busy
    machine may miss them. `of_speed` lists the words with which the names of these targets begin.
    """
    file = folder / "figures.json"
    command = python_command("kafka_edu", "demo", *demo.split(), *options, "--json", str(file))
    surroundings = python_environment() | {
        "KAFKA_EDU_HOME": str(folder),
        "TMPDIR": str(folder),
        **(environment or {}),
    }
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert file.exists(), done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert report["name"] == (demo or "demo")
    failed = [target for target in report["targets"] if not target["holds"]]
    assert [
        target for target in failed if not target["name"].startswith(of_speed or ("\0",))
    ] == [], done.stdout + done.stderr
    assert done.returncode == (1 if failed else 0), done.stdout + done.stderr
    return Played(
        done.stdout,
        report["figures"],
        {target["name"]: target["value"] for target in report["targets"]},
    )
