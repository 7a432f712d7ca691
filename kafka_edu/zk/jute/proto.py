"""Requests and responses as values (ZooKeeper's zookeeper.jute, module org.apache.zookeeper.proto).

The server's core takes and returns these values. The module `serialization` turns them into bytes
and back. The simulator passes the values without encoding them.
"""

from typing import NamedTuple

from kafka_edu.zk.zk_client import Stat, ZkErrorCode


class Acl(NamedTuple):
    """One entry of an access list: who gets permissions (`scheme`, `id`), and which permissions
    (`perms`, see Perms).
    """

    perms: int
    scheme: str
    id: str


AclList = tuple[Acl, ...]

OPEN_ACL_UNSAFE: AclList = (Acl(31, "world", "anyone"),)
READ_ACL_UNSAFE: AclList = (Acl(1, "world", "anyone"),)


class ConnectRequest(NamedTuple):
    """The first frame that a client sends on a connection. `session_id` 0 requests a new session.

    `read_only` is None if the client is older than ZooKeeper 3.4.
    """

    protocol_version: int
    last_zxid_seen: int
    timeout_ms: int
    session_id: int
    passwd: bytes
    read_only: bool | None


class ConnectResponse(NamedTuple):
    """The answer to a ConnectRequest. If `timeout_ms` is 0, the session has expired or never
    existed.
    """

    protocol_version: int
    timeout_ms: int
    session_id: int
    passwd: bytes
    read_only: bool | None


class CreateRequest(NamedTuple):
    """The request Create, or Create2 if `with_stat`. Create2's answer also has the new znode's
    Stat.
    """

    path: str
    data: bytes | None
    acl: AclList
    flags: int
    with_stat: bool = False


class DeleteRequest(NamedTuple):
    path: str
    version: int


class SetDataRequest(NamedTuple):
    path: str
    data: bytes | None
    version: int


class SetAclRequest(NamedTuple):
    path: str
    acl: AclList
    version: int


class CheckVersionRequest(NamedTuple):
    path: str
    version: int


class ExistsRequest(NamedTuple):
    path: str
    watch: bool


class GetDataRequest(NamedTuple):
    path: str
    watch: bool


class GetChildrenRequest(NamedTuple):
    """The request GetChildren, or GetChildren2 if `with_stat`. GetChildren2's answer also has the
    znode's Stat.
    """

    path: str
    watch: bool
    with_stat: bool = False


class GetAclRequest(NamedTuple):
    path: str


class GetEphemeralsRequest(NamedTuple):
    """The request GetEphemerals: list the ephemeral znodes of the client's own session whose paths
    begin with `prefix`.
    """

    prefix: str


class GetAllChildrenNumberRequest(NamedTuple):
    path: str


class SyncRequest(NamedTuple):
    path: str


class PingRequest(NamedTuple):
    pass


class CloseSessionRequest(NamedTuple):
    pass


class SetWatchesRequest(NamedTuple):
    """The request SetWatches: a client lists its watches after it has reconnected.

    The server sets each watch again. If the znode has changed after `relative_zxid`, it fires the
    watch at once instead.
    """

    relative_zxid: int
    data_watches: tuple[str, ...]
    exist_watches: tuple[str, ...]
    child_watches: tuple[str, ...]


class RemoveWatchesRequest(NamedTuple):
    """The request RemoveWatches, or CheckWatches if `only_check`."""

    path: str
    watcher_type: int
    only_check: bool = False


class AuthPacket(NamedTuple):
    scheme: str
    auth: bytes


class UnservedRequest(NamedTuple):
    """A request that the server cannot serve: its type is unknown or not implemented, or its bytes
    cannot be decoded.

    If the type is unknown, `hang_up` is set and the server closes the connection.
    """

    op: int
    code: ZkErrorCode
    hang_up: bool = False


MultiOp = CreateRequest | DeleteRequest | SetDataRequest | CheckVersionRequest | UnservedRequest


class MultiRequest(NamedTuple):
    ops: tuple[MultiOp, ...]


ReadOp = GetDataRequest | GetChildrenRequest


class MultiReadRequest(NamedTuple):
    """Several reads in one request. Each has its own answer or error (ZooKeeper 3.6)."""

    ops: tuple[ReadOp, ...]


WriteRequest = (
    CreateRequest
    | DeleteRequest
    | SetDataRequest
    | SetAclRequest
    | CheckVersionRequest
    | MultiRequest
)
Request = (
    WriteRequest
    | ExistsRequest
    | GetDataRequest
    | GetChildrenRequest
    | GetAclRequest
    | GetEphemeralsRequest
    | GetAllChildrenNumberRequest
    | MultiReadRequest
    | SyncRequest
    | PingRequest
    | CloseSessionRequest
    | SetWatchesRequest
    | RemoveWatchesRequest
    | AuthPacket
    | UnservedRequest
)


class CreateResponse(NamedTuple):
    """The answer to Create and Create2. `stat` is only in the answer to Create2."""

    path: str
    stat: Stat | None


class StatResponse(NamedTuple):
    stat: Stat


class DataResponse(NamedTuple):
    data: bytes | None
    stat: Stat


class ChildrenResponse(NamedTuple):
    """The answer to GetChildren and GetChildren2. `stat` is only in the answer to GetChildren2."""

    children: tuple[str, ...]
    stat: Stat | None


class AclResponse(NamedTuple):
    acl: AclList
    stat: Stat


class PathResponse(NamedTuple):
    """The answer to a Sync request."""

    path: str


class NumberResponse(NamedTuple):
    number: int


class PathsResponse(NamedTuple):
    paths: tuple[str, ...]


class ErrorResult(NamedTuple):
    """The result of one op in a failed multi.

    The op that failed has its own error code. All ops before it have the code OK, and all ops after
    it have RUNTIME_INCONSISTENCY.
    """

    code: ZkErrorCode


class DeleteResult(NamedTuple):
    pass


class CheckResult(NamedTuple):
    pass


MultiResult = (
    CreateResponse
    | StatResponse
    | DeleteResult
    | CheckResult
    | DataResponse
    | ChildrenResponse
    | ErrorResult
)


class MultiResponse(NamedTuple):
    results: tuple[MultiResult, ...]


Response = (
    CreateResponse
    | StatResponse
    | DataResponse
    | ChildrenResponse
    | AclResponse
    | PathResponse
    | NumberResponse
    | PathsResponse
    | MultiResponse
)
