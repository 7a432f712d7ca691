"""The supervisor's acts: they end in one line, whatever happens, and a kill does not wait."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ChildProcess
from kafka_edu.supervisor.cluster_acts import ClusterActs
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish, plan
from kafka_edu.supervisor.main import Supervisor
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.supervisor import ActionAsked, ActionDone
from kafka_edu.trace.ring_sink import RingSink
from tests.waiting import wait_for

STAYS = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('it ignores SIGTERM', flush=True); time.sleep(600)"
)


class Stage:
    """A supervisor of one broker. The broker is a program that only waits and ignores SIGTERM."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = ClusterFolder.of("c", tmp_path)
        spec = plan("c", Wish(1, None, "127.0.0.1:1"), None, tmp_path)
        spec.save(self.folder)
        self.supervisor = Supervisor(spec, self.folder, temporary=False)
        self.ring = RingSink()
        self.supervisor._trace.add_sink(self.ring)
        self.folder.broker(0).mkdir(parents=True, exist_ok=True)
        self.broker = ChildProcess(
            "broker-0",
            Source.of_broker(0),
            ["--exec", sys.executable, "-c", STAYS],
            self.folder.broker_log(0),
            self.supervisor._trace,
            lambda _: None,
        )
        self.supervisor._brokers[0] = self.broker

    async def act(self, action: str, **values: object) -> str:
        return str((await self.supervisor._act(action, {"broker": 0, **values}))["message"])

    async def refused(self, action: str, **values: object) -> str:
        with pytest.raises(ActionRefused) as refused:
            await self.act(action, **values)
        return str(refused.value)


def play(tmp_path: Path, story: Callable[[Stage], Awaitable[None]]) -> None:
    async def run() -> None:
        stage = Stage(tmp_path)
        try:
            await story(stage)
        finally:
            await stage.broker.kill()

    asyncio.run(run())


def test_a_kill_does_not_wait_for_a_stop_that_takes_long(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.act("start")
        await asyncio.to_thread(
            wait_for, lambda: "ignores" in stage.folder.broker_log(0).read_text(), "it is up"
        )
        stopping = asyncio.create_task(stage.act("stop", patience_s=600))
        await asyncio.sleep(0)
        assert await stage.act("kill") == "broker-0 killed by SIGKILL"
        assert await stopping == "broker-0 killed by SIGKILL"
        assert await stage.refused("kill") == "broker-0 is stopped"

    play(tmp_path, story)


def test_nothing_is_started_while_the_cluster_goes_down(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.act("down")
        assert await stage.refused("start") == "cluster c is going down"

    play(tmp_path, story)


@pytest.mark.parametrize("action", ["start", "elect-preferred"])
def test_an_error_that_nobody_foresaw_is_one_line_and_an_event(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    action: str,
) -> None:
    async def fails(*_: object) -> str:
        raise KeyError("a bug")

    async def story(stage: Stage) -> None:
        monkeypatch.setattr(ClusterActs, "act", fails)
        monkeypatch.setattr(ChildProcess, "start", fails)
        said = await stage.refused(action, partition="all")
        assert said == (
            f"the supervisor failed at '{action}' (KeyError: 'a bug'); see"
            f" {stage.folder.supervisor_log}"
        )
        asked, done = (envelope.event for envelope in stage.ring.events)
        assert isinstance(asked, ActionAsked)
        assert isinstance(done, ActionDone)
        assert (done.ok, done.message) == (False, said)

    caplog.set_level(logging.ERROR)
    play(tmp_path, story)
    assert "Traceback" in caplog.text


def test_a_refusal_of_several_lines_becomes_one(tmp_path: Path) -> None:
    async def fails(*_: object) -> str:
        raise ActionRefused("what\n  why\n  what to do")

    async def story(stage: Stage) -> None:
        stage.supervisor._cluster_acts.act = fails  # type: ignore[method-assign, assignment]
        assert await stage.refused("elect-preferred") == "what why what to do"

    play(tmp_path, story)
