"""The broker's view of ZooKeeper: one client, which is passed in (Kafka: ZooKeeperClient.scala).

There are two implementations with the same behaviour. `kazoo_zk_client` speaks to any server
through kazoo. The simulator's client speaks to the embedded server's core in memory.

Calls are asynchronous, and many can run at once. Callers use `asyncio.gather` to pipeline them, and
never send a batch one by one (spec Z6). A watch fires once, as in ZooKeeper. Its event comes before
the answer to any later read that shows the change.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol


class Stat(NamedTuple):
    """The numbers that ZooKeeper keeps with each znode.

    The zxids order all changes. The times are in ms of the wall clock.
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
    """The error codes of ZooKeeper that a client can receive (KeeperException.Code)."""

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
    """ZooKeeper refused a request, or did not answer it (CONNECTION_LOSS, SESSION_EXPIRED)."""

    def __init__(self, code: ZkErrorCode, path: str = "") -> None:
        super().__init__(f"{code.name} {path}".strip())
        self.code = code
        self.path = path


class WatchType(IntEnum):
    """The kind of change that a watch has seen (Watcher.Event.EventType)."""

    CREATED = 1
    DELETED = 2
    DATA_CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchedEvent(NamedTuple):
    type: WatchType
    path: str


class SessionState(StrEnum):
    """The state of a session.

    CONNECTED follows the first connection and each reconnection of the same session. After EXPIRED
    the session's ephemeral znodes and watches are gone, and a new session follows.
    """

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    EXPIRED = "expired"
    AUTH_FAILED = "auth failed"
    CLOSED = "closed"


class CreateOp(NamedTuple):
    """Create a znode.

    `data` None means no data at all. Kafka uses that for a znode that only has children. A reader
    gets b"" for it.
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
"""The result of one op of a multi: the path of a CreateOp, the Stat of a SetDataOp, else None."""


class ZkClient(Protocol):
    """One session with ZooKeeper.

    Paths are absolute and begin at the chroot. `version` -1 means any version. Every call can raise
    ZkError.
    """

    @property
    def session_id(self) -> int:
        """The session's id, or 0 before the first connection. A znode whose `ephemeral_owner` is
        this id belongs to this session.
        """
        ...

    @property
    def watch_after_zxid(self) -> int:
        """The zxid of the last answer before the event for which `on_watch` is being called, or -1
        if it is unknown. The change came after that zxid.
        """
        ...

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        """Connect. From then on, call `on_watch` and `on_session` on the loop. Raises
        ZkError(CONNECTION_LOSS) after `timeout_ms`.

        After EXPIRED the client opens a new session by itself, and calls `on_session` with
        CONNECTED. The caller must set its watches again.
        """
        ...

    async def create(
        self, path: str, data: bytes | None, *, ephemeral: bool = False, sequential: bool = False
    ) -> tuple[str, Stat]: ...

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """Return data and Stat. With `watch`, the first change of the data, or the deletion,
        notifies once. An answer of NO_NODE sets no watch.
        """
        ...

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat: ...

    async def delete(self, path: str, version: int = -1) -> None: ...

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Return the Stat, or None. With `watch`, the next creation, change of the data or deletion
        notifies once.
        """
        ...

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        """Return the names of the children, sorted, and the Stat.

        With `watch`, the next creation or deletion of a child, or the deletion of the znode itself,
        notifies once.
        """
        ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Perform all ops or none. Raises the ZkError of the first op that failed."""
        ...

    async def close(self) -> None:
        """End the session. ZooKeeper deletes its ephemeral znodes at once."""
        ...
