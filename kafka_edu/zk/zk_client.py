"""ZooKeeper as the broker sees it: one client, handed in (Kafka: ZooKeeperClient.scala).

Three implementations, one behaviour: kazoo against any server (`kazoo_zk_client`), the simulator's
against the embedded core in memory, and none other. Calls are asynchronous and may be many at once:
pipelined by `asyncio.gather`, never one by one (spec Z6). A watch fires once, as in ZooKeeper; it
is told before the answer of any later read that would show the change.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol


class Stat(NamedTuple):
    """The numbers ZooKeeper keeps beside each znode; zxids order all changes, times are wall ms."""

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
    """ZooKeeper's own error codes (KeeperException.Code), those a client can meet."""

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
    """A request that ZooKeeper refused, or that got no answer (CONNECTION_LOSS,
    SESSION_EXPIRED).
    """

    def __init__(self, code: ZkErrorCode, path: str = "") -> None:
        super().__init__(f"{code.name} {path}".strip())
        self.code = code
        self.path = path


class WatchType(IntEnum):
    """What a watch saw (Watcher.Event.EventType)."""

    CREATED = 1
    DELETED = 2
    DATA_CHANGED = 3
    CHILDREN_CHANGED = 4


class WatchedEvent(NamedTuple):
    type: WatchType
    path: str


class SessionState(StrEnum):
    """CONNECTED after connecting and after each reconnect of the same session; EXPIRED: ephemerals
    and watches are gone, a new session follows.
    """

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    EXPIRED = "expired"
    AUTH_FAILED = "auth failed"
    CLOSED = "closed"


class CreateOp(NamedTuple):
    """`data` None: no data at all, as Kafka has it where a znode stands for its children; who reads
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
"""What one op of a multi gave: the created path, the Stat of a SetDataOp, None for delete and
check.
"""


class ZkClient(Protocol):
    """One session with ZooKeeper. `version` -1 means any. Every call raises ZkError. Paths are
    absolute, within the chroot.
    """

    @property
    def session_id(self) -> int:
        """The session's id; 0 before the first connection. Compared with `ephemeral_owner` to know
        one's own ephemerals.
        """
        ...

    @property
    def watch_after_zxid(self) -> int:
        """The zxid of the last answer before the watch that `on_watch` is called with; -1 if not
        known. The change came after it.
        """
        ...

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        """Connect, and from then on tell watches and session changes, each as a plain call on the
        loop. ZkError(CONNECTION_LOSS) after `timeout_ms`.

        After EXPIRED the client opens a new session by itself and tells CONNECTED; what was watched
        must be watched again.
        """
        ...

    async def create(
        self, path: str, data: bytes | None, *, ephemeral: bool = False, sequential: bool = False
    ) -> tuple[str, Stat]: ...

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        """Data and Stat; with `watch`, one later event for a change or deletion. NO_NODE leaves no
        watch.
        """
        ...

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat: ...

    async def delete(self, path: str, version: int = -1) -> None: ...

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Stat or None; with `watch`, one later event for creation, change or deletion."""
        ...

    async def get_children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        """Names of the children, sorted; with `watch`, one later event when one comes or goes, or
        the node itself goes.
        """
        ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """All or nothing. Raises the ZkError of the first op that failed."""
        ...

    async def close(self) -> None:
        """End the session: its ephemerals go at once."""
        ...
