"""The brokers' client without a ZooKeeper server. With servers: tests/interop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from kafka_edu.zk.kazoo_zk_client import KazooZkClient, split_connect_string
from kafka_edu.zk.zk_client import SessionState, ZkError, ZkErrorCode
from tests.waiting import PATIENCE_S

SESSION_MS = 10_000


class Refusing(NamedTuple):
    """A server that ends every connection at once."""

    number: int
    server: asyncio.Server

    @property
    def address(self) -> str:
        host, port = self.server.sockets[0].getsockname()
        return f"{host}:{port}"


async def refusing(number: int, on_connection: Callable[[int], None]) -> Refusing:
    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        on_connection(number)

    return Refusing(number, await asyncio.start_server(accept, "127.0.0.1"))


def test_servers_are_tried_in_turn_so_the_one_lost_last_comes_last() -> None:
    async def use() -> list[int]:
        tried: list[int] = []
        enough = asyncio.Event()

        def on_connection(number: int) -> None:
            tried.append(number)
            if len(tried) == 9:
                enough.set()

        servers = [await refusing(number, on_connection) for number in range(3)]
        client = KazooZkClient(",".join(server.address for server in servers), SESSION_MS)
        starting = asyncio.create_task(client.start(lambda _: None, lambda _: None, 1e6))
        async with asyncio.timeout(PATIENCE_S):
            await enough.wait()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        for server in servers:
            server.server.close()
        return tried[:9]

    tried = asyncio.run(use())
    assert sorted(tried[:3]) == [0, 1, 2]
    assert tried[:3] == tried[3:6] == tried[6:]


def test_the_first_server_comes_by_chance() -> None:
    connect = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"
    orders = {tuple(KazooZkClient(connect, SESSION_MS)._kazoo.hosts) for _ in range(100)}
    assert {hosts[0][1] for hosts in orders} == {1, 2, 3}


def test_the_connect_string_may_end_with_a_chroot() -> None:
    assert split_connect_string("a:1,b:2/kafka/one/") == ("a:1,b:2", "/kafka/one")
    assert split_connect_string("a:1/") == ("a:1", "")


def test_a_connect_string_without_a_host_is_refused() -> None:
    with pytest.raises(ValueError, match=r"zookeeper\.connect=:2181"):
        KazooZkClient(":2181", SESSION_MS)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (SessionState.DISCONNECTED, ZkErrorCode.CONNECTION_LOSS),
        (SessionState.EXPIRED, ZkErrorCode.SESSION_EXPIRED),
        (SessionState.CLOSED, ZkErrorCode.SESSION_EXPIRED),
    ],
)
def test_a_request_that_kazoo_lost_ends_with_the_connection(
    state: SessionState, code: ZkErrorCode
) -> None:
    """A request may get no answer from kazoo: the connection is lost already, and the loop, which
    does not know it yet, sends the request.
    """

    async def use() -> None:
        client = KazooZkClient("127.0.0.1:1", SESSION_MS)
        client._connected, client._loop = True, asyncio.get_running_loop()
        client._kazoo.get_async = lambda *_, **__: client._kazoo.handler.async_result()
        request: Awaitable[object] = asyncio.create_task(client.get("/a"))
        await asyncio.sleep(0)
        client._session_changed(state, 0)
        with pytest.raises(ZkError) as lost:
            await request
        assert (lost.value.code, lost.value.path) == (code, "/a")

    asyncio.run(use())


def test_a_session_cannot_be_ended_while_there_is_no_connection() -> None:
    async def use() -> None:
        client = KazooZkClient("127.0.0.1:1", SESSION_MS)
        for _ in range(2):
            with pytest.raises(ConnectionError, match="it is not connected to ZooKeeper"):
                await client.expire_session()
        await client.close()

    asyncio.run(use())
