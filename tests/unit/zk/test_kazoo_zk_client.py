"""The brokers' client without a server: what comes in one read may be many answers, or a part of
one. With servers: tests/interop.
"""

import asyncio
import gc
import struct
import weakref
from collections import deque

import pytest
from kazoo.exceptions import ConnectionDropped
from kazoo.protocol.connection import PING_XID, WATCH_XID

from kafka_edu.zk.jute.codec import encode_int, encode_string
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_client import WatchedEvent, WatchType, ZkError, ZkErrorCode

CONNECTED = 3


class Pieces:
    """A socket from which these pieces are read, one a read; then there is nothing."""

    def __init__(self, *pieces: bytes) -> None:
        self.left = deque(pieces)

    def recv(self, _size: int) -> bytes:
        if not self.left:
            raise BlockingIOError
        return self.left.popleft()


class Owner:
    """Whom the connection tells of watches."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def watch_fired(self, event: WatchedEvent, after_zxid: int) -> None:
        assert event.type is WatchType.DATA_CHANGED
        self.told.append(event.path)


def frame(xid: int, body: bytes = b"") -> bytes:
    payload = struct.pack(">iqi", xid, -1, 0) + body
    return encode_int(len(payload)) + payload


def watch(path: str) -> bytes:
    return frame(
        WATCH_XID, encode_int(WatchType.DATA_CHANGED) + encode_int(CONNECTED) + encode_string(path)
    )


def read_all(*pieces: bytes) -> tuple[list[str], bool]:
    """Paths of the watches that were told, and whether a heartbeat still waits for its answer."""
    connection = KazooZkClient("127.0.0.1:1", 500)._connection
    connection._owner = owner = Owner()
    connection._socket = socket = Pieces(*pieces)
    connection.ping_outstanding.set()
    while socket.left:
        assert connection._read_socket(1) is None
    assert connection._read_socket(1) is None, "nothing has come"
    return owner.told, connection.ping_outstanding.is_set()


EVERYTHING = watch("/a") + frame(PING_XID) + watch("/b") + watch("/" + "c" * 300)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 16, 50, 100, len(EVERYTHING)])
def test_answers_are_found_wherever_the_reads_cut_them(size: int) -> None:
    pieces = [EVERYTHING[start : start + size] for start in range(0, len(EVERYTHING), size)]
    assert read_all(*pieces) == (["/a", "/b", "/" + "c" * 300], False)


def test_half_an_answer_is_none() -> None:
    assert read_all(watch("/a") + watch("/b")[:-1]) == (["/a"], True)


def test_an_end_is_a_lost_connection() -> None:
    with pytest.raises(ConnectionDropped):
        read_all(watch("/a"), b"")


def test_an_error_leaves_the_memory_without_the_garbage_collector() -> None:
    """A controller asks for a znode that is not there for each topic that it deletes."""

    async def use() -> None:
        client = KazooZkClient("127.0.0.1:1", 500)
        client._connected, client._loop = True, asyncio.get_running_loop()
        client._connection.wake = lambda: None
        asking = asyncio.create_task(client.get("/none"))
        await asyncio.sleep(0)
        client._kazoo._queue.pop()[1].future.set_exception(ZkError(ZkErrorCode.NO_NODE, ""))
        errors = []
        try:
            await asking
        except ZkError as error:
            errors = [weakref.ref(e) for e in (error, error.__context__) if e is not None]
        assert len(errors) == 2, "the one that names the path, and the answer's, which does not"
        del asking
        await asyncio.sleep(
            0
        )  # the turn of the loop that woke this task holds the answer until it ends
        assert [error() for error in errors] == [None, None]

    gc.collect()
    gc.disable()
    try:
        asyncio.run(use())
    finally:
        gc.enable()
