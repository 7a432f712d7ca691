"""Operations on znodes, allowed and refused: the embedded ZooKeeper and Apache's give the same
answers.
"""

import base64
import hashlib
from collections.abc import Callable

import pytest

from kafka_edu.zk.jute.codec import (
    encode_bool,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
)
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE, Acl, AclList
from kafka_edu.zk.jute.serialization import decode_acl, encode_acl
from kafka_edu.zk.zk_client import Stat, WatchType, ZkErrorCode
from tests.interop.raw_zookeeper import Raw, create, delete, read

pytestmark = pytest.mark.tools


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
    assert (parent.cversion, parent.num_children, parent.pzxid, parent.version) == (
        4,
        4,
        zk.stat(f"{root}/es-0000000003").czxid,
        0,
    )


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
    assert (after.version, after.data_length, after.czxid, after.ctime) == (
        1,
        2,
        before.czxid,
        before.ctime,
    )
    assert after.mzxid == zk.zxid > before.mzxid
    assert after.mtime >= before.mtime
    assert after.pzxid == before.pzxid
    assert (
        zk.code(OpCode.SET_DATA, encode_string(f"{root}/a") + encode_buffer(b"") + encode_int(0))
        is ZkErrorCode.BAD_VERSION
    )
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
    (
        OpCode.CREATE,
        lambda r: create(f"{r}/x", acl=(Acl(31, "auth", ""),)),
        ZkErrorCode.INVALID_ACL,
    ),
    (
        OpCode.CREATE,
        lambda r: create(f"{r}/x", acl=(Acl(31, "digest", "noColon"),)),
        ZkErrorCode.INVALID_ACL,
    ),
    (
        OpCode.CREATE,
        lambda r: create(f"{r}/x", acl=(Acl(31, "ip", "1.2.3.4/77"),)),
        ZkErrorCode.INVALID_ACL,
    ),
    (
        OpCode.CREATE_TTL,
        lambda r: create(f"{r}/x", flags=5) + encode_long(1000),
        ZkErrorCode.UNIMPLEMENTED,
    ),
    (OpCode.DELETE, lambda r: delete(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.DELETE, lambda r: delete(r), ZkErrorCode.NOT_EMPTY),
    (OpCode.DELETE, lambda r: delete(r, 9), ZkErrorCode.BAD_VERSION),
    (OpCode.DELETE, lambda r: delete("/"), ZkErrorCode.BAD_ARGUMENTS),
    (OpCode.DELETE, lambda r: delete("/zookeeper/quota"), ZkErrorCode.BAD_ARGUMENTS),
    (
        OpCode.SET_DATA,
        lambda r: encode_string(f"{r}/no") + encode_buffer(b"") + encode_int(-1),
        ZkErrorCode.NO_NODE,
    ),
    (
        OpCode.SET_DATA,
        lambda r: encode_string("relative") + encode_buffer(b"") + encode_int(-1),
        ZkErrorCode.BAD_ARGUMENTS,
    ),
    (OpCode.GET_DATA, lambda r: read(f"{r}/no", True), ZkErrorCode.NO_NODE),
    (OpCode.EXISTS, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_CHILDREN, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_CHILDREN2, lambda r: read(f"{r}/no"), ZkErrorCode.NO_NODE),
    (OpCode.GET_ACL, lambda r: encode_string(f"{r}/no"), ZkErrorCode.NO_NODE),
    (
        OpCode.SET_ACL,
        lambda r: encode_string(f"{r}/no") + encode_acl(OPEN_ACL_UNSAFE) + encode_int(-1),
        ZkErrorCode.NO_NODE,
    ),
    (
        OpCode.SET_ACL,
        lambda r: encode_string(r) + encode_acl(OPEN_ACL_UNSAFE) + encode_int(7),
        ZkErrorCode.BAD_VERSION,
    ),
    (
        OpCode.SET_ACL,
        lambda r: encode_string(r) + encode_acl(NOBODY) + encode_int(-1),
        ZkErrorCode.INVALID_ACL,
    ),
    (OpCode.REMOVE_WATCHES, lambda r: encode_string(r) + encode_int(3), ZkErrorCode.NO_WATCHER),
    (OpCode.CHECK_WATCHES, lambda r: encode_string(r) + encode_int(1), ZkErrorCode.NO_WATCHER),
    (
        OpCode.REMOVE_WATCHES,
        lambda r: encode_string(r) + encode_int(77),
        ZkErrorCode.MARSHALLING_ERROR,
    ),
    (OpCode.CREATE, lambda r: encode_int(1000) + b"cut short", ZkErrorCode.MARSHALLING_ERROR),
    (OpCode.GET_DATA, lambda r: encode_int(-7), ZkErrorCode.MARSHALLING_ERROR),
    (OpCode.GET_DATA, lambda r: b"", ZkErrorCode.MARSHALLING_ERROR),
]


@pytest.mark.parametrize(("op", "body", "code"), REFUSED)
def test_every_refusal_has_its_code_and_leaves_the_connection(
    zk: Raw, root: str, op: int, body: Callable[[str], bytes], code: ZkErrorCode
) -> None:
    zk.create(f"{root}/e", flags=1)
    assert zk.code(op, body(root)) is code
    assert zk.children(root) == ["e"]


def multi(client: Raw, *ops: tuple[int, bytes]) -> list[object]:
    """Return the results: a path, a Stat, the op code of an operation without a result, or an error
    code.
    """
    body = b"".join(
        encode_int(op) + encode_bool(False) + encode_int(-1) + fields for op, fields in ops
    )
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
            case OpCode.CREATE2:  # Create2 since 3.7; earlier versions treat it as Create
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
    assert results == [
        ZkErrorCode.OK,
        ZkErrorCode.OK,
        ZkErrorCode.BAD_VERSION,
        ZkErrorCode.RUNTIME_INCONSISTENCY,
    ]
    assert zk.stat(root) == before
    assert zk.children(root) == ["a"]
    assert multi(zk) == []


def test_a_multi_fires_its_watches_and_a_failed_one_none(
    connect: Callable[..., Raw], zk: Raw, root: str
) -> None:
    other = connect()
    zk.children(root, watch=True)
    zk.get(root, watch=True)
    assert multi(
        other, (OpCode.CREATE, create(f"{root}/x")), (OpCode.DELETE, delete(f"{root}/none"))
    )[1:] == [ZkErrorCode.NO_NODE]
    zk.stat(root)
    assert zk.events == []
    multi(
        other,
        (OpCode.CREATE, create(f"{root}/x")),
        (OpCode.SET_DATA, encode_string(root) + encode_buffer(b"") + encode_int(0)),
    )
    zk.stat(root)
    assert zk.events == [(WatchType.CHILDREN_CHANGED, root), (WatchType.DATA_CHANGED, root)]


def test_access_lists(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    assert (
        zk.ask(
            OpCode.AUTH,
            encode_int(0) + encode_string("digest") + encode_buffer(b"ann:secret"),
            xid=-4,
        )[0]
        is ZkErrorCode.OK
    )
    zk.create(f"{root}/mine", b"x", acl=(Acl(31, "auth", ""),))
    d = zk.ok(OpCode.GET_ACL, encode_string(f"{root}/mine"))
    (entry,) = decode_acl(d)
    assert entry == Acl(
        31, "digest", "ann:" + base64.b64encode(hashlib.sha1(b"ann:secret").digest()).decode()
    )
    assert d.read_stat().aversion == 0
    stranger = connect()
    for op, body in (
        (OpCode.GET_DATA, read(f"{root}/mine")),
        (OpCode.GET_CHILDREN, read(f"{root}/mine")),
        (OpCode.SET_DATA, encode_string(f"{root}/mine") + encode_buffer(b"") + encode_int(-1)),
        (OpCode.CREATE, create(f"{root}/mine/x")),
        (OpCode.GET_ACL, encode_string(f"{root}/mine")),
        (
            OpCode.SET_ACL,
            encode_string(f"{root}/mine") + encode_acl(OPEN_ACL_UNSAFE) + encode_int(-1),
        ),
    ):
        assert stranger.code(op, body) is ZkErrorCode.NO_AUTH
    assert stranger.code(OpCode.EXISTS, read(f"{root}/mine")) in (
        ZkErrorCode.OK,
        ZkErrorCode.NO_AUTH,
    )  # since 3.9.3 it needs READ
    shared = (Acl(1, "world", "anyone"), Acl(2, "ip", "127.0.0.0/8"), entry)
    stat = zk.ok(
        OpCode.SET_ACL, encode_string(f"{root}/mine") + encode_acl(shared) + encode_int(0)
    ).read_stat()
    assert stat.aversion == 1
    stranger.set(f"{root}/mine", b"allowed")
    assert decode_acl(stranger.ok(OpCode.GET_ACL, encode_string(f"{root}/mine")))[2].id == "ann:x"
    assert stranger.code(OpCode.CREATE, create(f"{root}/mine/x")) is ZkErrorCode.NO_AUTH
    stranger.delete(f"{root}/mine")


def test_an_unknown_scheme_of_authentication_closes_the_connection(zk: Raw) -> None:
    assert (
        zk.ask(OpCode.AUTH, encode_int(0) + encode_string("magic") + encode_buffer(b""), xid=-4)[0]
        is ZkErrorCode.AUTH_FAILED
    )
    assert zk.closed_by_server()


def test_quotas_count_what_is_below_a_path(zk: Raw, root: str) -> None:
    """The node that has the quota is counted too. When the server writes the node zookeeper_stats,
    the version of zookeeper_stats does not change.
    """
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
