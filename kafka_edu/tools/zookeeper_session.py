"""A ZooKeeper session for the ZooKeeper shell.

Its calls block. It supports access lists, and keeps the server's order of children. It uses kazoo
unchanged. Brokers have another client (kafka_edu.zk.kazoo_zk_client), which pipelines requests and
needs no access lists.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.exceptions import KazooException  # type: ignore[import-untyped]
from kazoo.protocol.states import KazooState, KeeperState, WatchedEvent  # type: ignore[import-untyped]
from kazoo.security import ACL, Id  # type: ignore[import-untyped]

from kafka_edu.zk.jute.op_code import Perms
from kafka_edu.zk.jute.proto import Acl, AclList
from kafka_edu.zk.zk_client import Stat, ZkError, ZkErrorCode

T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 5.0
SESSION_TIMEOUT_S: Final = 30.0
OPEN_ACL: Final[AclList] = (Acl(Perms.ALL, "world", "anyone"),)
#: kazoo's names for the events of a watch, and ZooKeeper's names for them.
_EVENT_TYPES: Final = {
    "CREATED": "NodeCreated",
    "DELETED": "NodeDeleted",
    "CHANGED": "NodeDataChanged",
    "CHILD": "NodeChildrenChanged",
}
_STATES: Final = {
    KazooState.CONNECTED: "SyncConnected",
    KazooState.SUSPENDED: "Disconnected",
    KazooState.LOST: "Expired",
}
_RETRY: Final = {"max_tries": -1, "delay": 0.1, "max_delay": 1.0}
_QUIET: Final = logging.Logger("kazoo", logging.CRITICAL)


class PathError(ValueError):
    """A path is not valid for a znode. The message is ZooKeeper's (PathUtils.validatePath)."""


class Notification(NamedTuple):
    """A notification from a watch or about the session. `path` is None if it is about the
    session.
    """

    state: str
    type: str
    path: str | None

    def __str__(self) -> str:
        return (
            f"WatchedEvent state:{self.state} type:{self.type}"
            f" path:{'null' if self.path is None else self.path}"
        )


def check_path(path: str) -> str:
    """Return `path` if it is a valid path of a znode. Raises PathError. O(length)."""
    if not path:
        raise PathError("Path length must be > 0")
    if not path.startswith("/"):
        raise PathError("Path must start with / character")
    if path == "/":
        return path
    if path.endswith("/"):
        raise PathError("Path must not end with / character")
    at = 1
    for part in path[1:].split("/"):
        reason = _why_no_name(part, at)
        if reason:
            raise PathError(f'Invalid path string "{path}" caused by {reason}')
        at += len(part) + 1
    return path


def _why_no_name(part: str, at: int) -> str:
    """Return what is wrong with one name in a path, in ZooKeeper's words. "" if the name is valid.

    The name `part` starts at character `at` of the path.
    """
    if not part:
        return f"empty node name specified @{at}"
    if part in (".", ".."):
        return f"relative paths not allowed @{at + len(part) - 1}"
    for offset, character in enumerate(part):
        if character == "\0":
            return f"null character not allowed @{at + offset}"
        if (
            "\1" <= character <= "\x1f"
            or "\x7f" <= character <= "\x9f"
            or "\ud800" <= character <= "\uf8ff"
            or "\ufff0" <= character <= "\uffff"
        ):
            return f"invalid character @{at + offset}"
    return ""


class ZooKeeperSession:
    """A session, opened at once in kazoo's thread. That thread calls `tell` for notifications.

    Every call raises PathError, and ZkError with the path for which the request failed.
    """

    def __init__(self, connect: str, tell: Callable[[Notification], None]) -> None:
        """Open the session. Raises ValueError if the address is invalid.

        `connect` is host:port[,host:port…][/chroot].
        """
        self._tell = tell
        self._client = KazooClient(
            connect, SESSION_TIMEOUT_S, connection_retry=_RETRY, logger=_QUIET
        )
        self._connected = threading.Event()
        self._closed = False
        self._client.add_listener(self._on_state)
        self._client.start_async()

    @property
    def alive(self) -> bool:
        """Return whether the session can still be used. False if it is closed or expired."""
        return not self._closed and self._client.client_state is not KeeperState.AUTH_FAILED

    def _on_state(self, state: KazooState) -> None:
        if self._closed:
            return
        if self._client.client_state is KeeperState.AUTH_FAILED:
            self._tell(Notification("AuthFailed", "None", None))
        else:
            self._tell(Notification(_STATES[state], "None", None))
        if state is KazooState.CONNECTED:
            self._connected.set()
        else:
            self._connected.clear()

    def _on_watch(self, event: WatchedEvent) -> None:
        if event.type in _EVENT_TYPES:
            self._tell(Notification("SyncConnected", _EVENT_TYPES[event.type], event.path))

    def wait(self) -> bool:
        """Wait at most five seconds for a connection. Return whether there is one."""
        return self._connected.wait(CONNECT_TIMEOUT_S)

    def close(self) -> None:
        """End the session. Its ephemeral znodes disappear at once."""
        if not self._closed:
            self._closed = True
            self._client.stop()
            self._client.close()

    def _ask(self, path: str, call: Callable[[], T]) -> T:
        if not self.wait():
            raise ZkError(ZkErrorCode.CONNECTION_LOSS, path)
        try:
            return call()
        except KazooException as error:
            raise ZkError(ZkErrorCode(error.code), path) from None

    def create(
        self,
        path: str,
        data: bytes | None,
        acl: AclList,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> str:
        check_path(path + "1" if sequential else path)
        if not acl:
            raise ZkError(
                ZkErrorCode.INVALID_ACL, "null"
            )  # the request was not sent, so the error has no path
        return str(
            self._ask(
                path,
                lambda: self._client.create(path, data, _for_kazoo(acl), ephemeral, sequential),
            )
        )

    def delete(self, path: str, version: int = -1) -> None:
        check_path(path)
        self._ask(path, lambda: self._client.delete(path, version))

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes | None, Stat]:
        check_path(path)
        data, stat = self._ask(
            path, lambda: self._client.get(path, self._on_watch if watch else None)
        )
        return data, Stat(*stat)

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        check_path(path)
        return Stat(*self._ask(path, lambda: self._client.set(path, data, version)))

    def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        check_path(path)
        stat = self._ask(path, lambda: self._client.exists(path, self._on_watch if watch else None))
        return None if stat is None else Stat(*stat)

    def children(self, path: str, *, watch: bool = False) -> tuple[list[str], Stat]:
        """Return the children and the stat of a znode. The children are in the server's order."""
        check_path(path)
        names, stat = self._ask(
            path,
            lambda: self._client.get_children(
                path, self._on_watch if watch else None, include_data=True
            ),
        )
        return list(names), Stat(*stat)

    def acl(self, path: str) -> tuple[AclList, Stat]:
        check_path(path)
        entries, stat = self._ask(path, lambda: self._client.get_acls(path))
        return tuple(Acl(entry.perms, entry.id.scheme, entry.id.id) for entry in entries), Stat(
            *stat
        )

    def set_acl(self, path: str, acl: AclList, version: int = -1) -> Stat:
        check_path(path)
        if not acl:
            raise ZkError(ZkErrorCode.INVALID_ACL, path)  # as the server would answer
        return Stat(*self._ask(path, lambda: self._client.set_acls(path, _for_kazoo(acl), version)))

    def sync(self, path: str) -> None:
        """Let later reads see all earlier writes, no matter which client and server made them."""
        check_path(path)
        self._ask(path, lambda: self._client.sync(path))

    def add_auth(self, scheme: str, proof: str) -> None:
        self._ask("", lambda: self._client.add_auth(scheme, proof))

    def delete_subtree(self, path: str) -> None:
        """Delete a znode and all znodes below it, the deepest first. Send one request for each."""
        paths = list(self.subtree(path))
        for below in reversed(paths):
            self.delete(below)

    def subtree(self, path: str) -> list[str]:
        """Return the paths of a znode and of all znodes below it, sorted, parents before children.

        Raises ZkError(NO_NODE) if the znode does not exist.
        """
        names, _ = self.children(path)
        found = [path]
        for name in sorted(names):
            found += self.subtree(f"{path.rstrip('/')}/{name}")
        return found


def _for_kazoo(acl: AclList) -> list[ACL]:
    return [ACL(int(entry.perms), Id(entry.scheme, entry.id)) for entry in acl]
