"""Children of the supervisor: every way in which they end, pausing, and that none outlives its
parent.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafka_edu.common.time import SystemTime
from kafka_edu.supervisor.child_process import (
    ChildProcess,
    ProcessState,
    ProcessStateError,
    rss_anon,
)
from kafka_edu.trace.event import SUPERVISOR, Envelope, Level
from kafka_edu.trace.tracer import Tracer
from tests.cluster.processes import is_alive
from tests.waiting import PATIENCE_S, wait_for

WAITS = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True);"
    " time.sleep(60)"
)


class Names:
    """A sink that keeps the events."""

    level = Level.STATE

    def __init__(self) -> None:
        self.events: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)

    @property
    def names(self) -> list[str]:
        return [envelope.name for envelope in self.events]


class Bench:
    """One child that runs `code`, and the events about it."""

    def __init__(self, tmp_path: Path, code: str) -> None:
        self.log = tmp_path / "child.log"
        self.told = Names()
        self.ended: list[str] = []
        trace = Tracer(SUPERVISOR, SystemTime())
        trace.add_sink(self.told)
        self.child = ChildProcess(
            "broker-7",
            7,
            ["--exec", sys.executable, "-c", code],
            self.log,
            trace,
            lambda child: self.ended.append(child.name),
        )

    async def up(self) -> None:
        """Start it and wait for its first word."""
        await self.child.start()
        async with asyncio.timeout(PATIENCE_S):
            while not self.log.read_text():
                await asyncio.sleep(0.01)


def run(tmp_path: Path, code: str, story: Callable[[Bench], Awaitable[None]]) -> Bench:
    async def tell() -> Bench:
        bench = Bench(tmp_path, code)
        try:
            await story(bench)
        finally:
            await bench.child.kill()
        return bench

    return asyncio.run(tell())


def test_stop_is_sigterm(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.up()
        assert bench.child.state is ProcessState.RUNNING
        assert os.getpgid(bench.child.pid) == os.getpgid(0)
        ended = await bench.child.stop(20)
        assert ended is not None
        assert (ended.code, ended.signal, ended.asked) == (0, "SIGTERM", True)
        assert bench.child.pid == 0

    bench = run(tmp_path, WAITS, story)
    assert bench.told.names == ["ProcessStarted", "ProcessEnded"]
    assert bench.ended == ["broker-7"]


def test_stop_ends_in_sigkill_when_patience_is_over(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.up()
        ended = await bench.child.stop(0.05)
        assert ended is not None
        assert ended.signal == "SIGKILL"

    run(tmp_path, STUBBORN, story)


def test_an_end_that_nobody_asked_for_is_told_with_its_last_words(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.child.start()
        ended = await bench.child.wait()
        assert ended is not None
        assert (ended.code, ended.signal, ended.asked) == (3, "", False)
        assert str(ended) == "ended with code 3"
        assert bench.child.last_words() == "the disk is full"
        await bench.child.start()
        await bench.child.wait()
        assert bench.child.last_words() == "the disk is full", (
            "of this start alone, though the log holds both"
        )

    bench = run(tmp_path, "import sys; print('the disk is full'); sys.exit(3)", story)
    assert bench.log.read_text().count("full") == 2


def test_pause_and_resume(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.up()
        bench.child.pause()
        with pytest.raises(ProcessStateError, match="broker-7 is paused"):
            bench.child.pause()
        status = Path(f"/proc/{bench.child.pid}/stat")
        if status.exists():
            async with asyncio.timeout(PATIENCE_S):
                while status.read_text().split()[2] != "T":
                    await asyncio.sleep(0.01)
        bench.child.resume()
        with pytest.raises(ProcessStateError, match="broker-7 is running"):
            bench.child.resume()
        with pytest.raises(ProcessStateError, match="running already"):
            await bench.child.start()

    bench = run(tmp_path, WAITS, story)
    assert bench.told.names == ["ProcessStarted", "ProcessPaused", "ProcessResumed", "ProcessEnded"]


def test_the_first_cause_of_a_program_in_java_is_its_reason(tmp_path: Path) -> None:
    """Apache's ZooKeeper writes a stack trace. The last cause in it is what happened first."""

    async def story(bench: Bench) -> None:
        await bench.child.start()
        ended = await bench.child.wait()
        assert ended is not None
        assert (ended.code, ended.reason) == (1, "java.io.IOException: Found null in currentEpoch")

    said = (
        "ERROR Unexpected exception, exiting abnormally\\njava.lang.RuntimeException: Unable to run"
        "\\n\\tat Main.main\\nCaused by: x.y: later\\nCaused by: java.io.IOException: Found null in"
        " currentEpoch\\n\\t... 4 more"
    )
    run(tmp_path, f"import sys; print('{said}'); sys.exit(1)", story)


def test_a_paused_child_can_be_stopped_and_killed(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.up()
        bench.child.pause()
        ended = await bench.child.stop(20)
        assert ended is not None
        assert ended.signal == "SIGTERM"
        with pytest.raises(ProcessStateError, match="broker-7 is stopped"):
            bench.child.pause()
        with pytest.raises(ProcessStateError, match="broker-7 is stopped"):
            await bench.child.stop(1)
        await bench.child.start()
        bench.child.pause()
        ended = await bench.child.kill()
        assert ended is not None
        assert ended.signal == "SIGKILL"

    run(tmp_path, WAITS, story)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="this system has no /proc: memory is not shown there",
)
def test_memory(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        assert bench.child.rss_anon() is None
        await bench.up()
        memory = bench.child.rss_anon()
        assert memory is not None
        assert 1_000_000 < memory < 100_000_000

    run(tmp_path, WAITS, story)
    assert rss_anon(2**22 + 1) is None


@pytest.mark.parametrize("module", [["--exec", sys.executable, "-c", WAITS], ["this_waits"]])
def test_a_child_dies_with_its_parent(tmp_path: Path, module: list[str]) -> None:
    """The parent is killed with SIGKILL, so that it cannot clean up."""
    (tmp_path / "this_waits.py").write_text(WAITS.replace("'up'", "__name__"))
    parent = (
        "import os, subprocess, sys, time\nfrom kafka_edu.common.python_process import"
        " python_command\ncommand = python_command('kafka_edu.supervisor.supervised_child',"
        f" str(os.getpid()), *{module!r})\nchild = subprocess.Popen(command,"
        " stdout=subprocess.PIPE)\nchild.stdout.readline()\nprint(child.pid,"
        " flush=True)\ntime.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{tmp_path}"}
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        os.kill(child, 0)
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not is_alive(child), "the child ends")
