"""Texts that the shells of ZooKeeper 3.4 and 3.5 share: stats, access lists, errors, quotas."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kafka_edu.tools.keeper_exceptions import exception_class, message
from kafka_edu.tools.tool import ToolError
from kafka_edu.tools.zookeeper_session import OPEN_ACL, PathError, ZooKeeperSession
from kafka_edu.zk.embedded.quotas import LIMITS, ROOT, STATS
from kafka_edu.zk.jute.op_code import Perms
from kafka_edu.zk.jute.proto import Acl, AclList
from kafka_edu.zk.zk_client import Stat, ZkError, ZkErrorCode

#: The permissions, in the order in which they are printed.
PERMISSIONS: Final = {
    "c": Perms.CREATE,
    "d": Perms.DELETE,
    "r": Perms.READ,
    "w": Perms.WRITE,
    "a": Perms.ADMIN,
}
_REFUSALS: Final = {
    ZkErrorCode.NO_NODE: "Node does not exist: ",
    ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS: "Ephemerals cannot have children: ",
    ZkErrorCode.NODE_EXISTS: "Node already exists: ",
    ZkErrorCode.NOT_EMPTY: "Node not empty: ",
    ZkErrorCode.NOT_READONLY: "Not a read-only call: ",
    ZkErrorCode.INVALID_ACL: "Acl is not valid : ",
    ZkErrorCode.NO_AUTH: "Authentication is not valid : ",
    ZkErrorCode.BAD_ARGUMENTS: "Arguments are not valid : ",
    ZkErrorCode.BAD_VERSION: "version No is not valid : ",
}


def complain(text: str) -> None:
    """Print a message to standard error."""
    sys.stderr.write(f"{text}\n")


def refusal(error: ZkError) -> str | None:
    """Return the message of both shells about a request that ZooKeeper refused.

    Return None if the shells have no special message for this error.
    """
    words = _REFUSALS.get(error.code)
    return None if words is None else words + error.path


def crash(error: ZkError) -> ToolError:
    """Return the error that ends the shell, with the name and text of the Java exception."""
    return ToolError(exception_class(error), message(error))


def stat_text(stat: Stat) -> str:
    """Return a znode's stat as eleven lines. Times are local, in the form of Java's Date."""
    rows = (
        ("cZxid", hex(stat.czxid)),
        ("ctime", _date(stat.ctime)),
        ("mZxid", hex(stat.mzxid)),
        ("mtime", _date(stat.mtime)),
        ("pZxid", hex(stat.pzxid)),
        ("cversion", stat.cversion),
        ("dataVersion", stat.version),
        ("aclVersion", stat.aversion),
        ("ephemeralOwner", hex(stat.ephemeral_owner & 0xFFFF_FFFF_FFFF_FFFF)),
        ("dataLength", stat.data_length),
        ("numChildren", stat.num_children),
    )
    return "\n".join(f"{name} = {value}" for name, value in rows)


def _date(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%a %b %d %H:%M:%S %Z %Y")


def data_text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "replace")


def list_text(names: Sequence[str]) -> str:
    """Format a list as Java prints it: `[a, b]`."""
    return f"[{', '.join(names)}]"


def parse_acl(text: str) -> AclList:
    """Parse an access list such as `world:anyone:r,digest:bob:HASH:cdrwa`.

    An invalid entry is reported and left out.
    """
    entries = []
    for word in text.split(","):
        scheme, colon, rest = word.partition(":")
        identity, second, letters = rest.rpartition(":")
        if not colon or not second:
            complain(f"{word} does not have the form scheme:id:perm")
            continue
        for letter in letters:
            if letter not in PERMISSIONS:
                complain(f"Unknown perm type: {letter}")
        entries.append(
            Acl(
                sum({PERMISSIONS[letter] for letter in letters if letter in PERMISSIONS}),
                scheme,
                identity,
            )
        )
    return tuple(entries)


def acl_text(acl: AclList) -> str:
    """Return an access list as text, with two lines for each entry."""
    return "\n".join(
        f"'{a.scheme},'{a.id}\n:"
        f" {''.join(letter for letter, perm in PERMISSIONS.items() if a.perms & perm)}"
        for a in acl
    )


def quota_text(count: int, size: int) -> str:
    """Return the quota in the form in which its znode stores it."""
    return f"count={count},bytes={size}"


def list_quota(session: ZooKeeperSession, path: str) -> None:
    """Print the quota of a path, and how much of it is used."""
    complain(f"absolute path is {ROOT}{path}{LIMITS}")
    try:
        limits, _ = session.get(f"{ROOT}{path}{LIMITS}")
        print(f"Output quota for {path} {data_text(limits)}")
        used, _ = session.get(f"{ROOT}{path}{STATS}")
        print(f"Output stat for {path} {data_text(used)}")
    except ZkError as error:
        if error.code is not ZkErrorCode.NO_NODE:
            raise
        complain(f"quota for {path} does not exist.")


def set_quota(session: ZooKeeperSession, path: str, count: int, size: int) -> None:
    """Set a limit for the number of znodes or bytes below a path. -1 means no limit.

    ZooKeeper only logs a warning when the limit is exceeded. Raises PathError if there is a quota
    above or below the path.
    """
    if session.exists(path) is None:
        raise PathError(f"{path} does not exist.")
    node = ROOT + path
    for child in _names(session, node):
        if not child.startswith("zookeeper_"):
            raise PathError(f"{path} has child {child} which has a quota")
    above = ROOT
    for part in path.split("/")[1:]:
        above += f"/{part}"
        if LIMITS.removeprefix("/") in _names(session, above):
            raise PathError(f"{path} has a parent {above} which has a quota")
    above = ""
    for part in node.split("/")[1:]:
        above += f"/{part}"
        _create_if_absent(session, above, None)
    _create_if_absent(session, f"{node}{LIMITS}", quota_text(count, size).encode())
    _create_if_absent(session, f"{node}{STATS}", quota_text(0, 0).encode())


def delete_quota(session: ZooKeeperSession, path: str, *, count: bool, size: bool) -> None:
    """Remove one limit of a quota, or both limits together with the quota's own znodes."""
    node = ROOT + path
    if session.exists(f"{node}{LIMITS}") is None:
        print(f"Quota does not exist for {path}")
        return
    if count and size:
        for child in _names(session, node):
            session.delete(f"{node}/{child}")
        while node != ROOT and not _names(session, node):
            session.delete(node)
            node = node.rpartition("/")[0]
        return
    data, _ = session.get(f"{node}{LIMITS}")
    limits = dict(part.split("=") for part in data_text(data).split(","))
    limits["count" if count else "bytes"] = "-1"
    session.set(f"{node}{LIMITS}", quota_text(int(limits["count"]), int(limits["bytes"])).encode())


def _names(session: ZooKeeperSession, path: str) -> list[str]:
    try:
        return session.children(path)[0]
    except ZkError as error:
        if error.code is ZkErrorCode.NO_NODE:
            return []
        raise


def _create_if_absent(session: ZooKeeperSession, path: str, data: bytes | None) -> None:
    try:
        session.create(path, data, OPEN_ACL)
    except ZkError as error:
        if error.code is not ZkErrorCode.NODE_EXISTS:
            raise
