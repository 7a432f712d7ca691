"""The embedded ZooKeeper's core alone: requests in, effects out."""

from collections.abc import Sequence

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import ZOOKEEPER
from kafka_edu.trace.events.zk import SessionSampled
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.session_tracker import LONGEST_SESSION_MS, SessionTracker
from kafka_edu.zk.embedded.txn import CloseSessionTxn, CreateTxn, ErrorTxn
from kafka_edu.zk.embedded.zookeeper_server import (
    AppendTxn,
    CloseCnxn,
    ConnectReply,
    Effect,
    Notify,
    Reply,
    ZooKeeperServer,
)
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    Acl,
    AclResponse,
    AuthPacket,
    CheckVersionRequest,
    ChildrenResponse,
    CloseSessionRequest,
    ConnectRequest,
    CreateRequest,
    CreateResponse,
    DataResponse,
    DeleteRequest,
    DeleteResult,
    ErrorResult,
    ExistsRequest,
    GetAclRequest,
    GetAllChildrenNumberRequest,
    GetChildrenRequest,
    GetDataRequest,
    GetEphemeralsRequest,
    MultiOp,
    MultiRequest,
    MultiResponse,
    NumberResponse,
    PathsResponse,
    RemoveWatchesRequest,
    Request,
    Response,
    SetAclRequest,
    SetDataRequest,
    SetWatchesRequest,
    StatResponse,
)
from kafka_edu.zk.zk_client import Stat, WatchedEvent, WatchType, ZkErrorCode

TICK = 500


class World:
    """A server and the effects it has produced, at a time moved by hand."""

    def __init__(self) -> None:
        self.now = 10_000
        self.server = ZooKeeperServer(tick_time_ms=TICK, now_ms=self.now, wall_ms=1_600_000_000_000)
        self.server.start(self.now)
        self.effects: list[Effect] = []
        self.xid = 0

    @property
    def wall(self) -> int:
        return 1_600_000_000_000 + self.now

    def keep(self, effects: Sequence[Effect]) -> list[Effect]:
        self.effects.extend(effects)
        return list(effects)

    def open(
        self, timeout_ms: int = 2000, session_id: int = 0, passwd: bytes = bytes(16), seen: int = 0
    ) -> "Client":
        cnxn = self.server.open_cnxn("127.0.0.1:40000")
        effects = self.keep(
            self.server.connect(
                cnxn,
                ConnectRequest(0, seen, timeout_ms, session_id, passwd, False),
                self.now,
                self.wall,
            )
        )
        return Client(self, cnxn, effects)

    def tick_until(self, now: int) -> list[Effect]:
        self.now = now
        return self.keep(self.server.tick(now, self.wall))

    def events(self, client: "Client") -> list[WatchedEvent]:
        return [e.event for e in self.effects if isinstance(e, Notify) and e.cnxn == client.cnxn]


class Client:
    def __init__(self, world: World, cnxn: int, effects: list[Effect]) -> None:
        self.world = world
        self.cnxn = cnxn
        self.replies = [e.response for e in effects if isinstance(e, ConnectReply)]
        self.closed = any(isinstance(e, CloseCnxn) and e.cnxn == cnxn for e in effects)
        self.session_id = self.replies[0].session_id if self.replies else 0
        self.passwd = self.replies[0].passwd if self.replies else b""

    def ask(self, request: Request) -> Reply:
        self.world.xid += 1
        effects = self.world.keep(
            self.world.server.request(
                self.cnxn, self.world.xid, request, self.world.now, self.world.wall
            )
        )
        (reply,) = [e for e in effects if isinstance(e, Reply)]
        assert reply.xid == self.world.xid
        return reply

    def code(self, request: Request) -> ZkErrorCode:
        return self.ask(request).code

    def ok(self, request: Request) -> Response | None:
        reply = self.ask(request)
        assert reply.code is ZkErrorCode.OK
        return reply.body

    def create(self, path: str, data: bytes = b"", flags: int = 0) -> str:
        body = self.ok(CreateRequest(path, data, OPEN_ACL_UNSAFE, flags))
        assert isinstance(body, CreateResponse)
        return body.path

    def stat(self, path: str) -> Stat:
        body = self.ok(ExistsRequest(path, False))
        assert isinstance(body, StatResponse)
        return body.stat

    def children(self, path: str, watch: bool = False) -> tuple[str, ...]:
        body = self.ok(GetChildrenRequest(path, watch))
        assert isinstance(body, ChildrenResponse)
        return body.children


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def zk(world: World) -> Client:
    return world.open()


def test_stat_of_a_new_node_and_its_parent(world: World, zk: Client) -> None:
    assert zk.stat("/")[4:] == (0, -2 + 1, 0, 0, 0, 1, 0)
    zk.create("/a", b"xyz")
    stat = zk.stat("/a")
    assert stat == Stat(2, 2, world.wall, world.wall, 0, 0, 0, 0, 3, 0, 2)
    zk.create("/a/b")
    parent = zk.stat("/a")
    assert (parent.cversion, parent.num_children, parent.pzxid, parent.mzxid) == (1, 1, 3, 2)
    zk.ok(DeleteRequest("/a/b", -1))
    parent = zk.stat("/a")
    assert (parent.cversion, parent.num_children, parent.pzxid) == (2, 0, 4)


def test_versions(zk: Client) -> None:
    zk.create("/a")
    body = zk.ok(SetDataRequest("/a", b"1", 0))
    assert isinstance(body, StatResponse)
    assert body.stat.version == 1
    assert zk.code(SetDataRequest("/a", b"2", 0)) is ZkErrorCode.BAD_VERSION
    assert zk.code(DeleteRequest("/a", 0)) is ZkErrorCode.BAD_VERSION
    assert zk.code(SetDataRequest("/a", b"2", -1)) is ZkErrorCode.OK
    assert zk.code(DeleteRequest("/a", 2)) is ZkErrorCode.OK


def test_a_failed_write_uses_a_zxid_and_leaves_the_tree(world: World, zk: Client) -> None:
    before = world.server.tree.last_processed_zxid
    reply = zk.ask(DeleteRequest("/nothing", -1))
    assert reply.code is ZkErrorCode.NO_NODE
    assert reply.zxid == before + 1
    (append,) = [e for e in world.effects if isinstance(e, AppendTxn)][-1:]
    assert append.txn == ErrorTxn(ZkErrorCode.NO_NODE)


def test_sequence_numbers_count_creates_only(zk: Client) -> None:
    zk.create("/s")
    assert zk.create("/s/n-", flags=2) == "/s/n-0000000000"
    assert zk.create("/s/plain") == "/s/plain"
    assert zk.create("/s/n-", flags=3) == "/s/n-0000000002"
    zk.ok(DeleteRequest("/s/n-0000000002", -1))
    assert zk.create("/s/", flags=2) == "/s/0000000003"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (CreateRequest("a", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.BAD_ARGUMENTS),
        (CreateRequest("/a/", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NO_NODE),
        (CreateRequest("/e//x", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NO_NODE),
        (CreateRequest("/p/..", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.BAD_ARGUMENTS),
        (CreateRequest("/p/.", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.BAD_ARGUMENTS),
        (CreateRequest("/p/\x01", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.BAD_ARGUMENTS),
        (CreateRequest("/p/.ok", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.OK),
        (CreateRequest("/p", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NODE_EXISTS),
        (CreateRequest("/", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NODE_EXISTS),
        (CreateRequest("/x", b"", OPEN_ACL_UNSAFE, 9), ZkErrorCode.BAD_ARGUMENTS),
        (CreateRequest("/x", b"", OPEN_ACL_UNSAFE, 5), ZkErrorCode.UNIMPLEMENTED),
        (CreateRequest("/x", b"", (), 0), ZkErrorCode.INVALID_ACL),
        (CreateRequest("/x", b"", (Acl(31, "nobody", "x"),), 0), ZkErrorCode.INVALID_ACL),
        (CreateRequest("/x", b"", (Acl(31, "ip", "10.0.0.0/99"),), 0), ZkErrorCode.INVALID_ACL),
        (CreateRequest("/x", b"", (Acl(31, "auth", ""),), 0), ZkErrorCode.INVALID_ACL),
        (CreateRequest("/no/x", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NO_NODE),
        (CreateRequest("/e/x", b"", OPEN_ACL_UNSAFE, 0), ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS),
        (DeleteRequest("/", -1), ZkErrorCode.BAD_ARGUMENTS),
        (DeleteRequest("/zookeeper", -1), ZkErrorCode.BAD_ARGUMENTS),
        (DeleteRequest("/p", -1), ZkErrorCode.NOT_EMPTY),
        (DeleteRequest("/no", -1), ZkErrorCode.NO_NODE),
        (SetDataRequest("/no", b"", -1), ZkErrorCode.NO_NODE),
        (SetDataRequest("no", b"", -1), ZkErrorCode.BAD_ARGUMENTS),
        (SetAclRequest("/p", OPEN_ACL_UNSAFE, 5), ZkErrorCode.BAD_VERSION),
        (GetDataRequest("/no", False), ZkErrorCode.NO_NODE),
        (GetChildrenRequest("/no", False), ZkErrorCode.NO_NODE),
        (GetAclRequest("/no"), ZkErrorCode.NO_NODE),
        (ExistsRequest("/no", False), ZkErrorCode.NO_NODE),
        (RemoveWatchesRequest("/p", 3), ZkErrorCode.NO_WATCHER),
        (RemoveWatchesRequest("/p", 9), ZkErrorCode.MARSHALLING_ERROR),
    ],
)
def test_refusals(zk: Client, request_: Request, code: ZkErrorCode) -> None:
    zk.create("/p")
    zk.create("/p/child")
    zk.create("/e", flags=1)
    assert zk.code(request_) is code


def test_watches_fire_once_and_before_the_answer(world: World, zk: Client) -> None:
    other = world.open()
    zk.create("/a")
    zk.ok(GetDataRequest("/a", True))
    zk.ok(GetDataRequest("/a", True))
    world.effects.clear()
    other.ok(SetDataRequest("/a", b"1", -1))
    assert [type(e) for e in world.effects] == [AppendTxn, Notify, Reply]
    other.ok(SetDataRequest("/a", b"2", -1))
    assert world.events(zk) == [WatchedEvent(WatchType.DATA_CHANGED, "/a")]


def test_a_deletion_is_told_once_to_a_connection_that_watches_data_and_children(
    world: World, zk: Client
) -> None:
    zk.create("/a")
    zk.ok(GetDataRequest("/a", True))
    zk.ok(GetChildrenRequest("/a", True))
    zk.ok(GetChildrenRequest("/", True))
    zk.ok(DeleteRequest("/a", -1))
    assert world.events(zk) == [
        WatchedEvent(WatchType.DELETED, "/a"),
        WatchedEvent(WatchType.CHILDREN_CHANGED, "/"),
    ]


def test_only_exists_watches_a_node_that_is_not_there(world: World, zk: Client) -> None:
    assert zk.code(GetDataRequest("/a", True)) is ZkErrorCode.NO_NODE
    assert zk.code(GetChildrenRequest("/a", True)) is ZkErrorCode.NO_NODE
    assert zk.code(ExistsRequest("/b", True)) is ZkErrorCode.NO_NODE
    zk.create("/a")
    zk.create("/b")
    assert world.events(zk) == [WatchedEvent(WatchType.CREATED, "/b")]


def test_multi_sees_its_own_changes(zk: Client) -> None:
    ops: tuple[MultiOp, ...] = (
        CreateRequest("/m", b"", OPEN_ACL_UNSAFE, 0),
        CreateRequest("/m/x-", b"", OPEN_ACL_UNSAFE, 2),
        SetDataRequest("/m", b"v", 0),
        CheckVersionRequest("/m", 1),
        DeleteRequest("/m/x-0000000000", 0),
        CreateRequest("/m/x-", b"", OPEN_ACL_UNSAFE, 2),
    )
    body = zk.ok(MultiRequest(ops))
    assert isinstance(body, MultiResponse)
    assert body.results[1] == CreateResponse("/m/x-0000000000", None)
    assert body.results[4] == DeleteResult()
    assert zk.children("/m") == ("x-0000000001",)
    stat = zk.stat("/m")
    assert (stat.version, stat.cversion, stat.czxid, stat.mzxid) == (1, 3, stat.pzxid, stat.pzxid)


def test_multi_is_all_or_nothing(world: World, zk: Client) -> None:
    zk.create("/a")
    zk.ok(GetChildrenRequest("/", True))
    ops: tuple[MultiOp, ...] = (
        CreateRequest("/b", b"", OPEN_ACL_UNSAFE, 0),
        DeleteRequest("/a", 7),
        CreateRequest("/c", b"", OPEN_ACL_UNSAFE, 0),
    )
    body = zk.ok(MultiRequest(ops))
    assert body == MultiResponse(
        (
            ErrorResult(ZkErrorCode.OK),
            ErrorResult(ZkErrorCode.BAD_VERSION),
            ErrorResult(ZkErrorCode.RUNTIME_INCONSISTENCY),
        )
    )
    assert zk.children("/") == ("zookeeper", "a")
    assert world.events(zk) == []


def test_ephemerals_go_with_their_session(world: World, zk: Client) -> None:
    other = world.open()
    other.create("/e2", flags=1)
    other.create("/e1", flags=1)
    assert zk.stat("/e1").ephemeral_owner == other.session_id
    assert other.ok(GetEphemeralsRequest("/")) == PathsResponse(("/e2", "/e1"))
    zk.ok(ExistsRequest("/e1", True))
    zk.ok(ExistsRequest("/e2", True))
    other.ok(CloseSessionRequest())
    assert world.events(zk) == [
        WatchedEvent(WatchType.DELETED, "/e2"),
        WatchedEvent(WatchType.DELETED, "/e1"),
    ]
    assert isinstance(world.effects[-1], CloseCnxn)
    assert zk.code(ExistsRequest("/e1", False)) is ZkErrorCode.NO_NODE


def test_sessions_expire_a_tick_after_their_timeout_at_the_latest(world: World) -> None:
    quiet, loud = world.open(timeout_ms=1200), world.open(timeout_ms=1200)
    quiet.create("/q", flags=1)
    assert quiet.replies[0].timeout_ms == 1200
    world.now = 11_000
    loud.ok(ExistsRequest("/q", True))
    assert world.tick_until(11_499) == []
    effects = world.tick_until(11_500)
    assert [e.txn for e in effects if isinstance(e, AppendTxn)] == [CloseSessionTxn()]
    assert CloseCnxn(quiet.cnxn, "session expired") in effects
    assert world.events(loud) == [WatchedEvent(WatchType.DELETED, "/q")]
    assert world.tick_until(12_499) == []
    assert CloseCnxn(loud.cnxn, "session expired") in world.tick_until(12_500)


def test_sessions_are_sampled_with_when_they_were_heard_and_when_they_die() -> None:
    time = MockTime()
    tracer = Tracer(ZOOKEEPER, time)
    server = ZooKeeperServer(
        tick_time_ms=TICK, now_ms=time.hi_res_clock_ms(), wall_ms=0, trace=tracer
    )
    server.start(time.hi_res_clock_ms())
    sessions = []
    for timeout_ms in (4000, 2000):
        request = ConnectRequest(0, 0, timeout_ms, 0, bytes(16), False)
        effects = server.connect(server.open_cnxn("peer"), request, time.hi_res_clock_ms(), 0)
        sessions += [e.response.session_id for e in effects if isinstance(e, ConnectReply)]
    first, second = sessions
    time.advance(700)
    sampled = [e.event for e in tracer.gauges() if isinstance(e.event, SessionSampled)]
    assert [e.session_id for e in sampled] == [second, first], "the first to die stands first"
    assert [e.heard_ms_ago for e in sampled] == [700, 700]
    for e, timeout_ms in zip(sampled, (2000, 4000), strict=True):
        assert timeout_ms - 700 < e.expires_in_ms <= timeout_ms - 700 + TICK
    server.tick(time.hi_res_clock_ms() + 2000, 0)
    assert [e.event.session_id for e in tracer.gauges() if isinstance(e.event, SessionSampled)] == [
        first
    ]


@pytest.mark.parametrize(("asked", "given"), [(1, 1000), (1500, 1500), (99_999, 10_000)])
def test_timeouts_are_negotiated_within_2_and_20_ticks(
    world: World, asked: int, given: int
) -> None:
    assert world.open(timeout_ms=asked).replies[0].timeout_ms == given


def test_a_longest_session_may_be_set_in_place_of_20_ticks() -> None:
    tracker = SessionTracker(500, 0, LONGEST_SESSION_MS)
    assert [tracker.negotiate(asked) for asked in (1, 30_000, 90_000)] == [1_000, 30_000, 60_000]
    with pytest.raises(ValueError, match="sessions of 1000 to 999 ms"):
        SessionTracker(500, 0, 999)


def test_a_session_moves_and_its_old_connection_is_closed(world: World, zk: Client) -> None:
    zk.create("/e", flags=1)
    zk.ok(GetDataRequest("/e", True))
    moved = world.open(session_id=zk.session_id, passwd=zk.passwd)
    assert moved.session_id == zk.session_id
    assert any(isinstance(e, CloseCnxn) and e.cnxn == zk.cnxn for e in world.effects)
    moved.ok(SetDataRequest("/e", b"1", -1))
    assert world.events(zk) == []
    assert moved.stat("/e").ephemeral_owner == zk.session_id


@pytest.mark.parametrize("wrong", ["password", "session"])
def test_a_wrong_session_or_password_is_told_and_closed(
    world: World, zk: Client, wrong: str
) -> None:
    session_id = zk.session_id + (7 if wrong == "session" else 0)
    refused = world.open(
        session_id=session_id, passwd=zk.passwd if wrong == "session" else b"x" * 16
    )
    assert (refused.replies[0].timeout_ms, refused.replies[0].session_id, refused.closed) == (
        0,
        0,
        True,
    )


def test_a_client_from_our_future_is_sent_away(world: World) -> None:
    refused = world.open(seen=99)
    assert refused.replies == []
    assert refused.closed


def test_set_watches_after_a_reconnect(world: World, zk: Client) -> None:
    for path in ("/same", "/set", "/gone", "/parent", "/quiet"):
        zk.create(path)
    seen = world.server.tree.last_processed_zxid
    zk.ok(SetDataRequest("/set", b"1", -1))
    zk.ok(DeleteRequest("/gone", -1))
    zk.create("/parent/child")
    zk.create("/came")
    back = world.open(session_id=zk.session_id, passwd=zk.passwd)
    back.ok(
        SetWatchesRequest(
            seen, ("/same", "/set", "/gone"), ("/came", "/never"), ("/parent", "/quiet")
        )
    )
    assert world.events(back) == [
        WatchedEvent(WatchType.DATA_CHANGED, "/set"),
        WatchedEvent(WatchType.DELETED, "/gone"),
        WatchedEvent(WatchType.CREATED, "/came"),
        WatchedEvent(WatchType.CHILDREN_CHANGED, "/parent"),
    ]
    assert world.server.tree.data_watches.count == 2
    assert world.server.tree.child_watches.count == 1
    back.create("/never")
    assert world.events(back)[-1] == WatchedEvent(WatchType.CREATED, "/never")


def test_access_lists(world: World, zk: Client) -> None:
    zk.ok(AuthPacket("digest", b"ann:secret"))
    mine = (Acl(31, "auth", ""),)
    zk.ok(CreateRequest("/mine", b"x", mine, 0))
    shown = zk.ok(GetAclRequest("/mine"))
    assert isinstance(shown, AclResponse)
    (entry,) = shown.acl
    assert (entry.scheme, entry.id.split(":")[0]) == ("digest", "ann")
    stranger = world.open()
    for request in (
        GetDataRequest("/mine", True),
        SetDataRequest("/mine", b"", -1),
        GetAclRequest("/mine"),
        GetChildrenRequest("/mine", False),
    ):
        assert stranger.code(request) is ZkErrorCode.NO_AUTH
    assert stranger.code(CreateRequest("/mine/x", b"", OPEN_ACL_UNSAFE, 0)) is ZkErrorCode.NO_AUTH
    assert world.server.tree.data_watches.count == 0
    assert stranger.code(ExistsRequest("/mine", False)) is ZkErrorCode.OK
    zk.ok(
        SetAclRequest("/mine", (Acl(1, "world", "anyone"), Acl(30, "ip", "127.0.0.0/8"), entry), 0)
    )
    assert stranger.code(SetDataRequest("/mine", b"", -1)) is ZkErrorCode.OK
    zk.ok(SetAclRequest("/mine", (Acl(1, "world", "anyone"), entry), 1))
    hidden = stranger.ok(GetAclRequest("/mine"))
    assert isinstance(hidden, AclResponse)
    assert hidden.acl[1].id == "ann:x"
    reply = stranger.ask(AuthPacket("kerberos", b""))
    assert reply.code is ZkErrorCode.AUTH_FAILED
    assert CloseCnxn(stranger.cnxn, "authentication failed") in world.effects


def test_remove_and_check_watches(world: World, zk: Client) -> None:
    zk.create("/a")
    zk.ok(GetDataRequest("/a", True))
    zk.ok(GetChildrenRequest("/a", True))
    assert zk.code(RemoveWatchesRequest("/a", 1, only_check=True)) is ZkErrorCode.OK
    assert zk.code(RemoveWatchesRequest("/a", 3)) is ZkErrorCode.OK
    assert zk.code(RemoveWatchesRequest("/a", 1, only_check=True)) is ZkErrorCode.NO_WATCHER
    zk.ok(DeleteRequest("/a", -1))
    assert world.events(zk) == []


def test_counts_and_lost_connections(world: World, zk: Client) -> None:
    zk.create("/a")
    zk.create("/a/b")
    zk.create("/ab")
    assert zk.ok(GetAllChildrenNumberRequest("/a")) == NumberResponse(1)
    zk.ok(GetDataRequest("/a", True))
    world.server.lose_cnxn(zk.cnxn, "cable pulled")
    assert world.server.tree.data_watches.count == 0
    assert zk.session_id in world.server.sessions.sessions


def test_replay_gives_the_same_tree(world: World, zk: Client) -> None:
    other = world.open()
    zk.create("/a", b"1")
    zk.create("/a/s-", flags=2)
    other.create("/a/e", flags=1)
    zk.ok(SetDataRequest("/a", b"2", 0))
    zk.ok(
        MultiRequest(
            (CreateRequest("/m", None, OPEN_ACL_UNSAFE, 0), DeleteRequest("/a/s-0000000000", -1))
        )
    )
    zk.code(DeleteRequest("/none", -1))
    other.ok(CloseSessionRequest())
    again = ZooKeeperServer(tick_time_ms=TICK, now_ms=0, wall_ms=0)
    for effect in world.effects:
        if isinstance(effect, AppendTxn):
            again.replay(effect.header, effect.txn)
    assert list(again.tree.rows()) == list(world.server.tree.rows())
    assert list(again.sessions.sessions) == [zk.session_id]
    assert again.tree.last_processed_zxid == world.server.tree.last_processed_zxid
    copy = ZooKeeperServer(tick_time_ms=TICK, now_ms=0, wall_ms=0)
    copy.load_snapshot(again.tree.last_processed_zxid, {zk.session_id: 2000}, again.tree.rows())
    assert list(copy.tree.rows()) == list(again.tree.rows())
    assert any(isinstance(e, AppendTxn) and isinstance(e.txn, CreateTxn) for e in world.effects)


def test_data_response_of_a_node_without_data(zk: Client) -> None:
    zk.ok(CreateRequest("/n", None, OPEN_ACL_UNSAFE, 0))
    body = zk.ok(GetDataRequest("/n", False))
    assert isinstance(body, DataResponse)
    assert (body.data, body.stat.data_length) == (None, 0)
