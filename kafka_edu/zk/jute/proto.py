"""Requests and responses as values (ZooKeeper's zookeeper.jute, module org.apache.zookeeper.proto).

The server's core takes and returns these values. `serialization` turns them into bytes and back.
The simulator passes them as they are.
"""

from typing import NamedTuple

from kafka_edu.zk.zk_client import Stat, ZkErrorCode


class Acl(NamedTuple):
    """One entry of an access list: who (`scheme`, `id`) may do what (`perms`, see Perms)."""

    perms: int
    scheme: str
    id: str


AclList = tuple[Acl, ...]

OPEN_ACL_UNSAFE: AclList = (Acl(31, "world", "anyone"),)
READ_ACL_UNSAFE: AclList = (Acl(1, "world", "anyone"),)


class ConnectRequest(NamedTuple):
    """The first frame of a connection. `session_id` 0 asks for a new session; `read_only` is None
    from a client older than 3.4.
    """

    protocol_version: int
    last_zxid_seen: int
    timeout_ms: int
    session_id: int
    passwd: bytes
    read_only: bool | None


class ConnectResponse(NamedTuple):
    """`timeout_ms` 0 says that the session is gone (or never was)."""

    protocol_version: int
    timeout_ms: int
    session_id: int
    passwd: bytes
    read_only: bool | None


class CreateRequest(NamedTuple):
    """Create, and Create2 when `with_stat`."""

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
    """GetChildren, and GetChildren2 when `with_stat`."""

    path: str
    watch: bool
    with_stat: bool = False


class GetAclRequest(NamedTuple):
    path: str


class GetEphemeralsRequest(NamedTuple):
    """The asking session's ephemerals below `prefix`."""

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
    """After a reconnect: watches to set again, or to fire at once for what changed after
    `relative_zxid`.
    """

    relative_zxid: int
    data_watches: tuple[str, ...]
    exist_watches: tuple[str, ...]
    child_watches: tuple[str, ...]


class RemoveWatchesRequest(NamedTuple):
    """RemoveWatches, and CheckWatches when `only_check`."""

    path: str
    watcher_type: int
    only_check: bool = False


class AuthPacket(NamedTuple):
    scheme: str
    auth: bytes


class UnservedRequest(NamedTuple):
    """A request that cannot be served: unknown (`hang_up`), known but not implemented, or not
    decodable.
    """

    op: int
    code: ZkErrorCode
    hang_up: bool = False


MultiOp = CreateRequest | DeleteRequest | SetDataRequest | CheckVersionRequest | UnservedRequest


class MultiRequest(NamedTuple):
    ops: tuple[MultiOp, ...]


ReadOp = GetDataRequest | GetChildrenRequest


class MultiReadRequest(NamedTuple):
    """Several reads in one request; each has its own answer or error (ZooKeeper 3.6)."""

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
    """`stat` for Create2 only."""

    path: str
    stat: Stat | None


class StatResponse(NamedTuple):
    stat: Stat


class DataResponse(NamedTuple):
    data: bytes | None
    stat: Stat


class ChildrenResponse(NamedTuple):
    """`stat` for GetChildren2 only."""

    children: tuple[str, ...]
    stat: Stat | None


class AclResponse(NamedTuple):
    acl: AclList
    stat: Stat


class PathResponse(NamedTuple):
    """Sync's."""

    path: str


class NumberResponse(NamedTuple):
    number: int


class PathsResponse(NamedTuple):
    paths: tuple[str, ...]


class ErrorResult(NamedTuple):
    """One op of a multi that did not happen: its own error, OK if it stood before the one that
    failed, RUNTIME_INCONSISTENCY if behind.
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
