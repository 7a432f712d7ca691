"""Answer reads from the tree, and set their watches (ZooKeeper: FinalRequestProcessor.java).

A read of a missing node sets no watch, with one exception: `exists` sets a watch, which fires when
the node is created. A read without permission sets no watch.
"""

from collections.abc import Callable

from kafka_edu.zk.embedded import acl as access
from kafka_edu.zk.embedded.acl import AuthId
from kafka_edu.zk.embedded.data_tree import DataTree
from kafka_edu.zk.jute.op_code import Perms, WatcherType
from kafka_edu.zk.jute.proto import (
    AclResponse,
    AuthPacket,
    ChildrenResponse,
    DataResponse,
    ErrorResult,
    ExistsRequest,
    GetAclRequest,
    GetAllChildrenNumberRequest,
    GetChildrenRequest,
    GetDataRequest,
    GetEphemeralsRequest,
    MultiReadRequest,
    MultiResponse,
    NumberResponse,
    PathResponse,
    PathsResponse,
    PingRequest,
    ReadOp,
    RemoveWatchesRequest,
    Request,
    Response,
    SetWatchesRequest,
    StatResponse,
    SyncRequest,
    UnservedRequest,
)
from kafka_edu.zk.zk_client import WatchedEvent, WatchType, ZkError, ZkErrorCode


class ServerCnxn:
    """One connection as the server knows it: the session's id (0 until the client's
    ConnectRequest), and the identities that the client has proved.
    """

    __slots__ = ("id", "identities", "peer", "session_id")

    def __init__(self, cnxn_id: int, peer: str) -> None:
        self.id = cnxn_id
        self.peer = peer
        self.session_id = 0
        self.identities = [AuthId("ip", peer.rpartition(":")[0])]


class FinalRequestProcessor:
    """Answers the read requests that the ZooKeeperServer passes to it."""

    def __init__(self, tree: DataTree, notify: Callable[[int, WatchedEvent], None]) -> None:
        self._tree = tree
        self._notify = notify

    def read(self, cnxn: ServerCnxn, request: Request) -> Response | None:
        """Return the answer to a request that changes no znode, and set the requested watch. Raises
        ZkError if the read is refused.
        """
        tree = self._tree
        match request:
            case GetDataRequest() | GetChildrenRequest():
                return self._read_node(cnxn, request)
            case ExistsRequest(path, watch):
                if "\0" in path:
                    raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path)
                if watch:
                    tree.data_watches.add(path, cnxn.id)
                return StatResponse(tree.node(path).stat())
            case PingRequest():
                return None
            case SyncRequest(path):
                return PathResponse(path)
            case GetAclRequest(path):
                node = tree.node(path)
                access.check(path, node.acl, Perms.READ | Perms.ADMIN, cnxn.identities)
                shown = (
                    node.acl
                    if access.allows(node.acl, Perms.ADMIN, cnxn.identities)
                    else access.without_hashes(node.acl)
                )
                return AclResponse(shown, node.stat())
            case SetWatchesRequest():
                self._set_watches(cnxn.id, request)
                return None
            case RemoveWatchesRequest():
                self._remove_watches(cnxn.id, request)
                return None
            case AuthPacket(scheme, auth):
                identity = access.authenticate(scheme, auth, cnxn.identities[0].id)
                if identity is None:
                    raise ZkError(ZkErrorCode.AUTH_FAILED)
                if identity not in cnxn.identities:
                    cnxn.identities.append(identity)
                return None
            case GetEphemeralsRequest(prefix):
                return PathsResponse(
                    tuple(
                        path
                        for path in tree.ephemerals.get(cnxn.session_id, ())
                        if path.startswith(prefix)
                    )
                )
            case GetAllChildrenNumberRequest(path):
                access.check(path, tree.node(path).acl, Perms.READ, cnxn.identities)
                below = path if path == "/" else path + "/"
                return NumberResponse(
                    sum(1 for other in tree.nodes if other.startswith(below)) - (path == "/")
                )
            case MultiReadRequest(ops):
                return MultiResponse(tuple(self._read_or_error(cnxn, op) for op in ops))
            case UnservedRequest(_, code):
                raise ZkError(code)
            case _:
                raise ZkError(ZkErrorCode.UNIMPLEMENTED)

    def _read_node(self, cnxn: ServerCnxn, request: ReadOp) -> DataResponse | ChildrenResponse:
        node = self._tree.node(request.path)
        access.check(request.path, node.acl, Perms.READ, cnxn.identities)
        if isinstance(request, GetDataRequest):
            if request.watch:
                self._tree.data_watches.add(request.path, cnxn.id)
            return DataResponse(node.data, node.stat())
        if request.watch:
            self._tree.child_watches.add(request.path, cnxn.id)
        return ChildrenResponse(
            tuple(node.children or ()), node.stat() if request.with_stat else None
        )

    def _read_or_error(
        self, cnxn: ServerCnxn, op: ReadOp
    ) -> DataResponse | ChildrenResponse | ErrorResult:
        try:
            return self._read_node(cnxn, op)
        except ZkError as error:
            return ErrorResult(error.code)

    def _set_watches(self, cnxn_id: int, request: SetWatchesRequest) -> None:
        """Set the watches of a client that has reconnected (DataTree.setWatches). If a znode has
        changed since the last zxid that the client saw, its watch is fired at once instead.
        """
        tree, seen = self._tree, request.relative_zxid
        data, child = tree.data_watches, tree.child_watches
        for path in request.data_watches:
            node = tree.nodes.get(path)
            if node is None:
                data.fire(cnxn_id, WatchedEvent(WatchType.DELETED, path), 0)
            elif node.mzxid > seen:
                data.fire(cnxn_id, WatchedEvent(WatchType.DATA_CHANGED, path), node.mzxid)
            else:
                data.add(path, cnxn_id)
        for path in request.exist_watches:
            if path in tree.nodes:
                data.fire(cnxn_id, WatchedEvent(WatchType.CREATED, path), tree.nodes[path].czxid)
            else:
                data.add(path, cnxn_id)
        for path in request.child_watches:
            node = tree.nodes.get(path)
            if node is None:
                child.fire(cnxn_id, WatchedEvent(WatchType.DELETED, path), 0)
            elif node.pzxid > seen:
                child.fire(cnxn_id, WatchedEvent(WatchType.CHILDREN_CHANGED, path), node.pzxid)
            else:
                child.add(path, cnxn_id)

    def _remove_watches(self, cnxn_id: int, request: RemoveWatchesRequest) -> None:
        try:
            kind = WatcherType(request.watcher_type)
        except ValueError:
            raise ZkError(ZkErrorCode.MARSHALLING_ERROR, request.path) from None
        managers = [
            manager
            for manager, other in (
                (self._tree.data_watches, WatcherType.CHILDREN),
                (self._tree.child_watches, WatcherType.DATA),
            )
            if kind is not other
        ]
        found = [
            (manager.contains if request.only_check else manager.remove)(request.path, cnxn_id)
            for manager in managers
        ]
        if not any(found):
            raise ZkError(ZkErrorCode.NO_WATCHER, request.path)
