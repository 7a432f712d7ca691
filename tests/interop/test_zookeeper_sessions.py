"""Sessions and their watches, across connections, time-outs and restarts. The embedded ZooKeeper
and Apache's behave the same.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_edu.zk.jute.codec import encode_int, encode_long, encode_string, encode_vector
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.zk_client import WatchType, ZkErrorCode
from tests.interop.raw_zookeeper import SESSION_MS, TICK_MS, Raw, create, make_server, read

pytestmark = pytest.mark.tools


def test_a_session_moves_to_another_connection(
    connect: Callable[..., Raw], zk: Raw, root: str
) -> None:
    zk.create(f"{root}/e", flags=1)
    zk.get(f"{root}/e", watch=True)
    moved = connect(zk.session_id, zk.passwd)
    assert moved.session_id == zk.session_id
    assert zk.closed_by_server()
    assert moved.stat(f"{root}/e").ephemeral_owner == zk.session_id
    moved.set(f"{root}/e", b"1")
    assert moved.events == []


def test_a_silent_session_expires(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    silent = connect(timeout_ms=2 * TICK_MS)
    silent.create(f"{root}/e", flags=1)
    zk.code(OpCode.EXISTS, read(f"{root}/e", True))
    assert zk.next_event() == (WatchType.DELETED, f"{root}/e")
    assert silent.closed_by_server()
    again = connect(silent.session_id, silent.passwd)
    assert again.timeout_ms == 0


def test_a_closed_session_takes_its_ephemerals_along(
    connect: Callable[..., Raw], zk: Raw, root: str
) -> None:
    other = connect()
    for name in ("a", "b"):
        other.create(f"{root}/{name}", flags=1)
        zk.get(f"{root}/{name}", watch=True)
    other.create(f"{root}/stays")
    zk.children(root, watch=True)
    other.ok(OpCode.CLOSE_SESSION)
    assert other.closed_by_server()
    events = [zk.next_event() for _ in range(3)]
    assert sorted(events) == sorted(
        [
            (WatchType.DELETED, f"{root}/a"),
            (WatchType.DELETED, f"{root}/b"),
            (WatchType.CHILDREN_CHANGED, root),
        ]
    )
    assert zk.children(root) == ["stays"]
    assert connect(other.session_id, other.passwd).timeout_ms == 0


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


def test_watches_fire_once_in_order_and_before_the_answer(
    connect: Callable[..., Raw], zk: Raw, root: str
) -> None:
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


def test_a_deletion_notifies_once_data_and_child_watches(
    connect: Callable[..., Raw], zk: Raw, root: str
) -> None:
    other = connect()
    zk.create(f"{root}/a")
    zk.get(f"{root}/a", watch=True)
    zk.children(f"{root}/a", watch=True)
    zk.children(root, watch=True)
    other.delete(f"{root}/a")
    zk.stat(root)
    assert zk.events == [(WatchType.DELETED, f"{root}/a"), (WatchType.CHILDREN_CHANGED, root)]


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
    body = encode_long(seen) + b"".join(
        encode_vector(encode_string(f"{root}/{name}") for name in names) for names in lists
    )
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
