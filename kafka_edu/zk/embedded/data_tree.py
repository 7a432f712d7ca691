"""The tree of znodes (ZooKeeper: DataTree.java, DataNode.java).

One dict maps each full path to its node. A parent knows the names of its children. Every change has
a zxid. A node's Stat has the zxids of three changes: the creation of the node (czxid), the latest
change of its data (mzxid), and the latest creation or deletion of a child (pzxid).

A node counts how many children were ever created below it (`creates`). A sequential name gets its
number from this count, so no number is used twice, even after deletions. The cversion that a client
sees counts creations and deletions together: creates + (creates - children). In a new tree, `/` has
cversion -1, because its child /zookeeper exists from the start and was never created.

On the way from a broker's death to the new leader, `kill_session` deletes the dead broker's znode.
The next step is `WatchManager.trigger` (watch_manager.py).
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kafka_edu.trace.events.zk import ZnodeAclChanged, ZnodeChanged, ZnodeCreated, ZnodeDeleted
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.quotas import Quotas
from kafka_edu.zk.embedded.txn import CreateTxn, DeleteTxn, OpTxn, SetAclTxn, SetDataTxn, TxnHeader
from kafka_edu.zk.embedded.watch_manager import WatchManager
from kafka_edu.zk.jute.proto import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, AclList
from kafka_edu.zk.zk_client import Stat, WatchedEvent, WatchType, ZkError, ZkErrorCode

SPECIAL_PATHS: Final = ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")
"""Znodes that exist from the start and cannot be deleted."""
MAX_TRACED_DATA: Final = 256


class DataNode:
    """One znode: its data, its access list, its versions and zxids, and the names of its children.

    `creates` is the number of children that were ever created. `children` has the names of the
    present children in the order of their creation. It is a dict, which serves as an ordered set.
    """

    __slots__ = (
        "acl",
        "aversion",
        "children",
        "creates",
        "ctime",
        "czxid",
        "data",
        "ephemeral_owner",
        "mtime",
        "mzxid",
        "pzxid",
        "version",
    )

    def __init__(
        self, data: bytes | None, acl: AclList, zxid: int, time_ms: int, ephemeral_owner: int = 0
    ) -> None:
        self.data = data
        self.acl = acl
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = time_ms
        self.version = self.creates = self.aversion = 0
        self.ephemeral_owner = ephemeral_owner
        self.children: dict[str, None] | None = None

    @property
    def num_children(self) -> int:
        return len(self.children) if self.children else 0

    def stat(self) -> Stat:
        children = self.num_children
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            self.creates * 2 - children,
            self.aversion,
            self.ephemeral_owner,
            len(self.data) if self.data else 0,
            children,
            self.pzxid,
        )


class NodeRow(NamedTuple):
    """All fields of one znode, as a snapshot stores them."""

    path: str
    data: bytes | None
    acl: AclList
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int
    creates: int
    aversion: int
    ephemeral_owner: int


def parent_of(path: str) -> str:
    """Return the path of the parent znode. Examples: `/a/b` → `/a`, and `/a` → `/`."""
    return path[: path.rindex("/")] or "/"


def _shown(data: bytes | None) -> str:
    return data[:MAX_TRACED_DATA].decode("utf-8", "replace") if data else ""


class DataTree:
    """All znodes, the ephemeral znodes of each session, and the watches.

    While the server recovers, `load` also adds znodes. Later, only `apply` and `kill_session`
    change them. The ZooKeeperServer owns the tree.
    """

    def __init__(self, notify: Callable[[int, WatchedEvent], None]) -> None:
        self.nodes: dict[str, DataNode] = {}
        self.ephemerals: dict[int, dict[str, None]] = {}
        """Session id → the paths of its ephemeral znodes, in the order of their creation. They are
        deleted in the same order.
        """
        self.data_watches = WatchManager("data", notify)
        self.child_watches = WatchManager("child", notify)
        self.last_processed_zxid = 0
        self._quotas = Quotas(self.nodes, self._set_quota_stats)
        self._trace: Tracer | None = None
        for path in SPECIAL_PATHS:
            acl = READ_ACL_UNSAFE if path == "/zookeeper/config" else OPEN_ACL_UNSAFE
            self.nodes[path] = DataNode(b"", acl, 0, 0)
            if path != "/":
                self._link(path)

    def tell(self, trace: Tracer | None) -> None:
        """Emit events for all later changes and watches. The server calls this when its recovery is
        complete.
        """
        self._trace = self.data_watches.trace = self.child_watches.trace = trace

    def node(self, path: str) -> DataNode:
        """Return the node at `path`. Raises ZkError(NO_NODE) if there is no such node."""
        node = self.nodes.get(path)
        if node is None:
            raise ZkError(ZkErrorCode.NO_NODE, path)
        return node

    def children(self, path: str) -> tuple[str, ...]:
        return tuple(self.node(path).children or ())

    @property
    def ephemeral_count(self) -> int:
        return sum(map(len, self.ephemerals.values()))

    def apply(self, header: TxnHeader, txn: OpTxn) -> Stat | None:
        """Apply one transaction to the tree, and fire the watches of the changed path. O(watches on
        the path).

        Return the changed node's Stat, or None for a delete or a check.
        """
        match txn:
            case CreateTxn():
                return self._create(header, txn)
            case SetDataTxn():
                return self._set_data(header, txn)
            case DeleteTxn():
                self._delete(header, txn.path)
                return None
            case SetAclTxn():
                return self._set_acl(header, txn)
            case _:
                return None

    def kill_session(self, header: TxnHeader) -> None:
        """Delete the ephemeral znodes of a session that has ended."""
        for path in self.ephemerals.pop(header.session_id, {}):
            self._delete(header, path)

    def remove_watcher(self, watcher: int) -> None:
        self.data_watches.remove_watcher(watcher)
        self.child_watches.remove_watcher(watcher)

    def rows(self) -> Iterator[NodeRow]:
        """Yield every node for a snapshot: parents before their children, siblings in order."""
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            n = self.nodes[path]
            yield NodeRow(
                path,
                n.data,
                n.acl,
                n.czxid,
                n.mzxid,
                n.pzxid,
                n.ctime,
                n.mtime,
                n.version,
                n.creates,
                n.aversion,
                n.ephemeral_owner,
            )
            prefix = path if path == "/" else path + "/"
            waiting.extend(prefix + name for name in reversed(n.children or ()))

    def load(self, row: NodeRow) -> None:
        """Add a node that was read from a snapshot. Its parent must be in the tree already."""
        node = self.nodes.get(row.path)
        if node is None:
            node = self.nodes[row.path] = DataNode(
                row.data, row.acl, row.czxid, row.ctime, row.ephemeral_owner
            )
            self._link(row.path)
            self._quotas.loaded(row.path)
            if row.ephemeral_owner:
                self.ephemerals.setdefault(row.ephemeral_owner, {})[row.path] = None
        node.data, node.acl, node.czxid, node.mzxid, node.pzxid = (
            row.data,
            row.acl,
            row.czxid,
            row.mzxid,
            row.pzxid,
        )
        node.ctime, node.mtime, node.version, node.creates, node.aversion = (
            row.ctime,
            row.mtime,
            row.version,
            row.creates,
            row.aversion,
        )

    def _link(self, path: str) -> DataNode:
        slash = path.rindex("/")
        parent = self.nodes[path[:slash] or "/"]
        if parent.children is None:
            parent.children = {}
        parent.children[path[slash + 1 :]] = None
        return parent

    def _create(self, header: TxnHeader, txn: CreateTxn) -> Stat:
        path, zxid = txn.path, header.zxid
        node = self.nodes[path] = DataNode(
            txn.data, txn.acl, zxid, header.time_ms, txn.ephemeral_owner
        )
        parent = self._link(path)
        if txn.parent_creates > parent.creates:
            parent.creates = txn.parent_creates
            parent.pzxid = zxid
        if txn.ephemeral_owner:
            self.ephemerals.setdefault(txn.ephemeral_owner, {})[path] = None
        stat = node.stat()
        if self._trace:
            event = self._trace(
                ZnodeCreated(
                    path=path,
                    zxid=zxid,
                    session_id=header.session_id,
                    ephemeral=txn.ephemeral_owner != 0,
                    data_length=stat.data_length,
                    data=_shown(txn.data),
                )
            )
            with self._trace.because(event):
                self._created(path, zxid)
        else:
            self._created(path, zxid)
        self._quotas.created(path, stat.data_length)
        return stat

    def _created(self, path: str, zxid: int) -> None:
        self.data_watches.trigger(path, WatchType.CREATED, zxid)
        self.child_watches.trigger(parent_of(path), WatchType.CHILDREN_CHANGED, zxid)

    def _set_data(self, header: TxnHeader, txn: SetDataTxn) -> Stat:
        node = self.nodes[txn.path]
        growth = len(txn.data or b"") - len(node.data or b"")
        node.data = txn.data
        node.version = txn.version
        node.mzxid = header.zxid
        node.mtime = header.time_ms
        stat = node.stat()
        if self._trace:
            event = self._trace(
                ZnodeChanged(
                    path=txn.path,
                    zxid=header.zxid,
                    session_id=header.session_id,
                    version=txn.version,
                    data_length=stat.data_length,
                    data=_shown(txn.data),
                )
            )
            with self._trace.because(event):
                self.data_watches.trigger(txn.path, WatchType.DATA_CHANGED, header.zxid)
        else:
            self.data_watches.trigger(txn.path, WatchType.DATA_CHANGED, header.zxid)
        self._quotas.changed(txn.path, growth)
        return stat

    def _set_quota_stats(self, path: str, data: bytes) -> None:
        """Write the data of a zookeeper_stats node, which holds the present numbers of a quota.

        The server makes this change by itself, without a transaction. So the change has no session,
        zxid and version stay the same, and no watch fires.
        """
        node = self.nodes[path]
        node.data = data
        if self._trace:
            self._trace(
                ZnodeChanged(
                    path=path,
                    zxid=node.mzxid,
                    session_id=0,
                    version=node.version,
                    data_length=len(data),
                    data=_shown(data),
                )
            )

    def _set_acl(self, header: TxnHeader, txn: SetAclTxn) -> Stat:
        node = self.nodes[txn.path]
        node.acl = txn.acl
        node.aversion = txn.version
        if self._trace:
            self._trace(
                ZnodeAclChanged(
                    path=txn.path,
                    zxid=header.zxid,
                    session_id=header.session_id,
                    version=txn.version,
                )
            )
        return node.stat()

    def _delete(self, header: TxnHeader, path: str) -> None:
        node = self.nodes.pop(path)
        slash = path.rindex("/")
        parent = self.nodes[path[:slash] or "/"]
        if parent.children is not None:
            del parent.children[path[slash + 1 :]]
        parent.pzxid = max(parent.pzxid, header.zxid)
        if node.ephemeral_owner and node.ephemeral_owner in self.ephemerals:
            owned = self.ephemerals[node.ephemeral_owner]
            del owned[path]
            if not owned:
                del self.ephemerals[node.ephemeral_owner]
        if self._trace:
            event = self._trace(
                ZnodeDeleted(path=path, zxid=header.zxid, session_id=header.session_id)
            )
            with self._trace.because(event):
                self._deleted(path, header.zxid)
        else:
            self._deleted(path, header.zxid)
        self._quotas.deleted(path, len(node.data or b""))

    def _deleted(self, path: str, zxid: int) -> None:
        event = self.data_watches.trigger(path, WatchType.DELETED, zxid)
        self.child_watches.trigger(path, WatchType.DELETED, zxid, event)
        self.child_watches.trigger(parent_of(path), WatchType.CHILDREN_CHANGED, zxid)
