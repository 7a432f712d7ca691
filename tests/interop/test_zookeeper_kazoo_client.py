"""The brokers' client of ZooKeeper, on the embedded server and on Apache's."""

import asyncio
from pathlib import Path

import pytest
from kazoo.exceptions import ConnectionDropped

from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_client import (
    CheckOp,
    CreateOp,
    DeleteOp,
    SessionState,
    SetDataOp,
    Stat,
    WatchedEvent,
    WatchType,
    ZkClient,
    ZkError,
    ZkErrorCode,
)
from tests.interop.raw_zookeeper import PATIENCE_S, SESSION_MS, Raw, Server, make_server

pytestmark = pytest.mark.tools


class Told:
    """What a KazooZkClient told, in order, and a way to wait for it."""

    def __init__(self) -> None:
        self.all: list[object] = []
        self._news = asyncio.Event()

    def __call__(self, news: object) -> None:
        self.all.append(news)
        self._news.set()

    async def until(self, news: object) -> None:
        await self.times(news, 1)

    async def times(self, news: object, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.all.count(news) < count:
                self._news.clear()
                await self._news.wait()


async def kazoo_client(port: int, chroot: str, told: Told) -> KazooZkClient:
    client = KazooZkClient(f"127.0.0.1:{port}{chroot}", SESSION_MS)
    await client.start(told, told, PATIENCE_S * 1000)
    return client


def test_kazoo_client_speaks_for_zk_client(server: Server, root: str) -> None:
    async def use() -> None:
        told = Told()
        client: ZkClient = await kazoo_client(server.port, f"{root}/deep/chroot", told)
        assert client.session_id != 0
        assert client.session_timeout_ms == SESSION_MS
        path, stat = await client.create("/a", b"1")
        assert (path, stat.data_length) == ("/a", 1)
        assert (await client.create("/a/s-", b"", ephemeral=True, sequential=True))[
            0
        ] == "/a/s-0000000000"
        assert (await client.get("/a/s-0000000000"))[1].ephemeral_owner == client.session_id
        assert await client.get("/a") == (b"1", (await client.exists("/a")))
        assert (await client.set("/a", b"2", 0)).version == 1
        assert await client.exists("/none") is None
        assert (await client.get_children("/"))[0] == ["a"]
        with pytest.raises(ZkError) as wrong:
            await client.delete("/a")
        assert (wrong.value.code, wrong.value.path) == (ZkErrorCode.NOT_EMPTY, "/a")
        await client.delete("/a/s-0000000000")
        results = await client.multi(
            [CreateOp("/m", b""), SetDataOp("/a", b"3"), CheckOp("/a", 2), DeleteOp("/m")]
        )
        assert results[0] == "/m"
        assert isinstance(results[1], Stat)
        assert results[2:] == [None, None]
        with pytest.raises(ZkError) as failed:
            await client.multi([CreateOp("/m", b""), SetDataOp("/a", b"", 77), DeleteOp("/m")])
        assert (failed.value.code, failed.value.path) == (ZkErrorCode.BAD_VERSION, "/a")
        paths = await asyncio.gather(
            *(client.create("/a/n-", b"", sequential=True) for _ in range(500))
        )
        assert [path for path, _ in paths] == [f"/a/n-{number:010d}" for number in range(1, 501)]
        await client.close()
        assert told.all == [SessionState.CONNECTED, SessionState.CLOSED]
        with pytest.raises(ZkError):
            await client.get("/a")

    asyncio.run(use())


def test_kazoo_client_tells_watches_once_and_before_later_reads(server: Server, root: str) -> None:
    async def use() -> None:
        told, others = Told(), Told()
        client, other = (
            await kazoo_client(server.port, root, told),
            await kazoo_client(server.port, root, others),
        )
        await client.create("/a", b"0")
        for _ in range(2):
            await asyncio.gather(
                client.get("/a", watch=True),
                client.exists("/a", watch=True),
                client.get_children("/a", watch=True),
            )
        await client.exists("/b", watch=True)
        writing = asyncio.gather(*(other.set("/a", b"%d" % number) for number in range(50)))
        while (await client.get("/a"))[0] == b"0":
            # the watch may be told now, for it is on its way; when the new data are read, it must
            # have been
            pass
        assert told.all == [SessionState.CONNECTED, WatchedEvent(WatchType.DATA_CHANGED, "/a")]
        await writing
        await client.get("/a", watch=True)
        await other.delete("/a")
        await other.create("/b", b"")
        await told.until(WatchedEvent(WatchType.CREATED, "/b"))
        assert told.all[2:] == [
            WatchedEvent(WatchType.DELETED, "/a"),
            WatchedEvent(WatchType.CREATED, "/b"),
        ]
        await client.close()
        await other.close()

    asyncio.run(use())


def test_kazoo_client_gets_a_new_session_when_its_own_is_gone(server: Server, root: str) -> None:
    async def use() -> None:
        told = Told()
        client = await kazoo_client(server.port, root, told)
        before = client.session_id
        await client.create("/e", b"", ephemeral=True)
        await client.exists("/e", watch=True)
        thief = Raw(server.port)
        thief.connect(before, await asyncio.to_thread(password_of, client))
        thief.ok(OpCode.CLOSE_SESSION)
        await told.until(SessionState.EXPIRED)
        await told.times(SessionState.CONNECTED, 2)
        assert client.session_id not in (0, before)
        assert await client.exists("/e") is None
        states = [news for news in told.all if isinstance(news, SessionState)]
        assert states == [
            SessionState.CONNECTED,
            SessionState.DISCONNECTED,
            SessionState.EXPIRED,
            SessionState.CONNECTED,
        ]
        await client.close()

    asyncio.run(use())


def password_of(client: KazooZkClient) -> bytes:
    _, passwd = client._kazoo.client_id
    return bytes(passwd)


@pytest.mark.parametrize("kind", ["embedded", "apache"])
def test_kazoo_client_keeps_session_and_watches_over_a_restart(kind: str, tmp_path: Path) -> None:
    server = make_server(kind, tmp_path)
    server.start()

    async def use() -> None:
        told = Told()
        client = await kazoo_client(server.port, "/kafka", told)
        before = client.session_id
        await client.create("/a", b"")
        await client.create("/e", b"", ephemeral=True)
        await asyncio.gather(
            client.get("/a", watch=True),
            client.exists("/b", watch=True),
            client.get_children("/a", watch=True),
        )
        server.kill()
        await told.until(SessionState.DISCONNECTED)
        with pytest.raises(ZkError) as lost:
            await client.get("/a")
        assert lost.value.code is ZkErrorCode.CONNECTION_LOSS
        server.start()
        await told.times(SessionState.CONNECTED, 2)
        assert client.session_id == before
        assert await client.exists("/e") is not None
        await client.create("/a/child", b"")
        await client.create("/b", b"")
        await client.set("/a", b"1")
        assert [news for news in told.all if isinstance(news, WatchedEvent)] == [
            WatchedEvent(WatchType.CHILDREN_CHANGED, "/a"),
            WatchedEvent(WatchType.CREATED, "/b"),
            WatchedEvent(WatchType.DATA_CHANGED, "/a"),
        ]
        await client.close()

    try:
        asyncio.run(use())
    finally:
        server.kill()


def test_kazoo_client_tries_the_server_it_has_just_lost_last() -> None:
    client = KazooZkClient("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", 500)
    connection = client._connection
    for lost in (1, 2):
        with pytest.raises(ConnectionDropped):
            connection._connect("127.0.0.1", "127.0.0.1", lost)
        tries = [[port for _, _, port in connection._expand_client_hosts()] for _ in range(50)]
        assert {ports[-1] for ports in tries} == {lost}
        assert len({ports[0] for ports in tries}) == 2, "the others come by chance"


def test_kazoo_client_without_a_server_is_a_connection_loss() -> None:
    async def use() -> None:
        with pytest.raises(ZkError) as lost:
            await KazooZkClient("127.0.0.1:1", SESSION_MS).start(Told(), Told(), 200)
        assert lost.value.code is ZkErrorCode.CONNECTION_LOSS

    asyncio.run(use())
