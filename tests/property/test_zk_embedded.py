"""The embedded ZooKeeper is compared with a model of a tree, gets random bytes as requests, and
survives crashes of its disk.
"""

import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.sim.memory_file_system import MemoryFileSystem, SimulatedCrash
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.zk.embedded.file_txn_snap_log import FileTxnSnapLog
from kafka_edu.zk.embedded.session_tracker import SessionTracker
from kafka_edu.zk.embedded.sync_request_processor import SyncRequestProcessor
from kafka_edu.zk.embedded.txn_serialization import decode_txn, encode_txn
from kafka_edu.zk.embedded.zookeeper_server import (
    AppendTxn,
    ConnectReply,
    Effect,
    Reply,
    ZooKeeperServer,
)
from kafka_edu.zk.jute.codec import JuteError, encode_int
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CheckVersionRequest,
    CloseSessionRequest,
    ConnectRequest,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    ErrorResult,
    MultiRequest,
    MultiResponse,
    Request,
    SetDataRequest,
)
from kafka_edu.zk.jute.serialization import decode_connect, decode_request
from kafka_edu.zk.zk_client import ZkErrorCode

T = TypeVar("T")

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
DATA = st.binary(max_size=5)
VERSIONS = st.sampled_from([-1, -1, -1, 0, 1])
ONE_OP = st.one_of(
    st.builds(
        lambda path, data, flags: CreateRequest(path, data, OPEN_ACL_UNSAFE, flags),
        PATHS,
        DATA,
        st.integers(0, 3),
    ),
    st.builds(DeleteRequest, PATHS, VERSIONS),
    st.builds(SetDataRequest, PATHS, DATA, VERSIONS),
    st.builds(CheckVersionRequest, PATHS, VERSIONS),
)
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    ONE_OP,
    ONE_OP,
    st.lists(ONE_OP, max_size=4).map(lambda ops: MultiRequest(tuple(ops))),
    st.just(CloseSessionRequest()),
)


class Model:
    """A plain tree: path → [data, version, owner, creates, deletes].

    Each operation works on a copy. A multi is kept only if all its parts succeeded.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[bytes, int, int, int, int]] = {"/": (b"", 0, 0, 0, 0)}

    def copy(self) -> "Model":
        other = Model()
        other.nodes = dict(self.nodes)
        return other

    def children(self, path: str) -> list[str]:
        prefix = "/" if path == "/" else path + "/"
        return [
            other
            for other in self.nodes
            if other != "/" and other.startswith(prefix) and "/" not in other[len(prefix) :]
        ]

    def apply(self, op: Request, session: int) -> ZkErrorCode:
        match op:
            case CreateRequest(path, data, _, flags):
                return self._create(path, data or b"", flags, session)
            case DeleteRequest(path, version):
                return self._delete(path, version)
            case SetDataRequest(path, data, version):
                if path not in self.nodes:
                    return ZkErrorCode.NO_NODE
                _, current, owner, creates, deletes = self.nodes[path]
                if version not in (-1, current):
                    return ZkErrorCode.BAD_VERSION
                self.nodes[path] = (data or b"", current + 1, owner, creates, deletes)
            case CheckVersionRequest(path, version):
                if path not in self.nodes:
                    return ZkErrorCode.NO_NODE
                if version not in (-1, self.nodes[path][1]):
                    return ZkErrorCode.BAD_VERSION
            case _:
                raise AssertionError(op)
        return ZkErrorCode.OK

    def _create(self, path: str, data: bytes, flags: int, session: int) -> ZkErrorCode:
        parent = path[: path.rindex("/")] or "/"
        if parent not in self.nodes:
            return ZkErrorCode.NO_NODE
        p_data, p_version, p_owner, creates, deletes = self.nodes[parent]
        if flags & 2:
            path = f"{path}{creates:010d}"
        if path in self.nodes:
            return ZkErrorCode.NODE_EXISTS
        if p_owner:
            return ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS
        self.nodes[parent] = (p_data, p_version, p_owner, creates + 1, deletes)
        self.nodes[path] = (data, 0, session if flags & 1 else 0, 0, 0)
        return ZkErrorCode.OK

    def _delete(self, path: str, version: int) -> ZkErrorCode:
        if path not in self.nodes:
            return ZkErrorCode.NO_NODE
        if version not in (-1, self.nodes[path][1]):
            return ZkErrorCode.BAD_VERSION
        if self.children(path):
            return ZkErrorCode.NOT_EMPTY
        self.remove(path)
        return ZkErrorCode.OK

    def remove(self, path: str) -> None:
        del self.nodes[path]
        parent = path[: path.rindex("/")] or "/"
        data, version, owner, creates, deletes = self.nodes[parent]
        self.nodes[parent] = (data, version, owner, creates, deletes + 1)

    def close(self, session: int) -> None:
        for path in [path for path, node in self.nodes.items() if node[2] == session]:
            self.remove(path)


def connect(server: ZooKeeperServer) -> tuple[int, int, list[Effect]]:
    cnxn = server.open_cnxn("127.0.0.1:1")
    effects = server.connect(cnxn, ConnectRequest(0, 0, 5000, 0, bytes(16), False), 0, 0)
    (welcome,) = [effect.response for effect in effects if isinstance(effect, ConnectReply)]
    return cnxn, welcome.session_id, effects


def assert_same(server: ZooKeeperServer, model: Model) -> None:
    seen = {}
    for path, node in server.tree.nodes.items():
        if not path.startswith("/zookeeper"):
            stat = node.stat()
            assert stat.num_children == len(server.tree.children(path))
            cversion = stat.cversion + (
                1 if path == "/" else 0
            )  # /zookeeper is a child that was never created
            deletes = cversion - node.creates
            seen[path] = (
                node.data or b"",
                node.version,
                node.ephemeral_owner,
                node.creates,
                deletes,
            )
    assert seen == model.nodes
    owned = {path for paths in server.tree.ephemerals.values() for path in paths}
    assert owned == {path for path, node in model.nodes.items() if node[2]}


@given(st.lists(REQUESTS, max_size=40))
@settings(max_examples=100, deadline=None)
def test_the_tree_behaves_as_the_model_and_replays_to_itself(requests: list[Request]) -> None:
    server, model = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0), Model()
    appended: list[AppendTxn] = []

    def keep(effects: Sequence[Effect]) -> None:
        appended.extend(effect for effect in effects if isinstance(effect, AppendTxn))

    cnxn, session, effects = connect(server)
    keep(effects)
    for xid, request in enumerate(requests, 1):
        effects = server.request(cnxn, xid, request, 0, xid)
        keep(effects)
        (reply,) = [effect for effect in effects if isinstance(effect, Reply)]
        match request:
            case CloseSessionRequest():
                model.close(session)
                cnxn, session, effects = connect(server)
                keep(effects)
            case MultiRequest(ops):
                attempt = model.copy()
                failed = next(
                    (code for op in ops if (code := attempt.apply(op, session))), ZkErrorCode.OK
                )
                assert isinstance(reply.body, MultiResponse)
                assert len(reply.body.results) == len(ops)
                if failed:
                    codes = [
                        result.code
                        for result in reply.body.results
                        if isinstance(result, ErrorResult)
                    ]
                    assert next(code for code in codes if code) is failed
                else:
                    model = attempt
            case _:
                before = set(model.nodes)
                assert reply.code is model.apply(request, session)
                if isinstance(reply.body, CreateResponse):
                    assert {reply.body.path} == set(model.nodes) - before
        assert_same(server, model)
    zxids = [append.header.zxid for append in appended]
    assert zxids == list(range(1, len(zxids) + 1))
    again = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
    for append in appended:
        again.replay(*decode_txn(encode_txn(append.header, append.txn)))
    assert list(again.tree.rows()) == list(server.tree.rows())
    assert list(again.sessions.sessions) == list(server.sessions.sessions)


async def inline(call: Callable[[], T], /) -> T:
    return call()


@given(
    st.lists(st.lists(REQUESTS, min_size=1, max_size=5), min_size=1, max_size=12),
    st.integers(0, 3000),
    st.integers(0, 2**32),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_whatever_was_answered_is_there_after_a_crash(
    batches: list[list[Request]], crash_after: int, seed: int, power: bool
) -> None:
    disk, loop = MemoryFileSystem(), SimLoop()
    live = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
    answered: list[int] = []

    def perform(effects: Sequence[Effect]) -> None:
        answered.extend(effect.zxid for effect in effects if isinstance(effect, Reply))

    log = FileTxnSnapLog(disk, "/zk")
    sync = SyncRequestProcessor(
        live,
        log,
        perform,
        time=SimTime(loop),
        run_blocking=inline,
        on_failure=lambda error: None,
        snap_count=7,
    )
    disk.crash_after(crash_after)
    history: list[AppendTxn] = []

    def submit(effects: Sequence[Effect]) -> None:
        history.extend(effect for effect in effects if isinstance(effect, AppendTxn))
        sync.submit(effects)

    async def go() -> None:
        cnxn, _, effects = connect(live)
        submit(effects)
        xid = 0
        for batch in batches:
            for request in batch:
                xid += 1
                submit(live.request(cnxn, xid, request, 0, xid))
                if isinstance(request, CloseSessionRequest):
                    cnxn, _, effects = connect(live)
                    submit(effects)
            await sync.drain()

    with contextlib.suppress(SimulatedCrash):
        loop.run_until_complete(awaited(go()))
    disk.restart()
    if power:
        disk.lose_power(random.Random(seed))
    recovered = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
    FileTxnSnapLog(disk, "/zk").restore(recovered)
    last = recovered.tree.last_processed_zxid
    assert last >= max(answered, default=0)
    expected = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
    for append in history[:last]:
        expected.replay(append.header, append.txn)
    assert list(recovered.tree.rows()) == list(expected.tree.rows())
    assert list(recovered.sessions.sessions) == list(expected.sessions.sessions)


async def awaited(work: Awaitable[T]) -> T:
    return await work


@given(st.binary(max_size=80))
@settings(deadline=None)
def test_garbage_is_refused_and_never_crashes(data: bytes) -> None:
    for decode in (decode_connect, decode_txn):
        with contextlib.suppress(JuteError, ValueError):
            decode(data)
    server = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
    cnxn, _, _ = connect(server)
    before = list(server.tree.rows())
    for op in (*range(-12, 25), *range(99, 109)):
        xid, request = decode_request(encode_int(1) + encode_int(op) + data)
        effects = server.request(cnxn, xid, request, 0, 0)
        if server.cnxns.get(cnxn) is None:
            cnxn, _, _ = connect(server)
        assert effects
    assert [row for row in server.tree.rows() if row.path.startswith("/zookeeper")] == before[1:]


@given(
    st.integers(1, 700), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 900)), max_size=60)
)
@settings(deadline=None)
def test_a_session_lives_for_its_timeout_and_at_most_a_tick_longer(
    tick: int, steps: list[tuple[int, int]]
) -> None:
    tracker = SessionTracker(tick, 0)
    heard: dict[int, tuple[int, int]] = {}
    now = 0
    for session, wait in steps:
        now += wait
        for expired in tracker.poll(now):
            last, timeout = heard.pop(expired)
            assert last + timeout <= now
            tracker.remove(expired)
        assert all(now < last + timeout + tick + 1 for last, timeout in heard.values())
        if session in heard:
            assert tracker.touch(session, now)
            heard[session] = (now, heard[session][1])
        else:
            timeout = tracker.negotiate(session * 200)
            tracker.add(session, timeout, now)
            heard[session] = (now, timeout)
    assert sorted(tracker.sessions) == sorted(heard)
