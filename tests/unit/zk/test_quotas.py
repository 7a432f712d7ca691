"""Quotas of the embedded ZooKeeper: every change counts what lies below a path, and each write of
the count emits an event.
"""

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.zk import ZnodeChanged, ZnodeCreated
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.data_tree import DataTree
from kafka_edu.zk.embedded.txn import CreateTxn, DeleteTxn, OpTxn, SetDataTxn, TxnHeader
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE

SESSION = 7


class Tree(DataTree):
    """Changed by one session, with one zxid a change."""

    def __init__(self) -> None:
        super().__init__(lambda _session, _event: None)

    def do(self, txn: OpTxn) -> None:
        self.last_processed_zxid += 1
        self.apply(TxnHeader(SESSION, 0, self.last_processed_zxid, 0), txn)

    def create(self, path: str, data: bytes = b"") -> None:
        self.do(CreateTxn(path, data, OPEN_ACL_UNSAFE, 0, 0))

    def limit(self, path: str) -> None:
        self.create(f"/zookeeper/quota{path}")
        self.create(f"/zookeeper/quota{path}/zookeeper_limits", b"count=1,bytes=-1")
        self.create(f"/zookeeper/quota{path}/zookeeper_stats", b"count=0,bytes=0")

    def counted(self, path: str) -> str:
        return (self.nodes[f"/zookeeper/quota{path}/zookeeper_stats"].data or b"").decode()


@pytest.fixture
def tree() -> Tree:
    tree = Tree()
    tree.create("/a", b"12345")
    tree.create("/a/b", b"123")
    tree.limit("/a")
    return tree


def test_what_was_there_is_counted_and_then_every_change(tree: Tree) -> None:
    assert tree.counted("/a") == "count=2,bytes=8"
    tree.create("/a/b/c", b"1")
    assert tree.counted("/a") == "count=3,bytes=9"
    tree.do(SetDataTxn("/a/b", b"", 1))
    assert tree.counted("/a") == "count=3,bytes=6"
    tree.do(DeleteTxn("/a/b/c"))
    assert tree.counted("/a") == "count=2,bytes=5"


def test_neighbours_do_not_count(tree: Tree) -> None:
    tree.create("/ab", b"12")
    tree.do(SetDataTxn("/", b"12", 1))
    assert tree.counted("/a") == "count=2,bytes=8"


def test_only_the_nearest_quota_counts(tree: Tree) -> None:
    tree.limit("/a/b")
    tree.create("/a/b/c", b"1")
    assert (tree.counted("/a"), tree.counted("/a/b")) == ("count=2,bytes=8", "count=2,bytes=4")


def test_without_its_limits_a_quota_is_gone(tree: Tree) -> None:
    tree.do(DeleteTxn("/zookeeper/quota/a/zookeeper_limits"))
    tree.create("/a/c")
    assert tree.counted("/a") == "count=2,bytes=8"


@pytest.mark.parametrize(
    "change",
    [SetDataTxn("/a/b", b"1", 1), CreateTxn("/a/c", b"", OPEN_ACL_UNSAFE, 0, 0), DeleteTxn("/a/b")],
)
def test_what_is_no_count_is_counted_anew(tree: Tree, change: OpTxn) -> None:
    other = Tree()
    for path, data in (("/a", b"12345"), ("/a/b", b"123")):
        other.create(path, data)
    other.do(change)
    other.limit("/a")
    tree.do(SetDataTxn("/zookeeper/quota/a/zookeeper_stats", b"nonsense", 1))
    tree.do(change)
    assert tree.counted("/a") == other.counted("/a")


def test_quotas_come_back_with_a_snapshot(tree: Tree) -> None:
    again = Tree()
    for row in tree.rows():
        again.load(row)
    again.create("/a/c", b"12")
    assert again.counted("/a") == "count=3,bytes=10"


def test_the_servers_writing_is_told_but_by_no_version(tree: Tree) -> None:
    path = "/zookeeper/quota/a/zookeeper_stats"
    sink = RingSink()
    tracer = Tracer(Source.of_broker(0), MockTime())
    tracer.add_sink(sink)
    tree.tell(tracer)
    before = tree.nodes[path].stat()
    tree.create("/a/c", b"12")
    assert [envelope.event for envelope in sink.events] == [
        ZnodeCreated(
            path="/a/c",
            zxid=before.czxid + 1,
            session_id=SESSION,
            ephemeral=False,
            data_length=2,
            data="12",
        ),
        ZnodeChanged(
            path=path,
            zxid=before.mzxid,
            session_id=0,
            version=0,
            data_length=16,
            data="count=3,bytes=10",
        ),
    ]
    assert tree.nodes[path].stat() == before._replace(data_length=16)
