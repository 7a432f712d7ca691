"""A broker's process, up to the moment when its loop runs."""

import subprocess
import sys
from pathlib import Path

from kafka_edu.common.python_process import python_environment

START = """
import gc, sys
from kafka_edu.server import broker_process, main

async def run(self):
    watched, frozen = len(gc.get_objects()), gc.get_freeze_count()
    print(watched, frozen)
    return 0

broker_process.BrokerProcess.run = run
raise SystemExit(main.main(sys.argv[1:]))
"""


def test_the_imports_are_left_out_of_all_searches_for_garbage(tmp_path: Path) -> None:
    """A search for garbage takes 0.6 ms for each 1,000 objects, and the loop waits for all of
    it.
    """
    file = tmp_path / "server.properties"
    file.write_text(f"broker.id=1\nzookeeper.connect=127.0.0.1:1\nlog.dirs={tmp_path}\n")
    found = subprocess.run(
        [sys.executable, "-c", START, str(file)],
        capture_output=True,
        text=True,
        env=python_environment(),
    )
    watched, frozen = map(int, found.stdout.split())
    assert frozen > 10_000, found.stderr
    assert watched < frozen / 10
