"""The commands of ZooKeeper's 3.4 shell, which ships with Kafka up to 2.3 (ZooKeeperMain.java).

The data of a znode goes to standard output, its stat and all other text to standard error. A
command with too few words does nothing and prints nothing. Options are recognised only as the first
word after the command. Any third word sets a watch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafka_edu.tools.options import NumberError, java_integer, java_long
from kafka_edu.tools.tool import java_class
from kafka_edu.tools.zookeeper_session import OPEN_ACL, PathError, ZooKeeperSession
from kafka_edu.tools.zookeeper_words import (
    acl_text,
    complain,
    crash,
    data_text,
    delete_quota,
    list_quota,
    list_text,
    parse_acl,
    refusal,
    set_quota,
    stat_text,
)
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

Command = Callable[[ZooKeeperSession, Sequence[str]], None]

#: Each command and its arguments, including the commands of the shell itself.
USAGE: Final[Mapping[str, str]] = {
    "connect": "host:port",
    "get": "path [watch]",
    "ls": "path [watch]",
    "set": "path data [version]",
    "rmr": "path",
    "delquota": "[-n|-b] path",
    "quit": "",
    "printwatches": "on|off",
    "create": "[-s] [-e] path data acl",
    "stat": "path [watch]",
    "close": "",
    "ls2": "path [watch]",
    "history": "",
    "listquota": "path",
    "setAcl": "path acl",
    "getAcl": "path",
    "sync": "path",
    "redo": "cmdno",
    "addauth": "scheme auth",
    "delete": "path [version]",
    "setquota": "-n|-b val path",
}


def _create(session: ZooKeeperSession, words: Sequence[str]) -> None:
    flags = set(words[1:3]) if set(words[1:3]) == {"-e", "-s"} else {words[1]} & {"-e", "-s"}
    path, data, *more = words[1 + len(flags) :]
    acl = parse_acl(more[0]) if len(more) == 1 else OPEN_ACL
    created = session.create(
        path, data.encode(), acl, ephemeral="-e" in flags, sequential="-s" in flags
    )
    complain(f"Created {created}")


def _delete(session: ZooKeeperSession, words: Sequence[str]) -> None:
    session.delete(words[1], java_integer(words[2]) if len(words) > 2 else -1)


def _rmr(session: ZooKeeperSession, words: Sequence[str]) -> None:
    session.delete_subtree(words[1])


def _set(session: ZooKeeperSession, words: Sequence[str]) -> None:
    complain(
        stat_text(
            session.set(
                words[1], words[2].encode(), java_integer(words[3]) if len(words) > 3 else -1
            )
        )
    )


def _get(session: ZooKeeperSession, words: Sequence[str]) -> None:
    data, stat = session.get(words[1], watch=len(words) > 2)
    print(data_text(data), flush=True)
    complain(stat_text(stat))


def _ls(session: ZooKeeperSession, words: Sequence[str]) -> None:
    names, stat = session.children(words[1], watch=len(words) > 2)
    print(list_text(names), flush=True)
    if words[0] == "ls2":
        complain(stat_text(stat))


def _stat(session: ZooKeeperSession, words: Sequence[str]) -> None:
    stat = session.exists(words[1], watch=len(words) > 2)
    if stat is None:
        raise ZkError(ZkErrorCode.NO_NODE, words[1])
    complain(stat_text(stat))


def _get_acl(session: ZooKeeperSession, words: Sequence[str]) -> None:
    print(acl_text(session.acl(words[1])[0]))


def _set_acl(session: ZooKeeperSession, words: Sequence[str]) -> None:
    acl = parse_acl(words[2])
    complain(
        stat_text(session.set_acl(words[1], acl, java_integer(words[3]) if len(words) > 4 else -1))
    )


def _sync(session: ZooKeeperSession, words: Sequence[str]) -> None:
    session.sync(words[1])
    print("Sync returned 0")


def _listquota(session: ZooKeeperSession, words: Sequence[str]) -> None:
    list_quota(session, words[1])


def _setquota(session: ZooKeeperSession, words: Sequence[str]) -> None:
    option, value, path = words[1:4]
    complain(f"Comment: the parts are option {option} val {value} path {path}")
    match option:
        case "-b":
            set_quota(session, path, -1, java_long(value))
        case "-n":
            set_quota(session, path, java_integer(value), -1)
        case _:
            complain(usage_text(USAGE))


def _delquota(session: ZooKeeperSession, words: Sequence[str]) -> None:
    if len(words) == 2:
        delete_quota(session, words[1], count=True, size=True)
    elif words[1] in ("-n", "-b"):
        delete_quota(session, words[2], count=words[1] == "-n", size=words[1] == "-b")


def _addauth(session: ZooKeeperSession, words: Sequence[str]) -> None:
    session.add_auth(words[1], words[2] if len(words) > 2 else "")


#: Each command, its minimum number of words (including the command itself), and its function.
_COMMANDS: Final[Mapping[str, tuple[int, Command]]] = {
    "create": (3, _create),
    "delete": (2, _delete),
    "rmr": (2, _rmr),
    "set": (3, _set),
    "get": (2, _get),
    "ls": (2, _ls),
    "ls2": (2, _ls),
    "stat": (2, _stat),
    "getAcl": (2, _get_acl),
    "setAcl": (3, _set_acl),
    "sync": (2, _sync),
    "listquota": (2, _listquota),
    "setquota": (4, _setquota),
    "delquota": (2, _delquota),
    "addauth": (2, _addauth),
}


def usage_text(usage: Mapping[str, str]) -> str:
    return "\n".join(
        [
            "ZooKeeper -server host:port cmd args",
            *(f"\t{name} {takes}" for name, takes in usage.items()),
        ]
    )


def perform(session: ZooKeeperSession, words: Sequence[str]) -> int:
    """Carry out a command. Always return 0, as the 3.4 shell does.

    Raises ToolError for errors that end the shell.
    """
    least, command = _COMMANDS.get(words[0], (0, None))
    if command is None or len(words) < least:
        return 0
    try:
        command(session, words)
    except PathError as error:
        complain(f"Command failed: java.lang.IllegalArgumentException: {error}")
    except NumberError as error:
        complain(f"Command failed: {java_class(error)}: {error}")
    except ZkError as error:
        said = refusal(error)
        if said is None:
            raise crash(error) from None
        complain(said)
    return 0
