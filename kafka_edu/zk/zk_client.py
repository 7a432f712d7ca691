"""The interface of a ZooKeeper client, as the broker uses it (Kafka: ZooKeeperClient.scala).

There are two implementations with the same behaviour. The module `kazoo_zk_client` connects to any
ZooKeeper server through kazoo. The simulator's client calls the embedded server's core in memory.

Calls are asynchronous, and many calls can run at once. Callers use `asyncio.gather` to send a batch
of requests together, never one after the other (spec Z6). A watch fires once, as in ZooKeeper. Its
event comes before the answer to any later read that shows the change.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol


class Stat(NamedTuple):
    """The numbers that ZooKeeper keeps with each znode.

    The zxids number all changes in their order. The times are wall-clock times in ms.
    """

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class ZkErrorCode(IntEnum):
    """The error codes that a client can receive from ZooKeeper (KeeperException.Code)."""

    OK = 0
    SYSTEM_ERROR = -1
    RUNTIME_INCONSISTENCY = -2
    DATA_INCONSISTENCY = -3
    CONNECTION_LOSS = -4
    MARSHALLING_ERROR = -5
    UNIMPLEMENTED = -6
    OPERATION_TIMEOUT = -7
    BAD_ARGUMENTS = -8
    NEW_CONFIG_NO_QUORUM = -13
    RECONFIG_IN_PROGRESS = -14
    API_ERROR = -100
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    INVALID_CALLBACK = -113
    INVALID_ACL = -114
    AUTH_FAILED = -115
    SESSION_MOVED = -118
    NOT_READONLY = -119
    EPHEMERAL_ON_LOCAL_SESSION = -120
    NO_WATCHER = -121


class ZkError(Exception):
    """Raised if ZooKeeper refuses a request, or does not answer it (CONNECTION_LOSS,
    SESSION_EXPIRED).
    """

    def __init__(self, code: ZkErrorCode, path: str = "") -> None:
        super().__init__(f"{code.name} {path}".strip())
        self.code = code
        self.path = path


class WatchType(IntEnum):
    """The kind of change for which a watch has fired (Watcher.Event.EventType)."""

    CREATED = 1
    DELETED = 2
    DATA_CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchedEvent(NamedTuple):
    type: WatchType
    path: str


class SessionState(StrEnum):
    """The state of a client's session with ZooKeeper.

    The client reports CONNECTED after the first connection, and after each reconnection of the same
    session. After EXPIRED, the session's ephemeral znodes and watches no longer exist, and the
    client opens a new session.
    """

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    EXPIRED = "expired"
    AUTH_FAILED = "auth failed"
    CLOSED = "closed"


class CreateOp(NamedTuple):
    """One op: create a znode.

    If `data` is None, the znode has no data at all. Kafka uses None for znodes that only have
    children. A reader of such a znode gets b"".
    """

    path: str
    data: bytes | None
    ephemeral: bool = False
    sequential: bool = False


class DeleteOp(NamedTuple):
    path: str
    version: int = -1


class SetDataOp(NamedTuple):
    path: str
    data: bytes
    version: int = -1


class CheckOp(NamedTuple):
    path: str
    version: int


Op = CreateOp | DeleteOp | SetDataOp | CheckOp
OpResult = str | Stat | None
"""The result of one op of a multi: the path for a CreateOp, the Stat for a SetDataOp, and None for
other ops.
"""


class ZkClient(Protocol):
    """One session with ZooKeeper.

    All paths are absolute and relative to the chroot. The `version` -1 means that any version is
    accepted. Every call can raise ZkError.
    """

    @property
    def session_id(self) -> int:
        """The session's id, or 0 before the first connection. A znode belongs to this session if
        its `ephemeral_owner` is this id.
        """
        ...

    @property
    def watch_after_zxid(self) -> int:
        """The zxid that the client knew before the present event, for use in `on_watch`. It is the
        zxid of the last answer before the event, so the change has a later zxid. It is -1 if
        unknown.
        """
        ...

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        """Connect to ZooKeeper. From then on, call `on_watch` for each watch that fires and
        `on_session` for each session change, on the loop. Raises ZkError(CONNECTION_LOSS) after
        `timeout_ms`.

        After EXPIRED the client opens a new session by itself, and calls `on_session` with
        CONNECTED. The caller must then set its watches again.
        """
        ...

    async def create(
        self, path: str, data: bytes | None, *, ephemeral: bool = False, sequential: bool = False
    ) -> tuple[str, Stat]: ...

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """Return the znode's data and Stat. With `watch`, the next change of the data or the
        deletion fires a watch. If the znode does not exist, NO_NODE is raised and no watch is set.
        """
        ...

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat: ...

    async def delete(self, path: str, version: int = -1) -> None: ...

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Return the znode's Stat, or None if it does not exist. With `watch`, the next creation,
        change of the data or deletion fires a watch.
        """
        ...

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        """Return the sorted names of a znode's children, and its Stat.

        With `watch`, the next creation or deletion of a child, or the deletion of the znode itself,
        fires a watch.
        """
        ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Perform all ops or none of them. If an op fails, raise the ZkError of the first failed
        op.
        """
        ...

    async def close(self) -> None:
        """End the session. ZooKeeper then deletes the session's ephemeral znodes at once."""
        ...
