"""Processes that stand still again and again."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from kafka_edu.common.time import SystemTime
from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ChildProcess, ProcessState
from kafka_edu.supervisor.stalls import MAX_MS, Rhythm, Stalls
from kafka_edu.trace.event import SUPERVISOR, Envelope, Level, Source
from kafka_edu.trace.events.supervisor import ProcessStalled, ProcessStallOver
from kafka_edu.trace.tracer import Tracer
from tests.waiting import PATIENCE_S

WAITS = "import time; print('up', flush=True); time.sleep(600)"
OFTEN = Rhythm(stall_ms=20, every_ms=40)
LONG = Rhythm(stall_ms=MAX_MS - 1, every_ms=MAX_MS)


class Bench:
    """A child process, and the events about it."""

    level = Level.STATE

    def __init__(self, tmp_path: Path) -> None:
        self.told: list[Envelope] = []
        trace = Tracer(SUPERVISOR, SystemTime())
        trace.add_sink(self)
        self.child = ChildProcess(
            "broker-7",
            Source.of_broker(7),
            ["--exec", sys.executable, "-c", WAITS],
            tmp_path / "child.log",
            trace,
            lambda _: None,
        )
        self.stalls = Stalls(trace)

    def accept(self, envelope: Envelope) -> None:
        self.told.append(envelope)

    def begin(self, rhythm: Rhythm) -> str:
        return self.stalls.begin(self.child, rhythm)

    def count(self) -> int:
        [stall] = self.stalls.known(with_hidden=True)
        return stall.ended

    def of(self, kind: type) -> list[Envelope]:
        return [one for one in self.told if isinstance(one.event, kind)]

    @property
    def stands_still(self) -> bool:
        """The system's words about the process."""
        asked = ["ps", "-o", "state=", "-p", str(self.child.pid)]
        return subprocess.run(asked, capture_output=True, text=True).stdout.startswith("T")


async def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it does not come"
        await asyncio.sleep(0.005)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def play(bench: Bench, story: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a story with the child, which ends with it."""

    async def whole() -> None:
        await bench.child.start()
        try:
            await story()
        finally:
            bench.stalls.end_all()
            await bench.child.kill()

    asyncio.run(whole())


def test_it_stands_still_again_and_again_and_its_state_stays(bench: Bench) -> None:
    async def story() -> None:
        assert bench.begin(OFTEN) == "broker-7 stops for 20 ms every 40 ms"
        await until(lambda: bench.count() >= 3)
        assert bench.child.state is ProcessState.RUNNING
        assert bench.stalls.end(bench.child) == "broker-7 runs without stalls"
        await until(lambda: not bench.stands_still)

    play(bench, story)
    began, over = bench.of(ProcessStalled), bench.of(ProcessStallOver)
    assert len(over) >= 3
    assert [one.cause for one in over] == [one.seq for one in began]


def test_the_process_really_stands_still(bench: Bench) -> None:
    async def story() -> None:
        bench.begin(LONG)
        await until(lambda: bench.stands_still)
        bench.stalls.end(bench.child)
        await until(lambda: not bench.stands_still)

    play(bench, story)


def test_a_paused_process_is_left_paused(bench: Bench) -> None:
    async def story() -> None:
        bench.begin(LONG)
        await until(lambda: bench.stands_still)
        bench.child.pause()
        bench.stalls.end(bench.child)
        await asyncio.sleep(0)  # the stall's task ends
        assert bench.stands_still
        bench.child.resume()
        await until(lambda: not bench.stands_still)
        bench.child.pause()
        bench.begin(OFTEN)
        await asyncio.sleep(0)  # the first beat
        assert bench.count() == 0

    play(bench, story)


def test_what_an_exercise_hides_is_told_nobody(bench: Bench) -> None:
    async def story() -> None:
        bench.begin(OFTEN._replace(hidden=True))
        await until(lambda: bench.count())
        assert not bench.stalls.known()

    play(bench, story)
    assert not bench.of(ProcessStalled)
    assert not bench.of(ProcessStallOver)


@pytest.mark.parametrize(("stall_ms", "every_ms"), [(0, 10), (10, 10), (10, 0), (1, MAX_MS + 1)])
def test_a_rhythm_that_cannot_be_is_refused(bench: Bench, stall_ms: int, every_ms: int) -> None:
    async def story() -> None:
        with pytest.raises(ActionRefused, match="smaller than every_ms"):
            bench.begin(Rhythm(stall_ms, every_ms))
        assert bench.stalls.end(bench.child) == "broker-7 had no stalls"

    play(bench, story)


def test_another_rhythm_takes_the_place_of_the_first(bench: Bench) -> None:
    async def story() -> None:
        bench.begin(LONG)
        await until(lambda: bench.stands_still)
        bench.begin(OFTEN)
        await until(lambda: bench.count() >= 2)

    play(bench, story)


def test_a_process_that_stands_still_can_be_stopped(bench: Bench) -> None:
    """A process that stands still cannot react to SIGTERM. So it is continued first, like a paused
    process.
    """

    async def story() -> None:
        bench.begin(LONG)
        await until(lambda: bench.stands_still)
        ended = await bench.child.stop(PATIENCE_S)
        assert ended is not None
        assert ended.signal == "SIGTERM"

    play(bench, story)
