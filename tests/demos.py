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
    """What a demo printed and wrote."""

    said: str
    figures: dict[str, Any]  # numbers, texts and lists, as the demo has them
    targets: dict[str, float]
    """By name, the value that was found; all of them hold, but those that compare times."""


def play(
    folder: Path,
    demo: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    of_speed: tuple[str, ...] = (),
) -> Played:
    """Run `kafka-edu demo DEMO` (none: the first of them, which has no name) with its files below
    `folder`.

    It must succeed, and every target hold. `of_speed` are the first words of targets that compare
    times: a demo shows them on a quiet machine, and a test, which runs on any, does not judge them.
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
