"""A demo as a user starts it: a command, figures in a file, and an exit code that says whether all targets hold."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_edu.cli.python_process import python_command, python_environment


class Played(NamedTuple):
    """What a demo printed and wrote."""

    said: str
    figures: dict[str, Any]  # numbers, texts and lists, as the demo has them
    targets: dict[str, float]
    """By name, the value that was found; all of them hold."""


def play(folder: Path, demo: str, *options: str, environment: Mapping[str, str] | None = None) -> Played:
    """Run `kafka-edu demo DEMO` (none: the first of them, which has no name) with its files below `folder`; it must succeed, and every target hold."""
    file = folder / "figures.json"
    command = python_command("kafka_edu", "demo", *demo.split(), *options, "--json", str(file))
    surroundings = python_environment() | {"KAFKA_EDU_HOME": str(folder), "TMPDIR": str(folder), **(environment or {})}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert report["name"] == (demo or "demo")
    assert [target for target in report["targets"] if not target["holds"]] == []
    return Played(done.stdout, report["figures"], {target["name"]: target["value"] for target in report["targets"]})
