"""The brokers' ZooKeeper client, on the embedded server and on Apache's."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Awaitable
from pathlib import Path
from random import Random

import pytest

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
from tests.interop.raw_zookeeper import LONG_SESSION_MS, SESSION_MS, Raw, Server, hosts, make_server
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.tools


class Notifications:
    """Collects the notifications of a KazooZkClient in order. A test can wait for one of them."""

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


async def kazoo_client(port: int, chroot: str, seen: Notifications) -> KazooZkClient:
    client = KazooZkClient(f"127.0.0.1:{port}{chroot}", SESSION_MS)
    await client.start(seen, seen, PATIENCE_S * 1000)
    return client


def test_kazoo_client_speaks_for_zk_client(server: Server, root: str) -> None:
    async def use() -> None:
        seen = Notifications()
        client: ZkClient = await kazoo_client(server.port, f"{root}/deep/chroot", seen)
        assert client.session_id != 0
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
        assert seen.all == [SessionState.CONNECTED, SessionState.CLOSED]
        with pytest.raises(ZkError):
            await client.get("/a")

    asyncio.run(use())


def test_kazoo_client_notifies_watches_once_and_before_later_reads(
    server: Server, root: str
) -> None:
    async def use() -> None:
        seen, others = Notifications(), Notifications()
        client, other = (
            await kazoo_client(server.port, root, seen),
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
            # The watch may fire now, because its event is on its way. It must have fired before the
            # new data are returned.
            pass
        assert seen.all == [SessionState.CONNECTED, WatchedEvent(WatchType.DATA_CHANGED, "/a")]
        await writing
        await client.get("/a", watch=True)
        await other.delete("/a")
        await other.create("/b", b"")
        await seen.until(WatchedEvent(WatchType.CREATED, "/b"))
        assert seen.all[2:] == [
            WatchedEvent(WatchType.DELETED, "/a"),
            WatchedEvent(WatchType.CREATED, "/b"),
        ]
        await client.close()
        await other.close()

    asyncio.run(use())


def test_kazoo_client_has_its_own_session_ended_as_if_it_had_expired(
    server: Server, root: str
) -> None:
    async def use() -> None:
        seen = Notifications()
        client = await kazoo_client(server.port, root, seen)
        before = client.session_id
        await client.create("/e", b"", ephemeral=True)
        assert await client.expire_session() == before
        await seen.until(SessionState.EXPIRED)
        await seen.times(SessionState.CONNECTED, 2)
        assert client.session_id not in (0, before)
        assert await client.exists("/e") is None
        await client.close()

    asyncio.run(use())


def test_kazoo_client_gets_a_new_session_when_its_own_is_gone(server: Server, root: str) -> None:
    async def use() -> None:
        seen = Notifications()
        client = await kazoo_client(server.port, root, seen)
        before = client.session_id
        await client.create("/e", b"", ephemeral=True)
        await client.exists("/e", watch=True)
        thief = Raw(server.port)
        thief.connect(before, await asyncio.to_thread(password_of, client))
        thief.ok(OpCode.CLOSE_SESSION)
        await seen.until(SessionState.EXPIRED)
        await seen.times(SessionState.CONNECTED, 2)
        assert client.session_id not in (0, before)
        assert await client.exists("/e") is None
        states = [news for news in seen.all if isinstance(news, SessionState)]
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
    server = make_server(kind, tmp_path, tick_time_ms=LONG_SESSION_MS // 20)
    server.start()

    async def use() -> None:
        seen = Notifications()
        client = KazooZkClient(f"{hosts(server)}/kafka", LONG_SESSION_MS)
        await client.start(seen, seen, PATIENCE_S * 1000)
        before = client.session_id
        await client.create("/a", b"")
        await client.create("/e", b"", ephemeral=True)
        await asyncio.gather(
            client.get("/a", watch=True),
            client.exists("/b", watch=True),
            client.get_children("/a", watch=True),
        )
        server.kill()
        await seen.until(SessionState.DISCONNECTED)
        with pytest.raises(ZkError) as lost:
            await client.get("/a")
        assert lost.value.code is ZkErrorCode.CONNECTION_LOSS
        server.start()
        await seen.times(SessionState.CONNECTED, 2)
        assert client.session_id == before
        assert await client.exists("/e") is not None
        await client.create("/a/child", b"")
        await client.create("/b", b"")
        await client.set("/a", b"1")
        assert [news for news in seen.all if isinstance(news, WatchedEvent)] == [
            WatchedEvent(WatchType.CHILDREN_CHANGED, "/a"),
            WatchedEvent(WatchType.CREATED, "/b"),
            WatchedEvent(WatchType.DATA_CHANGED, "/a"),
        ]
        await client.close()

    try:
        asyncio.run(use())
    finally:
        server.kill()


class Gate:
    """Stands between a client and a server. While it is shut, every connection ends at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = True
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1")
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._is_open:
            writer.close()
            return
        up_reader, up = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, up}
        for source, sink in ((reader, up), (up_reader, writer)):
            self._tasks.add(asyncio.create_task(self._copy(source, sink)))

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    def shut(self) -> None:
        self._is_open = False
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self.shut()
        self._server.close()
        await asyncio.gather(*self._tasks)


def test_kazoo_client_notifies_what_changed_while_it_was_away(server: Server, root: str) -> None:
    """Each znode that has changed causes one notification, before any later read can show a change.
    A watch whose znode did not change is still set.
    """

    async def use() -> None:
        gate = Gate(server.port)
        await gate.start()
        seen = Notifications()
        client, other = (
            await kazoo_client(gate.port, root, seen),
            await kazoo_client(server.port, root, Notifications()),
        )
        for path in ("/data", "/parent", "/gone", "/both", "/again", "/same"):
            await client.create(path, b"")
        await asyncio.gather(
            client.get("/data", watch=True),
            client.exists("/new", watch=True),
            client.exists("/gone", watch=True),
            client.exists("/again", watch=True),
            client.exists("/none", watch=True),
            client.get_children("/parent", watch=True),
            client.get("/both", watch=True),
            client.get_children("/both", watch=True),
            client.get("/same", watch=True),
            client.get_children("/same", watch=True),
        )
        gate.shut()
        await seen.until(SessionState.DISCONNECTED)
        await other.set("/data", b"1")
        await other.create("/new", b"")
        await other.create("/parent/child", b"")
        for path in ("/gone", "/both", "/again"):
            await other.delete(path)
        await other.create("/again", b"")
        gate.open()
        await seen.times(SessionState.CONNECTED, 2)
        assert (await client.get("/data"))[0] == b"1"
        missed = [
            WatchedEvent(WatchType.DATA_CHANGED, "/data"),
            WatchedEvent(WatchType.DELETED, "/gone"),
            WatchedEvent(WatchType.DELETED, "/both"),
            WatchedEvent(WatchType.DATA_CHANGED, "/again"),
            WatchedEvent(WatchType.CREATED, "/new"),
            WatchedEvent(WatchType.CHILDREN_CHANGED, "/parent"),
        ]
        assert sorted(news for news in seen.all if isinstance(news, WatchedEvent)) == sorted(missed)
        await other.set("/data", b"2")
        await other.create("/gone", b"")
        await other.set("/new", b"2")
        await other.create("/parent/child2", b"")
        await other.set("/same", b"2")
        await other.create("/none", b"")
        await seen.until(WatchedEvent(WatchType.CREATED, "/none"))
        assert seen.all[-2:] == [
            WatchedEvent(WatchType.DATA_CHANGED, "/same"),
            WatchedEvent(WatchType.CREATED, "/none"),
        ]
        assert len([news for news in seen.all if isinstance(news, WatchedEvent)]) == len(missed) + 2
        await client.close()
        await other.close()
        await gate.close()

    asyncio.run(use())


def test_kazoo_client_loses_no_answer_and_no_change_over_many_reconnects(
    server: Server, root: str
) -> None:
    """Bursts of requests are sent while the connection is closed again and again. Every request
    ends. A mirror that reads each znode after its watch fires ends with the same content as
    ZooKeeper.
    """
    paths = [f"/{number}" for number in range(100)]
    random = Random(7)

    async def use() -> None:
        gate = Gate(server.port)
        await gate.start()
        connected = asyncio.Event()
        mirror: dict[str, bytes] = {}
        reading: set[asyncio.Task[None]] = set()

        def on_session(state: SessionState) -> None:
            assert state is not SessionState.EXPIRED
            (connected.set if state is SessionState.CONNECTED else connected.clear)()

        def on_watch(event: WatchedEvent) -> None:
            assert event.type is WatchType.DATA_CHANGED
            task = asyncio.create_task(read(event.path, watch=True))
            reading.add(task)
            task.add_done_callback(reading.discard)

        async def read(path: str, watch: bool) -> None:
            while True:
                await connected.wait()
                try:
                    data, _ = await client.get(path, watch=watch)
                except ZkError as error:
                    if error.code is not ZkErrorCode.CONNECTION_LOSS:
                        raise
                    await asyncio.sleep(0)
                else:
                    if watch:
                        mirror[path] = data
                    return

        client = KazooZkClient(f"127.0.0.1:{gate.port}{root}", SESSION_MS)
        other = await kazoo_client(server.port, root, Notifications())
        await client.start(on_watch, on_session, PATIENCE_S * 1000)
        await asyncio.gather(*(other.create(path, b"0") for path in paths))
        await asyncio.gather(*(read(path, watch=True) for path in paths))
        for number in range(20):
            burst = asyncio.gather(*(read(path, watch=False) for path in paths * 6))
            changed = random.sample(paths, 30)
            await asyncio.gather(*(other.set(path, b"%d" % number) for path in changed))
            gate.shut()
            await asyncio.sleep(0)
            await asyncio.gather(*(other.set(path, b"%d!" % number) for path in changed[:9]))
            gate.open()
            async with asyncio.timeout(PATIENCE_S):
                await burst
        held = [data for data, _ in await asyncio.gather(*map(other.get, paths))]
        async with asyncio.timeout(PATIENCE_S):
            while reading or [mirror[path] for path in paths] != held:
                await read(paths[0], watch=False)
        await client.close()
        await other.close()
        await gate.close()

    asyncio.run(use())


def test_kazoo_client_keeps_the_order_of_writes(server: Server, root: str) -> None:
    """All writes are sent before the first answer is read, and each write succeeds only after the
    previous write.
    """

    async def use() -> None:
        client = await kazoo_client(server.port, root, Notifications())
        writes: list[Awaitable[object]] = [client.create("/a", b"")]
        for version in range(300):
            writes.append(client.set("/a", b"%d" % version, version))
            writes.append(client.multi([CheckOp("/a", version + 1), CreateOp("/a/b", None)]))
            writes.append(client.delete("/a/b"))
        await asyncio.gather(*writes)
        assert (await client.get("/a"))[0] == b"299"
        await client.close()

    asyncio.run(use())


def test_kazoo_client_knows_what_came_before_a_watch(server: Server, root: str) -> None:
    async def use() -> None:
        seen = Notifications()
        client, other = (
            await kazoo_client(server.port, root, seen),
            await kazoo_client(server.port, root, Notifications()),
        )
        _, created = await client.create("/a", b"")
        await client.get("/a", watch=True)
        changed = await other.set("/a", b"1")
        await seen.until(WatchedEvent(WatchType.DATA_CHANGED, "/a"))
        assert created.mzxid <= client.watch_after_zxid < changed.mzxid
        await client.close()
        await other.close()

    asyncio.run(use())


def test_errors_of_kazoo_client_leave_the_memory_without_the_garbage_collector(
    server: Server, root: str
) -> None:
    """Requests that fail are frequent: for each topic that a controller deletes, it requests a
    znode that does not exist.
    """

    async def fail(request: Awaitable[object]) -> "list[weakref.ref[BaseException]]":
        try:
            await request
        except ZkError as error:
            return [weakref.ref(e) for e in (error, error.__context__) if e is not None]
        raise AssertionError("the request should fail")

    async def use() -> None:
        client = await kazoo_client(server.port, root, Notifications())
        await client.create("/a", b"")
        gc.collect()
        gc.disable()
        errors = [
            *await fail(client.get("/none")),
            *await fail(client.delete("/none")),
            *await fail(client.create("/a", b"")),
            *await fail(client.multi([DeleteOp("/none")])),
        ]
        assert len(errors) >= 4
        # the turn of the loop that woke this task still holds the last answer
        await client.get("/a")
        assert [error() for error in errors] == [None] * len(errors)
        await client.close()

    try:
        asyncio.run(use())
    finally:
        gc.enable()


def test_kazoo_client_without_a_server_is_a_connection_loss() -> None:
    async def use() -> None:
        with pytest.raises(ZkError) as lost:
            await KazooZkClient("127.0.0.1:1", SESSION_MS).start(
                Notifications(), Notifications(), 200
            )
        assert lost.value.code is ZkErrorCode.CONNECTION_LOSS

    asyncio.run(use())
