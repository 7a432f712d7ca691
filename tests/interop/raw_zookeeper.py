"""Raw frames for a ZooKeeper. One test suite runs against two servers, the embedded one and
Apache's. Both must give the same answers, byte by byte where that matters.

With raw frames, no client library hides what a server sends. The fixtures are available to all
tests of this folder (conftest.py). Apache's server needs Java and ZooKeeper's jars (from PySpark,
or from the folder in KAFKA_EDU_ZOOKEEPER_JARS). Without them its tests are skipped with a message.
"""

import itertools
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol

import pytest

from kafka_edu.zk.apache import ApacheZooKeeper
from kafka_edu.zk.jute.codec import (
    Decoder,
    encode_bool,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
)
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE, AclList
from kafka_edu.zk.jute.serialization import encode_acl
from kafka_edu.zk.zk_client import Stat, WatchType, ZkErrorCode
from tests.interop.external_programs import require_apache_zookeeper
from tests.interop.frames import read_frame
from tests.waiting import PATIENCE_S

TICK_MS: Final = 500
SESSION_MS: Final = 10_000
#: A session that survives the restart of Apache's server on a busy machine.
LONG_SESSION_MS: Final = 60_000
#: How often the server is named to kazoo. An Apache ZooKeeper that is just starting may accept a
#: connection and never answer. kazoo waits for the answer for the session's time-out divided by the
#: number of servers that it knows, and then connects again.
SERVER_NAMED: Final = 4


class Server(Protocol):
    """The operations that both servers offer."""

    port: int

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


def hosts(server: Server) -> str:
    """Return the hosts string with which kazoo waits a quarter of the session for each connect."""
    return ",".join([f"127.0.0.1:{server.port}"] * SERVER_NAMED)


class EmbeddedServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "kafka_edu.zk.embedded.main",
            "--port",
            str(self.port),
            "--data-dir",
            str(self._folder),
        ]
        self._process = subprocess.Popen(
            [*command, "--tick-time", str(TICK_MS)], stdout=subprocess.PIPE, text=True
        )
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


def make_server(kind: str, folder: Path, tick_time_ms: int = TICK_MS) -> Server:
    """Return a server that is not started yet. Apache's server allows session time-outs of up to 20
    ticks.
    """
    if kind == "embedded":
        return EmbeddedServer(folder)
    require_apache_zookeeper()
    return ApacheZooKeeper(folder, tick_time_ms=tick_time_ms, words=("*",))


@pytest.fixture(scope="module", params=["embedded", "apache"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    server = make_server(request.param, tmp_path_factory.mktemp(request.param))
    server.start()
    yield server
    server.stop()


_numbers = itertools.count()


@pytest.fixture
def root() -> str:
    """Return a path that no other test uses."""
    return f"/test-{next(_numbers)}"


class Raw:
    """A client that only sends and receives frames."""

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
        self,
        session_id: int = 0,
        passwd: bytes = bytes(16),
        *,
        timeout_ms: int = SESSION_MS,
        read_only: bool | None = False,
        seen: int = 0,
    ) -> bytes:
        body = (
            encode_int(0)
            + encode_long(seen)
            + encode_int(timeout_ms)
            + encode_long(session_id)
            + encode_buffer(passwd)
        )
        self.frame(body + (b"" if read_only is None else encode_bool(read_only)))
        answer = self.read()
        d = Decoder(answer)
        assert d.read_int() == 0
        self.timeout_ms, self.session_id, self.passwd = (
            d.read_int(),
            d.read_long(),
            d.read_buffer() or b"",
        )
        return answer

    def send(self, op: int, body: bytes = b"", xid: int | None = None) -> int:
        if xid is None:
            self._xid += 1
            xid = self._xid
        self.frame(encode_int(xid) + encode_int(op) + body)
        return xid

    def receive(self, xid: int) -> tuple[ZkErrorCode, Decoder]:
        """Return the answer to `xid`. Watch events that arrive before it go to `events`."""
        while True:
            d = Decoder(self.read())
            got, zxid, code = d.read_int(), d.read_long(), ZkErrorCode(d.read_int())
            if got == -1:
                assert code == 0
                assert zxid == -1 or zxid > 0  # since 3.9 the zxid of the change
                event, state, path = WatchType(d.read_int()), d.read_int(), d.read_string()
                assert state == 3
                self.events.append((event, path))
                continue
            assert got == xid
            if xid > 0:
                assert zxid >= self.zxid
                self.zxid = zxid
            return code, d

    def ask(
        self, op: int, body: bytes = b"", xid: int | None = None
    ) -> tuple[ZkErrorCode, Decoder]:
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

    def create(
        self, path: str, data: bytes | None = b"", flags: int = 0, acl: AclList = OPEN_ACL_UNSAFE
    ) -> str:
        return self.ok(OpCode.CREATE, create(path, data, flags, acl)).read_string()

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        return self.ok(
            OpCode.SET_DATA, encode_string(path) + encode_buffer(data) + encode_int(version)
        ).read_stat()

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


def create(
    path: str, data: bytes | None = b"", flags: int = 0, acl: AclList = OPEN_ACL_UNSAFE
) -> bytes:
    return encode_string(path) + encode_buffer(data) + encode_acl(acl) + encode_int(flags)


def delete(path: str, version: int = -1) -> bytes:
    return encode_string(path) + encode_int(version)


def read(path: str, watch: bool = False) -> bytes:
    return encode_string(path) + encode_bool(watch)


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[..., Raw]]:
    """Yield a function that connects clients. Their sessions end after the test."""
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
