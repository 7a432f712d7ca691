"""A start waits only for the broker that is started: others may end or lag, and the start does not
fail.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

import pytest

from kafka_edu.supervisor import main, readiness
from kafka_edu.supervisor.action_server import ActionRefused, Answer
from kafka_edu.supervisor.child_process import ChildProcess
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish, plan
from kafka_edu.supervisor.main import Supervisor
from kafka_edu.trace.event import ZOOKEEPER, Source

STAYS = "import time; print('last words', flush=True); time.sleep(600)"
GUEST = 7


def port_of(supervisor: Supervisor, broker: int) -> int:
    return supervisor._spec.broker(broker).direct_port


class Stage:
    """A supervisor whose brokers are idle programs. The test says when a broker lists the
    others.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = ClusterFolder.of("c", tmp_path)
        spec = plan("c", Wish(3, None, "127.0.0.1:1"), None, tmp_path)
        spec.save(folder)
        self.supervisor = Supervisor(spec, folder, temporary=False)
        self.supervisor._all_started.set()
        for broker in spec.broker_ids:
            folder.broker(broker).mkdir(parents=True, exist_ok=True)
            self.supervisor._brokers[broker] = ChildProcess(
                f"broker-{broker}",
                Source.of_broker(broker),
                ["--exec", sys.executable, "-c", STAYS],
                folder.broker_log(broker),
                self.supervisor._trace,
                lambda _: None,
            )
        self.lists = {broker: asyncio.Event() for broker in spec.broker_ids}
        self.looked_at: list[int] = []
        self.controller = 0
        monkeypatch.setattr(readiness, "wait_until_listed", self._wait_until_listed)

    async def _wait_until_listed(
        self,
        _transport: object,
        ports: Mapping[int, tuple[str, int]],
        _listed: Collection[int],
        seen: dict[int, str],
        may_be_controller: Callable[[int, int], bool],
    ) -> int:
        for broker in ports:
            self.looked_at.append(broker)
            seen[broker] = "it knows no controller"
            await self.lists[broker].wait()
        assert may_be_controller(self.controller, port_of(self.supervisor, self.controller))
        return self.controller

    def child(self, broker: int) -> ChildProcess:
        return self.supervisor._brokers[broker]

    async def wait_started(self, broker: int) -> Answer:
        return await self.supervisor._act("wait-ready", {"broker": broker, "timeout_s": 600})


def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: Callable[[Stage], Awaitable[None]]
) -> None:
    async def run() -> None:
        stage = Stage(tmp_path, monkeypatch)
        try:
            for broker in (0, 1, 2):
                await stage.child(broker).start()
            await story(stage)
        finally:
            for broker in (0, 1, 2):
                await stage.child(broker).kill()

    asyncio.run(run())


async def die(child: ChildProcess) -> None:
    """End a child as the system does: nobody requested it."""
    os.kill(child.pid, signal.SIGKILL)
    await child.wait()


def test_another_broker_that_died_before_is_not_this_ones_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        await die(stage.child(0))
        stage.controller = 2
        for broker in (1, 2):
            stage.lists[broker].set()
        assert await stage.wait_started(1) == {"controller": 2, "unlisted": []}
        assert stage.looked_at == [1, 2]
        with pytest.raises(ActionRefused, match="broker-0 killed by SIGKILL"):
            await stage.supervisor._act("wait-ready", {"timeout_s": 600})  # `up` judges all

    play(tmp_path, monkeypatch, story)


def test_another_broker_that_dies_meanwhile_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        waiting = asyncio.create_task(stage.wait_started(1))
        while len(stage.looked_at) < 3:
            await asyncio.sleep(0)
        stage.controller = 2
        stage.lists[1].set()
        stage.lists[2].set()
        await die(stage.child(0))
        assert await waiting == {"controller": 2, "unlisted": []}

    play(tmp_path, monkeypatch, story)


def test_its_own_end_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        waiting = asyncio.create_task(stage.wait_started(1))
        while not stage.looked_at:
            await asyncio.sleep(0)
        await die(stage.child(1))
        with pytest.raises(ActionRefused, match="broker-1 killed by SIGKILL"):
            await waiting

    play(tmp_path, monkeypatch, story)


def test_a_broker_that_does_not_list_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        monkeypatch.setattr(main, "OTHERS_PATIENCE_S", 0.0)
        stage.lists[1].set()
        stage.lists[0].set()
        told = await stage.wait_started(1)
        assert told == {
            "controller": 0,
            "unlisted": ["broker 2 does not list it yet: it knows no controller"],
        }

    play(tmp_path, monkeypatch, story)


def test_a_guest_may_be_the_controller_and_a_stopped_broker_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(stage: Stage) -> None:
        await die(stage.child(0))
        may_be = stage.supervisor._may_be_controller
        port = port_of(stage.supervisor, 0)
        assert [may_be(broker, port) for broker in (0, 1, 2, GUEST)] == [False, True, True, True]
        assert may_be(0, port + 1), "another program has taken the id of the stopped broker"

    play(tmp_path, monkeypatch, story)


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        (STAYS, "zookeeper is paused: resume it first"),
        (
            "print('ZooKeeper has stopped, because its data in /d cannot be written: full')",
            "zookeeper is stopped (ended with code 0: its data in /d cannot be written: full):"
            " start it first",
        ),
    ],
)
def test_a_start_without_zookeeper_is_refused_at_once_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, trouble: str
) -> None:
    async def story(stage: Stage) -> None:
        zookeeper = ChildProcess(
            "zookeeper",
            ZOOKEEPER,
            ["--exec", sys.executable, "-c", code],
            tmp_path / "zookeeper.log",
            stage.supervisor._trace,
            lambda _: None,
        )
        servers = stage.supervisor._zookeepers
        servers.children[ZOOKEEPER] = zookeeper
        await zookeeper.start()
        try:
            if code == STAYS:
                zookeeper.pause()
            else:
                await zookeeper.wait()
            with pytest.raises(ActionRefused) as refused:
                await stage.wait_started(1)
        finally:
            await zookeeper.kill()
        assert str(refused.value) == f"broker-1 waits for ZooKeeper: {trouble}"

    play(tmp_path, monkeypatch, story)
