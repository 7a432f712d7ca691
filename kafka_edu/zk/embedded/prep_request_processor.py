"""Check a write and turn it into a transaction, before anything changes (ZooKeeper:
PrepRequestProcessor.java).

A write request is checked against the tree. The result is a transaction, or an error for the
client. This module does not change the tree. In a multi, later ops must see the effects of earlier
ops. So these effects are kept in change records, separate from the tree. If one op fails, the
change records are dropped. The tree needs no rollback, because it has not changed.

The checks are made in ZooKeeper's order. If several checks would fail, the first one decides which
error the client gets.
"""

from collections.abc import Sequence

from kafka_edu.zk.embedded import acl as access
from kafka_edu.zk.embedded.acl import AuthId
from kafka_edu.zk.embedded.data_tree import SPECIAL_PATHS, DataNode, DataTree
from kafka_edu.zk.embedded.txn import (
    CheckTxn,
    CreateTxn,
    DeleteTxn,
    MultiTxn,
    OpTxn,
    SetAclTxn,
    SetDataTxn,
)
from kafka_edu.zk.jute.op_code import CreateMode, Perms
from kafka_edu.zk.jute.proto import (
    AclList,
    CheckVersionRequest,
    CreateRequest,
    DeleteRequest,
    MultiRequest,
    SetAclRequest,
    SetDataRequest,
    UnservedRequest,
    WriteRequest,
)
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from kafka_edu.zk.zk_path import validate_path


class MultiFailed(ZkError):
    """Raised if a multi is refused. `index` is the position of the op that failed."""

    def __init__(self, index: int, error: ZkError) -> None:
        super().__init__(error.code, error.path)
        self.index = index


class _ChangeRecord:
    """The state that a node will have after the earlier ops of the same multi
    (ZooKeeperServer.ChangeRecord).
    """

    __slots__ = ("acl", "aversion", "child_count", "creates", "ephemeral_owner", "version")

    def __init__(
        self,
        acl: AclList,
        version: int,
        creates: int,
        aversion: int,
        ephemeral_owner: int,
        child_count: int,
    ) -> None:
        self.acl = acl
        self.version = version
        self.creates = creates
        self.aversion = aversion
        self.ephemeral_owner = ephemeral_owner
        self.child_count = child_count


def _record(node: DataNode) -> _ChangeRecord:
    return _ChangeRecord(
        node.acl, node.version, node.creates, node.aversion, node.ephemeral_owner, node.num_children
    )


def _next_version(path: str, expected: int, version: int) -> int:
    if expected not in (-1, version):
        raise ZkError(ZkErrorCode.BAD_VERSION, path)
    return version + 1


class PrepRequestProcessor:
    """Checks one write request of one session.

    A new object is made for each request, so a change record never affects another request.
    """

    def __init__(self, tree: DataTree, session_id: int, identities: Sequence[AuthId]) -> None:
        self._tree = tree
        self._session_id = session_id
        self._identities = identities
        self._changed: dict[str, _ChangeRecord | None] = {}

    def prepare(self, request: WriteRequest) -> OpTxn | MultiTxn:
        """Check `request` and return its transaction. If a check fails, raise ZkError, or
        MultiFailed for a multi.
        """
        if not isinstance(request, MultiRequest):
            return self._prepare(request)
        txns: list[OpTxn] = []
        for index, op in enumerate(request.ops):
            try:
                txns.append(self._prepare(op))
            except ZkError as error:
                raise MultiFailed(index, error) from None
        return MultiTxn(tuple(txns))

    def _prepare(
        self,
        op: (
            CreateRequest
            | DeleteRequest
            | SetDataRequest
            | SetAclRequest
            | CheckVersionRequest
            | UnservedRequest
        ),
    ) -> OpTxn:
        match op:
            case CreateRequest():
                return self._create(op)
            case DeleteRequest():
                return self._delete(op)
            case SetDataRequest():
                return self._set_data(op)
            case SetAclRequest():
                return self._set_acl(op)
            case CheckVersionRequest():
                return self._check(op)
            case UnservedRequest():
                raise ZkError(op.code)

    def _get(self, path: str) -> _ChangeRecord:
        """Return the state of the node before the present op. The op may change the returned
        record.
        """
        if path in self._changed:
            record = self._changed[path]
            if record is None:
                raise ZkError(ZkErrorCode.NO_NODE, path)
            return record
        record = self._changed[path] = _record(self._tree.node(path))
        return record

    def _exists(self, path: str) -> bool:
        return (
            self._changed[path] is not None if path in self._changed else path in self._tree.nodes
        )

    def _check_acl(self, path: str, acl: AclList, perm: Perms) -> None:
        access.check(path, acl, perm, self._identities)

    def _create(self, op: CreateRequest) -> CreateTxn:
        path = op.path
        try:
            mode = CreateMode(op.flags)
        except ValueError:
            raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path) from None
        if mode >= CreateMode.CONTAINER:
            raise ZkError(ZkErrorCode.UNIMPLEMENTED, path)
        if "/" not in path or "\0" in path:
            raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path)
        parent_path = path[: path.rindex("/")] or "/"
        acl = access.fixup(path, op.acl, self._identities)
        parent = self._get(parent_path)
        self._check_acl(path, parent.acl, Perms.CREATE)
        if mode.is_sequential:
            path = f"{path}{parent.creates:010d}"
        validate_path(path)
        if self._exists(path):
            raise ZkError(ZkErrorCode.NODE_EXISTS, path)
        if parent.ephemeral_owner:
            raise ZkError(ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS, path)
        parent.creates += 1
        parent.child_count += 1
        owner = self._session_id if mode.is_ephemeral else 0
        self._changed[path] = _ChangeRecord(acl, 0, 0, 0, owner, 0)
        return CreateTxn(path, op.data, acl, owner, parent.creates)

    def _delete(self, op: DeleteRequest) -> DeleteTxn:
        path = op.path
        if "/" not in path or "\0" in path or path in SPECIAL_PATHS:
            raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path)
        parent = self._get(path[: path.rindex("/")] or "/")
        node = self._get(path)
        self._check_acl(path, parent.acl, Perms.DELETE)
        _next_version(path, op.version, node.version)
        if node.child_count:
            raise ZkError(ZkErrorCode.NOT_EMPTY, path)
        parent.child_count -= 1
        self._changed[path] = None
        return DeleteTxn(path)

    def _set_data(self, op: SetDataRequest) -> SetDataTxn:
        validate_path(op.path)
        node = self._get(op.path)
        self._check_acl(op.path, node.acl, Perms.WRITE)
        node.version = _next_version(op.path, op.version, node.version)
        return SetDataTxn(op.path, op.data, node.version)

    def _set_acl(self, op: SetAclRequest) -> SetAclTxn:
        validate_path(op.path)
        acl = access.fixup(op.path, op.acl, self._identities)
        node = self._get(op.path)
        self._check_acl(op.path, node.acl, Perms.ADMIN)
        node.aversion = _next_version(op.path, op.version, node.aversion)
        node.acl = acl
        return SetAclTxn(op.path, acl, node.aversion)

    def _check(self, op: CheckVersionRequest) -> CheckTxn:
        validate_path(op.path)
        node = self._get(op.path)
        self._check_acl(op.path, node.acl, Perms.READ)
        _next_version(op.path, op.version, node.version)
        return CheckTxn(op.path)
