"""The embedded server's shell (connections, group commit, disk) in virtual time, with wires and a
disk in memory.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.transport import Wire
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.zk.embedded.file_txn_snap_log import DataDirError, FileTxnSnapLog
from kafka_edu.zk.embedded.nio_server_cnxn import MAX_UNSENT_BYTES
from kafka_edu.zk.embedded.server_cnxn_factory import ServerCnxnFactory
from kafka_edu.zk.jute.codec import (
    Decoder,
    encode_bool,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
)
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE
from kafka_edu.zk.jute.serialization import encode_acl
from kafka_edu.zk.zk_client import ZkErrorCode

T = TypeVar("T")
PORT = 2181
ASK_FOR_SESSION = (
    encode_int(0)
    + encode_long(0)
    + encode_int(10_000)
    + encode_long(0)
    + encode_buffer(bytes(16))
    + encode_bool(False)
)


async def inline(call: Callable[[], T], /) -> T:
    return call()


class World:
    """A loop, a network and a disk. Servers come and go on it."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.network = MemoryNetwork(self.loop, random.Random(7))
        self.disk = MemoryFileSystem()
        self.failures: list[OSError] = []

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(work)

    def server(
        self, *, run_blocking: RunBlocking = inline, snap_count: int = 50_000
    ) -> ServerCnxnFactory:
        async def start() -> ServerCnxnFactory:
            factory = ServerCnxnFactory(
                time=self.time,
                transport=self.network.transport(),
                log=FileTxnSnapLog(self.disk, "/zk"),
                data_dir="/zk",
                run_blocking=run_blocking,
                on_failure=self.failures.append,
                tick_time_ms=500,
                snap_count=snap_count,
            )
            await factory.start("127.0.0.1", PORT)
            return factory

        factory = self.run(start())
        self.loop.advance(1)
        return factory

    def client(self, connect: bool = True) -> "Client":
        client = Client()
        client.wire = self.run(self.network.connect("127.0.0.1", PORT, client.on_wire, 1000))
        if connect:
            client.frames(ASK_FOR_SESSION)
            self.loop.advance(5)
            assert len(client.take()) == 1
        return client

    def files(self) -> list[str]:
        return self.disk.list("/zk")


class Client:
    """Receives frames, and sends what a test gives it."""

    wire: Wire

    def __init__(self) -> None:
        self.closed = ""
        self._data = b""

    def on_wire(self, wire: Wire) -> "Client":
        self.wire = wire
        return self

    def data_received(self, data: memoryview) -> None:
        self._data += data

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.closed = reason

    def frames(self, *bodies: bytes) -> None:
        self.wire.send([encode_int(len(body)) + body for body in bodies])

    def take(self) -> list[bytes]:
        frames = []
        while len(self._data) >= 4 and len(self._data) >= 4 + (
            size := int.from_bytes(self._data[:4], "big")
        ):
            frames.append(self._data[4 : 4 + size])
            self._data = self._data[4 + size :]
        return frames

    def answers(self) -> list[tuple[int, ZkErrorCode]]:
        found = []
        for frame in self.take():
            d = Decoder(frame)
            xid, _, code = d.read_int(), d.read_long(), d.read_int()
            found.append((xid, ZkErrorCode(code)))
        return found


def create(xid: int, path: str, data: bytes = b"") -> bytes:
    return (
        encode_int(xid)
        + encode_int(OpCode.CREATE)
        + encode_string(path)
        + encode_buffer(data)
        + encode_acl(OPEN_ACL_UNSAFE)
        + encode_int(0)
    )


def exists(xid: int, path: str) -> bytes:
    return encode_int(xid) + encode_int(OpCode.EXISTS) + encode_string(path) + encode_bool(False)


PING = encode_int(-2) + encode_int(OpCode.PING)


@pytest.fixture
def world() -> World:
    return World()


def test_many_writes_share_one_fsync(world: World) -> None:
    world.server()
    client = world.client()
    before = world.disk.flushes
    client.frames(*(create(xid, f"/{xid}") for xid in range(1, 201)))
    world.loop.advance(10)
    assert client.answers() == [(xid, ZkErrorCode.OK) for xid in range(1, 201)]
    assert world.disk.flushes - before <= 4


def gate_before_the_disk(world: World) -> asyncio.Event:
    """Start a server whose writes wait until an event is set. Return this event, which is set
    now.
    """
    gate = asyncio.Event()
    gate.set()

    async def slow_disk(call: Callable[[], T], /) -> T:
        await gate.wait()
        return call()

    world.server(run_blocking=slow_disk)
    return gate


def test_nothing_is_said_before_it_is_safe_but_pings_are_answered(world: World) -> None:
    gate = gate_before_the_disk(world)
    client = world.client()
    gate.clear()
    client.frames(create(1, "/a"), exists(2, "/a"), exists(3, "/none"), PING)
    world.loop.advance(50)
    assert client.answers() == [(-2, ZkErrorCode.OK)]
    gate.set()
    world.loop.advance(50)
    assert client.answers() == [(1, ZkErrorCode.OK), (2, ZkErrorCode.OK), (3, ZkErrorCode.NO_NODE)]


def test_a_ping_overtakes_writes_that_wait_for_the_disk_but_not_its_own_session(
    world: World,
) -> None:
    """A ping of a known session counts as a sign of life at once.

    A ping of a new session must wait, because its client does not know yet that the session exists.
    """
    gate = gate_before_the_disk(world)
    known = world.client()
    gate.clear()
    early = world.client(connect=False)
    early.frames(ASK_FOR_SESSION, create(1, "/early"), PING)
    known.frames(create(1, "/a"), PING)
    world.loop.advance(50)
    assert known.answers() == [(-2, ZkErrorCode.OK)]
    assert early.take() == []
    gate.set()
    world.loop.advance(50)
    assert known.answers() == [(1, ZkErrorCode.OK)]
    session, created, ping = early.take()
    assert len(session) == 37
    assert [Decoder(frame).read_int() for frame in (created, ping)] == [1, -2]


def test_a_connection_that_asks_for_no_session_is_closed(world: World) -> None:
    world.server()
    silent, unfinished = world.client(connect=False), world.client(connect=False)
    unfinished.wire.send([encode_int(44) + b"never finished"])
    world.loop.advance(9_000)
    assert (silent.closed, unfinished.closed) == ("", "")
    world.loop.advance(2_000)
    assert silent.closed
    assert unfinished.closed


def test_a_session_that_is_heard_of_stays_and_a_silent_one_goes(world: World) -> None:
    server = world.server()
    silent, alive = world.client(), world.client()
    for _ in range(6):
        alive.frames(PING)
        world.loop.advance(2_000)
    assert silent.closed
    assert alive.closed == ""
    assert len(server.server.sessions.sessions) == 1


def test_a_restart_brings_back_tree_and_sessions(world: World) -> None:
    first = world.server()
    client = world.client()
    client.frames(*(create(xid, f"/n{xid}", b"x" * xid) for xid in range(1, 50)))
    world.loop.advance(10)
    rows, sessions = list(first.server.tree.rows()), list(first.server.sessions.sessions)
    world.run(first.stop())
    world.loop.advance(10)
    assert client.closed
    again = world.server()
    assert list(again.server.tree.rows()) == rows
    assert list(again.server.sessions.sessions) == sessions
    assert [name for name in world.files() if name.startswith("snapshot.")] == [
        "snapshot.0000000000000032"
    ]


def test_power_loss_keeps_what_was_answered(world: World) -> None:
    first = world.server()
    client = world.client()
    client.frames(*(create(xid, f"/{xid}") for xid in range(1, 101)))
    while len(client._data) < 20:
        world.loop.step()
    answered = client.answers()
    world.network._listeners.clear()
    world.disk.lose_power(random.Random(3))
    again = world.server()
    assert answered
    assert all(f"/{xid}" in again.server.tree.nodes for xid, _ in answered)
    assert again.server is not first.server


def test_snapshots_purge_the_logs_behind_them(world: World) -> None:
    server = world.server(snap_count=10)
    client = world.client()
    for xid in range(1, 60):
        client.frames(create(xid, f"/{xid}"))
        world.loop.advance(5)
    assert client.answers()[-1] == (59, ZkErrorCode.OK)
    snapshots = [name for name in world.files() if name.startswith("snapshot.")]
    logs = [name for name in world.files() if name.startswith("log.")]
    assert len(snapshots) == 2
    assert len(logs) <= 3
    assert server.server.tree.last_processed_zxid == 60
    world.network._listeners.clear()
    assert world.server().server.tree.last_processed_zxid == 60


def test_a_damaged_snapshot_is_passed_over(world: World) -> None:
    server = world.server(snap_count=10)
    client = world.client()
    for xid in range(1, 35):
        client.frames(create(xid, f"/{xid}"))
        world.loop.advance(5)
    rows = list(server.server.tree.rows())
    world.network._listeners.clear()
    newest = f"/zk/{[name for name in world.files() if name.startswith('snapshot.')][-1]}"
    file = world.disk.open(newest)
    file.pwrite(b"\xff", 40)
    assert list(world.server().server.tree.rows()) == rows


def test_a_torn_tail_is_cut_and_a_damaged_middle_refused(world: World) -> None:
    world.server()
    client = world.client()
    client.frames(create(1, "/a"))
    world.loop.advance(5)
    world.network._listeners.clear()
    log = world.disk.open("/zk/log.0000000000000001")
    whole = log.size()
    log.append([b"\0\0\0\x40torn"])
    assert "/a" in world.server().server.tree.nodes
    assert log.size() == whole
    world.network._listeners.clear()
    log.pwrite(b"\xee", whole - 3)
    later = world.disk.open("/zk/log.0000000000000003")
    later.append([b"KEZKLOG1"])
    with pytest.raises(DataDirError, match="damaged"):
        world.server()


def test_a_full_disk_stops_the_server_before_it_lies(world: World) -> None:
    world.server()
    client = world.client()
    world.disk.capacity = world.disk.used() + 50
    client.frames(create(1, "/a", b"x" * 1000), exists(2, "/a"))
    world.loop.advance(10)
    assert client.answers() == []
    assert len(world.failures) == 1


def test_a_client_that_does_not_read_is_not_read_from(world: World) -> None:
    server = world.server()
    client = world.client()
    client.frames(create(1, "/big", b"x" * 500_000))
    world.loop.advance(10)
    client.take()
    (cnxn,) = server._cnxns.values()
    paused: list[bool] = []

    class Clogged:
        """A wire whose far end accepts nothing."""

        peer = local = "127.0.0.1:1"
        unsent = MAX_UNSENT_BYTES + 1

        def send(self, parts: object) -> None: ...
        def close(self) -> None: ...
        def pause_reading(self) -> None:
            paused.append(True)

        def resume_reading(self) -> None:
            paused.append(False)

    cnxn.wire = Clogged()
    cnxn.send([b"x"])
    assert paused == [True]
    cnxn.all_sent()
    assert paused == [True, False]
