"""One suite for two servers: the embedded ZooKeeper and Apache's must answer alike, byte by byte where it matters.

Raw frames are used, so that nothing of a client hides what a server says. Needs Java and Apache ZooKeeper's jars (PySpark's, or those in the folder
KAFKA_EDU_ZOOKEEPER_JARS) for the second; without them it is skipped, and says why.
"""

import asyncio
import base64
import hashlib
import itertools
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from kazoo.exceptions import ConnectionDropped

from kafka_edu.zk.apache import ApacheZooKeeper, ApacheZooKeeperError, find_jars, find_java, four_letter_word
from kafka_edu.zk.embedded.jute import Decoder, encode_bool, encode_buffer, encode_int, encode_long, encode_string, encode_vector
from kafka_edu.zk.embedded.op_code import OpCode
from kafka_edu.zk.embedded.proto import OPEN_ACL_UNSAFE, Acl, AclList
from kafka_edu.zk.embedded.serialization import decode_acl, encode_acl
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
from tests.interop.frames import read_frame

TICK_MS = 500
SESSION_MS = 10_000
PATIENCE_S = 30.0


class Server(Protocol):
    """What both servers can."""

    port: int

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class EmbeddedServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "kafka_edu.zk.embedded.main", "--port", str(self.port), "--data-dir", str(self._folder)]
        self._process = subprocess.Popen([*command, "--tick-time", str(TICK_MS)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        ready, port = self._process.stdout.readline().split()
        assert ready == "ready"
        self.port = int(port)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)


def make_server(kind: str, folder: Path) -> Server:
    if kind == "embedded":
        return EmbeddedServer(folder)
    try:
        find_java()
        find_jars()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
    return ApacheZooKeeper(folder, tick_time_ms=TICK_MS, words=("*",))


@pytest.fixture(scope="module", params=["embedded", "apache"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = make_server(request.param, tmp_path_factory.mktemp(request.param))
    server.start()
    yield server
    server.stop()


_numbers = itertools.count()


@pytest.fixture
def root() -> str:
    """A path that no other test uses."""
    return f"/test-{next(_numbers)}"


class Raw:
    """A client that knows frames and nothing else."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.session_id = 0
        self.passwd = bytes(16)
        self.timeout_ms = 0
        self.zxid = 0
        self.events: list[tuple[WatchType, str]] = []
        self._xid = 0

    def close(self) -> None:
        self.socket.close()

    def frame(self, body: bytes) -> None:
        self.socket.sendall(encode_int(len(body)) + body)

    def read(self) -> bytes:
        return read_frame(self.socket)

    def closed_by_server(self) -> bool:
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True

    def connect(
        self, session_id: int = 0, passwd: bytes = bytes(16), *, timeout_ms: int = SESSION_MS, read_only: bool | None = False, seen: int = 0
    ) -> bytes:
        body = encode_int(0) + encode_long(seen) + encode_int(timeout_ms) + encode_long(session_id) + encode_buffer(passwd)
        self.frame(body + (b"" if read_only is None else encode_bool(read_only)))
        answer = self.read()
        d = Decoder(answer)
        assert d.read_int() == 0
        self.timeout_ms, self.session_id, self.passwd = d.read_int(), d.read_long(), d.read_buffer() or b""
        return answer

    def send(self, op: int, body: bytes = b"", xid: int | None = None) -> int:
        if xid is None:
            self._xid += 1
            xid = self._xid
        self.frame(encode_int(xid) + encode_int(op) + body)
        return xid

    def receive(self, xid: int) -> tuple[ZkErrorCode, Decoder]:
        """The answer to `xid`; watch events before it go to `events`."""
        while True:
            d = Decoder(self.read())
            got, zxid, code = d.read_int(), d.read_long(), ZkErrorCode(d.read_int())
            if got == -1:
                assert code == 0
                assert zxid == -1 or zxid > 0  # since 3.9, which change it was
                event, state, path = WatchType(d.read_int()), d.read_int(), d.read_string()
                assert state == 3
                self.events.append((event, path))
                continue
            assert got == xid
            if xid > 0:
                assert zxid >= self.zxid
                self.zxid = zxid
            return code, d

    def ask(self, op: int, body: bytes = b"", xid: int | None = None) -> tuple[ZkErrorCode, Decoder]:
        return self.receive(self.send(op, body, xid))

    def code(self, op: int, body: bytes = b"") -> ZkErrorCode:
        return self.ask(op, body)[0]

    def ok(self, op: int, body: bytes = b"") -> Decoder:
        code, d = self.ask(op, body)
        assert code is ZkErrorCode.OK
        return d

    def next_event(self) -> tuple[WatchType, str]:
        while not self.events:
            d = Decoder(self.read())
            assert d.read_int() == -1
            d.read_long()
            d.read_int()
            event, _, path = WatchType(d.read_int()), d.read_int(), d.read_string()
            self.events.append((event, path))
        return self.events.pop(0)

    def create(self, path: str, data: bytes | None = b"", flags: int = 0, acl: AclList = OPEN_ACL_UNSAFE) -> str:
        return self.ok(OpCode.CREATE, create(path, data, flags, acl)).read_string()

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        return self.ok(OpCode.SET_DATA, encode_string(path) + encode_buffer(data) + encode_int(version)).read_stat()

    def delete(self, path: str, version: int = -1) -> None:
        self.ok(OpCode.DELETE, delete(path, version))

    def get(self, path: str, watch: bool = False) -> tuple[bytes | None, Stat]:
        d = self.ok(OpCode.GET_DATA, read(path, watch))
        return d.read_buffer(), d.read_stat()

    def stat(self, path: str) -> Stat:
        return self.ok(OpCode.EXISTS, read(path)).read_stat()

    def children(self, path: str, watch: bool = False) -> list[str]:
        d = self.ok(OpCode.GET_CHILDREN, read(path, watch))
        return sorted(d.read_vector(d.read_string))


def create(path: str, data: bytes | None = b"", flags: int = 0, acl: AclList = OPEN_ACL_UNSAFE) -> bytes:
    return encode_string(path) + encode_buffer(data) + encode_acl(acl) + encode_int(flags)


def delete(path: str, version: int = -1) -> bytes:
    return encode_string(path) + encode_int(version)


def read(path: str, watch: bool = False) -> bytes:
    return encode_string(path) + encode_bool(watch)


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[..., Raw]]:
    """Makes connected clients; ends their sessions after the test."""
    opened: list[Raw] = []

    def make(session_id: int = 0, passwd: bytes = bytes(16), timeout_ms: int = SESSION_MS) -> Raw:
        client = Raw(server.port)
        opened.append(client)
        client.connect(session_id, passwd, timeout_ms=timeout_ms)
        return client

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def zk(connect: Callable[..., Raw], root: str) -> Raw:
    client = connect()
    client.create(root)
    return client


def test_create_modes_and_stat(zk: Raw, root: str) -> None:
    assert zk.create(f"{root}/p", b"xyz") == f"{root}/p"
    d = zk.ok(OpCode.CREATE2, create(f"{root}/e", None, 1))
    assert d.read_string() == f"{root}/e"
    stat = d.read_stat()
    assert stat.czxid == stat.mzxid == stat.pzxid == zk.zxid
    assert stat.ephemeral_owner == zk.session_id
    assert stat[4:7] == (0, 0, 0)
    assert (stat.data_length, stat.num_children) == (0, 0)
    assert zk.get(f"{root}/e")[0] in (None, b"")
    assert zk.create(f"{root}/s-", flags=2) == f"{root}/s-0000000002"
    assert zk.create(f"{root}/es-", flags=3) == f"{root}/es-0000000003"
    parent = zk.stat(root)
    assert (parent.cversion, parent.num_children, parent.pzxid, parent.version) == (4, 4, zk.stat(f"{root}/es-0000000003").czxid, 0)


def test_sequence_numbers_after_deletes(zk: Raw, root: str) -> None:
    for expected in range(3):
        assert zk.create(f"{root}/n-", flags=2) == f"{root}/n-{expected:010d}"
        zk.delete(f"{root}/n-{expected:010d}")
    assert zk.create(f"{root}/", flags=2) == f"{root}/0000000003"
    parent = zk.stat(root)
    assert (parent.cversion, parent.num_children) == (7, 1)


def test_versions_and_times(zk: Raw, root: str) -> None:
    zk.create(f"{root}/a")
    before = zk.stat(f"{root}/a")
    after = zk.set(f"{root}/a", b"12", 0)
    assert (after.version, after.data_length, after.czxid, after.ctime) == (1, 2, before.czxid, before.ctime)
    assert after.mzxid == zk.zxid > before.mzxid
    assert after.mtime >= before.mtime
    assert after.pzxid == before.pzxid
    assert zk.code(OpCode.SET_DATA, encode_string(f"{root}/a") + encode_buffer(b"") + encode_int(0)) is ZkErrorCode.BAD_VERSION
    assert zk.code(OpCode.DELETE, delete(f"{root}/a", 0)) is ZkErrorCode.BAD_VERSION
    zk.delete(f"{root}/a", 1)
    assert zk.code(OpCode.EXISTS, read(f"{root}/a")) is ZkErrorCode.NO_NODE


NOBODY: AclList = (Acl(31, "nobody", "x"),)

REFUSED: list[tuple[int, Callable[[str], bytes], ZkErrorCode]] = [
    (OpCode.CREATE, lambda r: create(r), ZkErrorCode.NODE_EXISTS),
    (OpCode.CREATE, lambda r: create("/"), ZkErrorCode.NODE_EXISTS),
    (OpCode.CREATE, lambda r: create(f"{r}/no/x"), ZkErrorCode.NO_NODE),
    (OpCode.CREATE, lambda r: create(f"{r}/e/x"), ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS),
    (OpCode.CREATE, lambda r: create("relative"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(""), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/.."), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/."), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/a\x02b"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/a\x00b"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/x", flags=99), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.CREATE, lambda r: create(f"{r}/x", acl=()), ZkErrorCode.INVALID_ACL),
    (OpCode.CREATE, lambda r: create(f"{r}/x", acl=NOBODY), ZkErrorCode.INVALID_ACL),
    (OpCode.CREATE, lambda r: create(f"{r}/x", acl=(Acl(31, "auth", ""),)), ZkErrorCode.INVALID_ACL),
    (OpCode.CREATE, lambda r: create(f"{r}/x", acl=(Acl(31, "digest", "noColon"),)), ZkErrorCode.INVALID_ACL),
    (OpCode.CREATE, lambda r: create(f"{r}/x", acl=(Acl(31, "ip", "1.2.3.4/77"),)), ZkErrorCode.INVALID_ACL),
    (OpCode.CREATE_TTL, lambda r: create(f"{r}/x", flags=5) + encode_long(1000), ZkErrorCode.UNIMPLEMENTED),
    (OpCode.DELETE, lambda r: delete(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.DELETE, lambda r: delete(r), ZkErrorCode.NOT_EMPTY),
    (OpCode.DELETE, lambda r: delete(r, 9), ZkErrorCode.BAD_VERSION),
    (OpCode.DELETE, lambda r: delete("/"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.DELETE, lambda r: delete("/zookeeper/quota"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.SET_DATA, lambda r: encode_string(f"{r}/no") + encode_buffer(b"") + encode_int(-1), ZkErrorCode.NO_NODE),
    (OpCode.SET_DATA, lambda r: encode_string("relative") + encode_buffer(b"") + encode_int(-1), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.GET_DATA, lambda r: read(f"{r}/no", True), ZkErrorCode.NO_NODE),
    (OpCode.EXISTS, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_CHILDREN, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_CHILDREN2, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_ACL, lambda r: encode_string(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.SET_ACL, lambda r: encode_string(f"{r}/no") + encode_acl(OPEN_ACL_UNSAFE) + encode_int(-1), ZkErrorCode.NO_NODE),
    (OpCode.SET_ACL, lambda r: encode_string(r) + encode_acl(OPEN_ACL_UNSAFE) + encode_int(7), ZkErrorCode.BAD_VERSION),
    (OpCode.SET_ACL, lambda r: encode_string(r) + encode_acl(NOBODY) + encode_int(-1), ZkErrorCode.INVALID_ACL),
    (OpCode.REMOVE_WATCHES, lambda r: encode_string(r) + encode_int(3), ZkErrorCode.NO_WATCHER),
    (OpCode.CHECK_WATCHES, lambda r: encode_string(r) + encode_int(1), ZkErrorCode.NO_WATCHER),
    (OpCode.REMOVE_WATCHES, lambda r: encode_string(r) + encode_int(77), ZkErrorCode.MARSHALLING_ERROR),
    (OpCode.CREATE, lambda r: encode_int(1000) + b"cut short", ZkErrorCode.MARSHALLING_ERROR),
    (OpCode.GET_DATA, lambda r: encode_int(-7), ZkErrorCode.MARSHALLING_ERROR),
    (OpCode.GET_DATA, lambda r: b"", ZkErrorCode.MARSHALLING_ERROR),
]


@pytest.mark.parametrize(("op", "body", "code"), REFUSED)
def test_every_refusal_has_its_code_and_leaves_the_connection(zk: Raw, root: str, op: int, body: Callable[[str], bytes], code: ZkErrorCode) -> None:
    zk.create(f"{root}/e", flags=1)
    assert zk.code(op, body(root)) is code
    assert zk.children(root) == ["e"]


def test_watches_fire_once_in_order_and_before_the_answer(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    other = connect()
    for name in ("a", "b"):
        zk.create(f"{root}/{name}")
        zk.get(f"{root}/{name}", watch=True)
    assert zk.code(OpCode.EXISTS, read(f"{root}/c", True)) is ZkErrorCode.NO_NODE
    zk.children(root, watch=True)
    zk.set(f"{root}/a", b"by itself")
    assert zk.events == [(WatchType.DATA_CHANGED, f"{root}/a")]
    zk.events.clear()
    other.set(f"{root}/b", b"1")
    other.set(f"{root}/b", b"2")
    other.create(f"{root}/c")
    other.create(f"{root}/d")
    assert zk.get(f"{root}/b")[0] == b"2"
    assert zk.events == [
        (WatchType.DATA_CHANGED, f"{root}/b"),
        (WatchType.CREATED, f"{root}/c"),
        (WatchType.CHILDREN_CHANGED, root),
    ]


def test_a_deletion_is_told_once_to_data_and_child_watches(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    other = connect()
    zk.create(f"{root}/a")
    zk.get(f"{root}/a", watch=True)
    zk.children(f"{root}/a", watch=True)
    zk.children(root, watch=True)
    other.delete(f"{root}/a")
    zk.stat(root)
    assert zk.events == [(WatchType.DELETED, f"{root}/a"), (WatchType.CHILDREN_CHANGED, root)]


def test_a_multi_fires_its_watches_and_a_failed_one_none(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    other = connect()
    zk.children(root, watch=True)
    zk.get(root, watch=True)
    assert multi(other, (OpCode.CREATE, create(f"{root}/x")), (OpCode.DELETE, delete(f"{root}/none")))[1:] == [ZkErrorCode.NO_NODE]
    zk.stat(root)
    assert zk.events == []
    multi(other, (OpCode.CREATE, create(f"{root}/x")), (OpCode.SET_DATA, encode_string(root) + encode_buffer(b"") + encode_int(0)))
    zk.stat(root)
    assert zk.events == [(WatchType.CHILDREN_CHANGED, root), (WatchType.DATA_CHANGED, root)]


def multi(client: Raw, *ops: tuple[int, bytes]) -> list[object]:
    """The results: a path, a Stat, the op code of one without a body, or an error code."""
    body = b"".join(encode_int(op) + encode_bool(False) + encode_int(-1) + fields for op, fields in ops)
    d = client.ok(OpCode.MULTI, body + encode_int(-1) + encode_bool(True) + encode_int(-1))
    results: list[object] = []
    while True:
        op, done, error = d.read_int(), d.read_bool(), d.read_int()
        if done:
            assert (op, error) == (-1, -1)
            return results
        match op:
            case OpCode.ERROR:
                results.append(ZkErrorCode(d.read_int()))
                assert error == results[-1]
            case OpCode.CREATE:
                results.append(d.read_string())
            case OpCode.CREATE2:  # since 3.7; before, it was taken for a Create
                results.append(d.read_string())
                d.read_stat()
            case OpCode.SET_DATA:
                results.append(d.read_stat())
            case _:
                results.append(op)


def test_multi(zk: Raw, root: str) -> None:
    results = multi(
        zk,
        (OpCode.CREATE, create(f"{root}/m")),
        (OpCode.CREATE, create(f"{root}/m/s-", flags=2)),
        (OpCode.SET_DATA, encode_string(f"{root}/m") + encode_buffer(b"v") + encode_int(0)),
        (OpCode.CHECK, delete(f"{root}/m", 1)),
        (OpCode.DELETE, delete(f"{root}/m/s-0000000000", 0)),
        (OpCode.CREATE2, create(f"{root}/m/s-", flags=2)),
    )
    path, stat = zk.stat(f"{root}/m"), zk.stat(f"{root}/m/s-0000000001")
    assert results[:2] == [f"{root}/m", f"{root}/m/s-0000000000"]
    assert isinstance(results[2], Stat)
    assert results[3:5] == [OpCode.CHECK, OpCode.DELETE]
    assert results[5] == f"{root}/m/s-0000000001"
    assert path.czxid == path.mzxid == path.pzxid == stat.czxid == zk.zxid


def test_multi_rolls_back(zk: Raw, root: str) -> None:
    zk.create(f"{root}/a")
    before = zk.stat(root)
    results = multi(
        zk,
        (OpCode.CREATE, create(f"{root}/b")),
        (OpCode.DELETE, delete(f"{root}/a")),
        (OpCode.CHECK, delete(root, 5)),
        (OpCode.CREATE, create(f"{root}/c")),
    )
    assert results == [ZkErrorCode.OK, ZkErrorCode.OK, ZkErrorCode.BAD_VERSION, ZkErrorCode.RUNTIME_INCONSISTENCY]
    assert zk.stat(root) == before
    assert zk.children(root) == ["a"]
    assert multi(zk) == []


def test_sessions_are_negotiated(server: Server) -> None:
    for asked, given in ((1, 2 * TICK_MS), (3000, 3000), (1_000_000, 20 * TICK_MS)):
        client = Raw(server.port)
        client.connect(timeout_ms=asked)
        assert client.timeout_ms == given
        assert len(client.passwd) == 16
        client.close()


def test_only_clients_that_know_the_read_only_flag_are_told_it(server: Server) -> None:
    for flag, length in ((None, 36), (False, 37), (True, 37)):
        client = Raw(server.port)
        answer = client.connect(read_only=flag)
        assert len(answer) == length
        assert answer[36:] == (b"" if flag is None else b"\0")
        client.close()


def test_a_session_moves_to_another_connection(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    zk.create(f"{root}/e", flags=1)
    zk.get(f"{root}/e", watch=True)
    moved = connect(zk.session_id, zk.passwd)
    assert moved.session_id == zk.session_id
    assert zk.closed_by_server()
    assert moved.stat(f"{root}/e").ephemeral_owner == zk.session_id
    moved.set(f"{root}/e", b"1")
    assert moved.events == []


@pytest.mark.parametrize("wrong", ["password", "session"])
def test_a_wrong_password_or_session_gets_none(server: Server, zk: Raw, root: str, wrong: str) -> None:
    client = Raw(server.port)
    client.connect(zk.session_id + (12345 if wrong == "session" else 0), zk.passwd if wrong == "session" else b"x" * 16)
    assert (client.timeout_ms, client.session_id, client.passwd) == (0, 0, bytes(16))
    assert client.closed_by_server()
    if wrong == "session":  # Apache's takes a wrong password as reason enough to close the connection of the right one
        assert zk.children(root) == []


def test_a_client_from_the_future_is_sent_away(server: Server) -> None:
    client = Raw(server.port)
    with pytest.raises((EOFError, ConnectionResetError)):
        client.connect(seen=1 << 50)


def test_a_silent_session_expires(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    silent = connect(timeout_ms=2 * TICK_MS)
    silent.create(f"{root}/e", flags=1)
    zk.code(OpCode.EXISTS, read(f"{root}/e", True))
    assert zk.next_event() == (WatchType.DELETED, f"{root}/e")
    assert silent.closed_by_server()
    again = connect(silent.session_id, silent.passwd)
    assert again.timeout_ms == 0


def test_a_closed_session_takes_its_ephemerals_along(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    other = connect()
    for name in ("a", "b"):
        other.create(f"{root}/{name}", flags=1)
        zk.get(f"{root}/{name}", watch=True)
    other.create(f"{root}/stays")
    zk.children(root, watch=True)
    other.ok(OpCode.CLOSE_SESSION)
    assert other.closed_by_server()
    events = [zk.next_event() for _ in range(3)]
    assert sorted(events) == sorted([(WatchType.DELETED, f"{root}/a"), (WatchType.DELETED, f"{root}/b"), (WatchType.CHILDREN_CHANGED, root)])
    assert zk.children(root) == ["stays"]
    assert connect(other.session_id, other.passwd).timeout_ms == 0


def test_set_watches_after_a_reconnect(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    for name in ("same", "set", "gone", "parent", "quiet"):
        zk.create(f"{root}/{name}")
    seen = zk.zxid
    zk.set(f"{root}/set", b"1")
    zk.delete(f"{root}/gone")
    zk.create(f"{root}/parent/child")
    zk.create(f"{root}/came")
    back = connect(zk.session_id, zk.passwd)
    lists = (("same", "set", "gone"), ("came", "never"), ("parent", "quiet"))
    body = encode_long(seen) + b"".join(encode_vector(encode_string(f"{root}/{name}") for name in names) for names in lists)
    assert back.ask(OpCode.SET_WATCHES, body, xid=-8)[0] is ZkErrorCode.OK
    assert back.events == [
        (WatchType.DATA_CHANGED, f"{root}/set"),
        (WatchType.DELETED, f"{root}/gone"),
        (WatchType.CREATED, f"{root}/came"),
        (WatchType.CHILDREN_CHANGED, f"{root}/parent"),
    ]
    back.events.clear()
    back.create(f"{root}/never")
    back.create(f"{root}/quiet/child")
    back.set(f"{root}/same", b"")
    assert back.events == [
        (WatchType.CREATED, f"{root}/never"),
        (WatchType.CHILDREN_CHANGED, f"{root}/quiet"),
        (WatchType.DATA_CHANGED, f"{root}/same"),
    ]


def test_watches_can_be_checked_and_removed(zk: Raw, root: str) -> None:
    zk.get(root, watch=True)
    zk.children(root, watch=True)
    children, data, both = (encode_string(root) + encode_int(kind) for kind in (1, 2, 3))
    assert zk.code(OpCode.CHECK_WATCHES, both) is ZkErrorCode.OK
    assert zk.code(OpCode.REMOVE_WATCHES, data) is ZkErrorCode.OK
    assert zk.code(OpCode.CHECK_WATCHES, data) is ZkErrorCode.NO_WATCHER
    assert zk.code(OpCode.CHECK_WATCHES, children) is ZkErrorCode.OK
    zk.set(root, b"1")
    zk.create(f"{root}/x")
    assert zk.events == [(WatchType.CHILDREN_CHANGED, root)]


def test_access_lists(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    assert zk.ask(OpCode.AUTH, encode_int(0) + encode_string("digest") + encode_buffer(b"ann:secret"), xid=-4)[0] is ZkErrorCode.OK
    zk.create(f"{root}/mine", b"x", acl=(Acl(31, "auth", ""),))
    d = zk.ok(OpCode.GET_ACL, encode_string(f"{root}/mine"))
    (entry,) = decode_acl(d)
    assert entry == Acl(31, "digest", "ann:" + base64.b64encode(hashlib.sha1(b"ann:secret").digest()).decode())
    assert d.read_stat().aversion == 0
    stranger = connect()
    for op, body in (
        (OpCode.GET_DATA, read(f"{root}/mine")),
        (OpCode.GET_CHILDREN, read(f"{root}/mine")),
        (OpCode.SET_DATA, encode_string(f"{root}/mine") + encode_buffer(b"") + encode_int(-1)),
        (OpCode.CREATE, create(f"{root}/mine/x")),
        (OpCode.GET_ACL, encode_string(f"{root}/mine")),
        (OpCode.SET_ACL, encode_string(f"{root}/mine") + encode_acl(OPEN_ACL_UNSAFE) + encode_int(-1)),
    ):
        assert stranger.code(op, body) is ZkErrorCode.NO_AUTH
    assert stranger.code(OpCode.EXISTS, read(f"{root}/mine")) in (ZkErrorCode.OK, ZkErrorCode.NO_AUTH)  # since 3.9.3 it needs READ
    shared = (Acl(1, "world", "anyone"), Acl(2, "ip", "127.0.0.0/8"), entry)
    stat = zk.ok(OpCode.SET_ACL, encode_string(f"{root}/mine") + encode_acl(shared) + encode_int(0)).read_stat()
    assert stat.aversion == 1
    stranger.set(f"{root}/mine", b"allowed")
    assert decode_acl(stranger.ok(OpCode.GET_ACL, encode_string(f"{root}/mine")))[2].id == "ann:x"
    assert stranger.code(OpCode.CREATE, create(f"{root}/mine/x")) is ZkErrorCode.NO_AUTH
    stranger.delete(f"{root}/mine")


def test_an_unknown_scheme_of_authentication_closes_the_connection(zk: Raw) -> None:
    assert zk.ask(OpCode.AUTH, encode_int(0) + encode_string("magic") + encode_buffer(b""), xid=-4)[0] is ZkErrorCode.AUTH_FAILED
    assert zk.closed_by_server()


def test_quotas_count_what_is_below_a_path(zk: Raw, root: str) -> None:
    """The node itself counts. It is the server that writes the stats, and no version tells of it."""
    limits, stats = (f"/zookeeper/quota{root}/zookeeper_{name}" for name in ("limits", "stats"))
    zk.create(f"{root}/a", b"12345")
    zk.create(f"/zookeeper/quota{root}")
    zk.create(limits, b"count=1,bytes=-1")
    zk.create(stats, b"count=0,bytes=0")

    def counted() -> str:
        data, stat = zk.get(stats)
        assert (stat.version, stat.czxid) == (0, stat.mzxid)
        return (data or b"").decode()

    assert counted() == "count=2,bytes=5"
    zk.create(f"{root}/a/b", b"123")
    zk.set(f"{root}/a", b"1")
    zk.set(root, b"12")
    assert counted() == "count=3,bytes=6"
    zk.delete(f"{root}/a/b")
    assert counted() == "count=2,bytes=3"
    zk.delete(limits)
    zk.create(f"{root}/c")
    assert counted() == "count=2,bytes=3"


def test_ping_sync_and_counting(zk: Raw, root: str) -> None:
    assert zk.ask(OpCode.PING, xid=-2)[0] is ZkErrorCode.OK
    assert zk.ok(OpCode.SYNC, encode_string(root)).read_string() == root
    for name in ("a", "a/b", "ab"):
        zk.create(f"{root}/{name}", flags=int(name == "ab"))
    assert zk.ok(OpCode.GET_ALL_CHILDREN_NUMBER, encode_string(f"{root}/a")).read_int() == 1
    assert zk.ok(OpCode.GET_ALL_CHILDREN_NUMBER, encode_string(root)).read_int() == 3
    d = zk.ok(OpCode.GET_EPHEMERALS, encode_string(root))
    assert d.read_vector(d.read_string) == (f"{root}/ab",)
    d = zk.ok(OpCode.GET_CHILDREN2, read(root))
    assert sorted(d.read_vector(d.read_string)) == ["a", "ab"]
    assert d.read_stat() == zk.stat(root)


def test_answers_come_in_the_order_of_the_requests(zk: Raw, root: str) -> None:
    xids = []
    for number in range(200):
        xids.append(zk.send(OpCode.CREATE, create(f"{root}/{number}")))
        xids.append(zk.send(OpCode.EXISTS, read(f"{root}/{number}")))
    assert all(zk.receive(xid)[0] is ZkErrorCode.OK for xid in xids)


def test_a_mebibyte_and_no_more(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    largest = 0xFFFFF - (8 + 4 + len(root) + 4 + 4)
    data = os.urandom(largest)
    zk.set(root, data)
    assert zk.get(root)[0] == data
    other = connect()
    other.socket.sendall(encode_int(0xFFFFF + 1))
    assert other.closed_by_server()
    assert zk.get(root)[0] == data


@pytest.mark.parametrize(
    "garbage",
    [encode_int(-1), encode_int(-(2**31)), encode_int(2**31 - 1), encode_int(3) + b"abc", encode_int(0), b"\xff" * 64],
    ids=["-1", "smallest", "largest", "short", "empty", "ff"],
)
@pytest.mark.parametrize("connected", [True, False])
def test_garbage_closes_that_connection_only(server: Server, zk: Raw, root: str, garbage: bytes, connected: bool) -> None:
    client = Raw(server.port)
    if connected:
        client.connect()
    client.socket.sendall(garbage)
    assert client.closed_by_server()
    assert zk.children(root) == []


def test_an_unknown_operation_is_answered_and_closed(zk: Raw) -> None:
    zk.send(4711)
    d = Decoder(zk.read())
    assert d.read_int() == 2
    d.read_long()
    assert ZkErrorCode(d.read_int()) is ZkErrorCode.UNIMPLEMENTED
    assert zk.closed_by_server()


def test_a_frame_in_pieces_and_frames_together(server: Server, root: str) -> None:
    """The embedded server lets a ping overtake what waits for the disk, if the session was made by then."""
    client = Raw(server.port)
    body = encode_int(0) + encode_long(0) + encode_int(SESSION_MS) + encode_long(0) + encode_buffer(bytes(16)) + b"\0"
    request = encode_int(1) + encode_int(OpCode.CREATE) + create(root)
    ping = encode_int(-2) + encode_int(OpCode.PING)
    everything = b"".join(encode_int(len(frame)) + frame for frame in (body, request, ping))
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for start in range(0, len(everything), 7):
        client.socket.sendall(everything[start : start + 7])
    assert len(client.read()) == 37
    answers: dict[int, Decoder] = {}
    for _ in range(2):
        d = Decoder(client.read())
        xid, _zxid, code = d.read_int(), d.read_long(), ZkErrorCode(d.read_int())
        assert code is ZkErrorCode.OK
        answers[xid] = d
    assert answers.keys() == {1, -2}
    assert answers[1].read_string() == root


LABELS = {
    "srvr": ["Zookeeper version", "Latency min/avg/max", "Received", "Sent", "Connections", "Outstanding", "Zxid", "Mode", "Node count"],
    "stat": ["Zookeeper version", "Clients", "Latency min/avg/max", "Received", "Sent", "Connections", "Outstanding", "Zxid", "Mode", "Node count"],
    "dump": ["SessionTracker dump", "ephemeral nodes dump", "Sessions with Ephemerals"],
    "wchs": ["connections watching", "Total watches"],
    "conf": ["clientPort", "dataDir", "tickTime", "minSessionTimeout", "maxSessionTimeout"],
    "envi": ["zookeeper.version", "host.name", "os.name", "user.dir"],
    "mntr": [
        "zk_version", "zk_server_state", "zk_avg_latency", "zk_max_latency", "zk_min_latency", "zk_packets_received", "zk_packets_sent",
        "zk_num_alive_connections", "zk_outstanding_requests", "zk_znode_count", "zk_watch_count", "zk_ephemerals_count", "zk_approximate_data_size",
    ],
}  # fmt: skip


@pytest.mark.parametrize("word", LABELS)
def test_four_letter_words_say_what_scripts_look_for(server: Server, zk: Raw, word: str) -> None:
    said = four_letter_word("127.0.0.1", server.port, word, PATIENCE_S)
    assert [label for label in LABELS[word] if label not in said] == []


def test_four_letter_words_tell_the_truth(server: Server, zk: Raw, root: str) -> None:
    def ask(word: str) -> str:
        return four_letter_word("127.0.0.1", server.port, word, PATIENCE_S)

    def number(pattern: str, text: str) -> int:
        found = re.search(pattern, text)
        assert found is not None
        return int(found.group(1), 0)

    assert (ask("ruok"), ask("isro")) == ("imok", "rw")
    before = number(r"Node count: (\d+)", ask("srvr"))
    zk.create(f"{root}/e", flags=1)
    zk.get(f"{root}/e", watch=True)
    zk.children(root, watch=True)
    said = ask("srvr")
    assert number(r"Node count: (\d+)", said) == before + 1
    assert number(r"Zxid: (\S+)", said) == zk.zxid
    assert "Mode: standalone" in said
    assert f"{root}/e" in ask("dump")
    assert f"0x{zk.session_id:x}" in ask("dump")
    assert f"sid=0x{zk.session_id:x}" in ask("cons")
    assert number(r"Total watches:(\d+)", ask("wchs")) >= 1
    assert f"clientPort={server.port}" in ask("conf")
    assert number(r"zk_ephemerals_count\s+(\d+)", ask("mntr")) >= 1


@pytest.mark.parametrize("kind", ["embedded", "apache"])
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_data_and_sessions_survive_a_restart(kind: str, how: str, tmp_path: Path) -> None:
    server = make_server(kind, tmp_path)
    server.start()
    try:
        client = Raw(server.port)
        client.connect()
        client.create("/kept", b"data")
        client.create("/kept/s-", flags=2)
        client.create("/e", flags=1)
        client.set("/kept", b"newer")
        xids = [client.send(OpCode.CREATE, create(f"/kept/{number}")) for number in range(50)]
        for xid in xids:
            client.receive(xid)
        before = [client.stat(path) for path in ("/", "/kept", "/kept/49", "/e")]
        seen = client.zxid
        getattr(server, how)()
        assert client.closed_by_server()
        server.start()
        again = Raw(server.port)
        again.connect(client.session_id, client.passwd, seen=seen)
        assert again.session_id == client.session_id
        assert [again.stat(path) for path in ("/", "/kept", "/kept/49", "/e")] == before
        assert again.get("/kept")[0] == b"newer"
        assert again.create("/kept/s-", flags=2) == "/kept/s-0000000051"
        assert again.stat("/kept/s-0000000051").czxid > seen
        other = Raw(server.port)
        other.connect(timeout_ms=SESSION_MS)
        other.code(OpCode.EXISTS, read("/e", True))
        again.ok(OpCode.CLOSE_SESSION)
        assert other.next_event() == (WatchType.DELETED, "/e")
    finally:
        server.kill()


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
        assert (await client.create("/a/s-", b"", ephemeral=True, sequential=True))[0] == "/a/s-0000000000"
        assert (await client.get("/a/s-0000000000"))[1].ephemeral_owner == client.session_id
        assert await client.get("/a") == (b"1", (await client.exists("/a")))
        assert (await client.set("/a", b"2", 0)).version == 1
        assert await client.exists("/none") is None
        assert (await client.get_children("/"))[0] == ["a"]
        with pytest.raises(ZkError) as wrong:
            await client.delete("/a")
        assert (wrong.value.code, wrong.value.path) == (ZkErrorCode.NOT_EMPTY, "/a")
        await client.delete("/a/s-0000000000")
        results = await client.multi([CreateOp("/m", b""), SetDataOp("/a", b"3"), CheckOp("/a", 2), DeleteOp("/m")])
        assert results[0] == "/m"
        assert isinstance(results[1], Stat)
        assert results[2:] == [None, None]
        with pytest.raises(ZkError) as failed:
            await client.multi([CreateOp("/m", b""), SetDataOp("/a", b"", 77), DeleteOp("/m")])
        assert (failed.value.code, failed.value.path) == (ZkErrorCode.BAD_VERSION, "/a")
        paths = await asyncio.gather(*(client.create("/a/n-", b"", sequential=True) for _ in range(500)))
        assert [path for path, _ in paths] == [f"/a/n-{number:010d}" for number in range(1, 501)]
        await client.close()
        assert told.all == [SessionState.CONNECTED, SessionState.CLOSED]
        with pytest.raises(ZkError):
            await client.get("/a")

    asyncio.run(use())


def test_kazoo_client_tells_watches_once_and_before_later_reads(server: Server, root: str) -> None:
    async def use() -> None:
        told, others = Told(), Told()
        client, other = await kazoo_client(server.port, root, told), await kazoo_client(server.port, root, others)
        await client.create("/a", b"0")
        for _ in range(2):
            await asyncio.gather(client.get("/a", watch=True), client.exists("/a", watch=True), client.get_children("/a", watch=True))
        await client.exists("/b", watch=True)
        writing = asyncio.gather(*(other.set("/a", b"%d" % number) for number in range(50)))
        while (await client.get("/a"))[0] == b"0":
            pass  # the watch may be told now, for it is on its way; when the new data are read, it must have been
        assert told.all == [SessionState.CONNECTED, WatchedEvent(WatchType.DATA_CHANGED, "/a")]
        await writing
        await client.get("/a", watch=True)
        await other.delete("/a")
        await other.create("/b", b"")
        await told.until(WatchedEvent(WatchType.CREATED, "/b"))
        assert told.all[2:] == [WatchedEvent(WatchType.DELETED, "/a"), WatchedEvent(WatchType.CREATED, "/b")]
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
        assert states == [SessionState.CONNECTED, SessionState.DISCONNECTED, SessionState.EXPIRED, SessionState.CONNECTED]
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
        await asyncio.gather(client.get("/a", watch=True), client.exists("/b", watch=True), client.get_children("/a", watch=True))
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
