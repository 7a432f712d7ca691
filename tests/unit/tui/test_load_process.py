"""The load that the dashboard starts and stops."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui import side_process
from tui.load_process import LoadProcess

#: Like a load that waits for its last answers: it ends a line after its input has ended.
SLOW_END = "import sys; sys.stdin.read(); sys.stdin = open(sys.argv[1]); sys.stdin.read()"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list["subprocess.Popen[bytes]"]:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    processes: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **settings: object) -> None:
            settings.pop("env")
            super().__init__([sys.executable, "-c", SLOW_END, str(gate)], **settings)  # type: ignore[call-overload]
            processes.append(self)

    monkeypatch.setattr(side_process.subprocess, "Popen", Recorded)
    return processes


def test_a_load_may_begin_while_the_one_before_waits_for_its_last_answers(
    started: list["subprocess.Popen[bytes]"],
) -> None:
    load = LoadProcess("demo")
    asyncio.run(load.start())
    assert load.running
    asyncio.run(load.stop())
    assert not load.running, "it was stopped, though it has not ended"
    asyncio.run(load.start())
    assert load.running
    first, second = started
    assert first.poll() is None
    assert second.poll() is None
    assert load.failure() is None
    asyncio.run(load.stop())
    for process in started:
        process.kill()
        process.wait()
