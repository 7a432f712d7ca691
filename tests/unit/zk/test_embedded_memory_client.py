"""The simulator's ZkClient over the embedded core, in virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import SimLoop, SimProcess, SimTime
from kafka_edu.zk.zk_client import (
    CheckOp,
    CreateOp,
    DeleteOp,
    SessionState,
    SetDataOp,
    WatchedEvent,
    WatchType,
    ZkClient,
    ZkError,
    ZkErrorCode,
)

T = TypeVar("T")


class World:
    def __init__(self) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.told: dict[str, list[object]] = {}
        latencies = iter([0.3, 0.1, 0.7, 0.2] * 10_000)

        async def make() -> MemoryZooKeeper:
            zookeeper = MemoryZooKeeper(self.time, latency_ms=lambda: next(latencies))
            zookeeper.start()
            return zookeeper

        self.zookeeper = self.run(make())

    def run(self, coro: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(self.loop.create_task(coro))

    def client(
        self, name: str, timeout_ms: int = 3000, process: SimProcess | None = None
    ) -> MemoryZkClient:
        client = MemoryZkClient(self.zookeeper, timeout_ms, name)
        told: list[object] = []
        self.told[name] = told
        start = client.start(told.append, told.append, 1000)
        self.loop.run_until_complete(
            self.loop.spawn(process, start) if process else self.loop.create_task(start)
        )
        return client


@pytest.fixture
def world() -> World:
    return World()


def test_it_is_a_zk_client(world: World) -> None:
    client: ZkClient = world.client("a")

    async def use() -> None:
        assert client.session_id != 0
        path, stat = await client.create("/a", b"1")
        assert (path, stat.data_length) == ("/a", 1)
        assert (await client.create("/a/s-", b"", ephemeral=True, sequential=True))[
            0
        ] == "/a/s-0000000000"
        assert (await client.get("/a"))[0] == b"1"
        assert (await client.set("/a", b"2", 0)).version == 1
        with pytest.raises(ZkError) as wrong:
            await client.set("/a", b"2", 0)
        assert (wrong.value.code, wrong.value.path) == (ZkErrorCode.BAD_VERSION, "/a")
        assert await client.exists("/none") is None
        assert (await client.get_children("/"))[0] == ["a", "zookeeper"]
        results = await client.multi(
            [CreateOp("/m", b""), SetDataOp("/a", b"3"), CheckOp("/a", 2), DeleteOp("/m")]
        )
        assert results[0] == "/m"
        assert results[2:] == [None, None]
        with pytest.raises(ZkError) as failed:
            await client.multi([CreateOp("/m", b""), DeleteOp("/a/x"), CheckOp("/a", 9)])
        assert (failed.value.code, failed.value.path) == (ZkErrorCode.NO_NODE, "/a/x")
        assert await client.exists("/m") is None
        await client.close()

    world.run(use())
    assert world.told["a"] == [SessionState.CONNECTED, SessionState.CLOSED]
    assert world.zookeeper.server.sessions.sessions == {}


def test_a_watch_is_told_before_a_later_read(world: World) -> None:
    a, b = world.client("a"), world.client("b")

    async def use() -> None:
        await a.create("/x", b"0")
        await b.get("/x", watch=True)
        await asyncio.gather(*(a.set("/x", b"%d" % i) for i in range(20)))
        while (await b.get("/x"))[0] == b"0":
            assert WatchedEvent(WatchType.DATA_CHANGED, "/x") not in world.told["b"]
        assert WatchedEvent(WatchType.DATA_CHANGED, "/x") in world.told["b"]

    world.run(use())


def test_heartbeats_keep_a_quiet_session(world: World) -> None:
    client = world.client("a")
    session_id = client.session_id
    world.loop.advance(60_000)
    assert (client.session_id, world.told["a"]) == (session_id, [SessionState.CONNECTED])


def test_a_cut_link_expires_the_session_and_a_new_one_follows(world: World) -> None:
    a, b = world.client("a"), world.client("b")
    before = a.session_id
    world.run(a.create("/e", b"", ephemeral=True))
    world.run(b.exists("/e", watch=True))
    a.cut()
    waiting = world.loop.create_task(a.get("/e"))
    world.loop.advance(4000)
    assert WatchedEvent(WatchType.DELETED, "/e") in world.told["b"]
    with pytest.raises(ZkError) as lost:
        world.loop.run_until_complete(waiting)
    assert lost.value.code is ZkErrorCode.CONNECTION_LOSS
    a.mend()
    world.loop.advance(4000)
    assert world.told["a"] == [
        SessionState.CONNECTED,
        SessionState.DISCONNECTED,
        SessionState.EXPIRED,
        SessionState.CONNECTED,
    ]
    assert a.session_id not in (0, before)


def test_a_short_cut_is_not_noticed(world: World) -> None:
    a = world.client("a")
    a.cut()
    waiting = world.loop.create_task(a.create("/x", b""))
    world.loop.advance(1000)
    a.mend()
    assert world.loop.run_until_complete(waiting)[0] == "/x"
    assert world.told["a"] == [SessionState.CONNECTED]


def test_a_killed_process_loses_its_session(world: World) -> None:
    process = SimProcess("broker")
    a, b = world.client("a", process=process), world.client("b")
    world.run(b.create("/x", b""))
    world.loop.run_until_complete(world.loop.spawn(process, a.create("/e", b"", ephemeral=True)))
    world.run(b.exists("/e", watch=True))
    world.loop.kill(process)
    world.loop.advance(2500)
    assert world.told["b"] == [SessionState.CONNECTED]
    world.loop.advance(2000)
    assert world.told["b"][-1] == WatchedEvent(WatchType.DELETED, "/e")


def test_a_paused_client_finds_itself_expired(world: World) -> None:
    a = world.client("a")
    a.pause()
    world.loop.advance(10_000)
    assert world.told["a"] == [SessionState.CONNECTED]
    a.resume()
    world.loop.advance(1000)
    assert world.told["a"] == [
        SessionState.CONNECTED,
        SessionState.DISCONNECTED,
        SessionState.EXPIRED,
        SessionState.CONNECTED,
    ]


def test_watches_survive_a_restart_of_the_server(world: World) -> None:
    a, b = world.client("a"), world.client("b")
    session_id = a.session_id
    world.run(a.create("/x", b""))
    world.run(a.get("/x", watch=True))
    world.run(a.exists("/y", watch=True))
    world.run(a.get_children("/x", watch=True))
    world.zookeeper.go_down()
    world.loop.advance(50)

    async def refused() -> ZkErrorCode:
        try:
            await b.get("/x")
        except ZkError as error:
            return error.code
        return ZkErrorCode.OK

    assert world.run(refused()) is ZkErrorCode.CONNECTION_LOSS
    world.zookeeper.come_back()
    world.loop.advance(500)
    assert a.session_id == session_id
    for path in ("/x/child", "/y"):
        world.run(b.create(path, b""))
    world.run(b.set("/x", b"1"))
    world.loop.advance(10)
    assert world.told["a"] == [
        SessionState.CONNECTED,
        SessionState.DISCONNECTED,
        SessionState.CONNECTED,
        WatchedEvent(WatchType.CHILDREN_CHANGED, "/x"),
        WatchedEvent(WatchType.CREATED, "/y"),
        WatchedEvent(WatchType.DATA_CHANGED, "/x"),
    ]


def test_expire_is_told_to_the_client(world: World) -> None:
    a = world.client("a")
    world.zookeeper.expire(a.session_id)
    world.loop.advance(500)
    assert world.told["a"][1:] == [
        SessionState.DISCONNECTED,
        SessionState.EXPIRED,
        SessionState.CONNECTED,
    ]


def test_no_server_is_a_connection_loss(world: World) -> None:
    world.zookeeper.go_down()
    with pytest.raises(ZkError) as lost:
        world.client("a")
    assert lost.value.code is ZkErrorCode.CONNECTION_LOSS
