"""The commands of ZooKeeper's 3.5 shell, which ships with Kafka since 2.4.

Options may stand anywhere in the line. The stat of a znode is shown only with the option -s, on
standard output. After a failure the exit code is not 0. (org.apache.zookeeper.cli)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.tools.keeper_exceptions import exception_class, message
from kafka_edu.tools.options import java_integer, java_long
from kafka_edu.tools.tool import ToolError
from kafka_edu.tools.zookeeper_session import OPEN_ACL, PathError, ZooKeeperSession
from kafka_edu.tools.zookeeper_words import (
    acl_text,
    complain,
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

USAGE: Final[Mapping[str, str]] = {
    "addauth": "scheme auth",
    "close": "",
    "connect": "host:port",
    "create": "[-s] [-e] path [data] [acl]",
    "delete": "[-v version] path",
    "deleteall": "path",
    "delquota": "[-n|-b] path",
    "get": "[-s] [-w] path",
    "getAcl": "[-s] path",
    "history": "",
    "listquota": "path",
    "ls": "[-s] [-w] [-R] path",
    "ls2": "path [watch]",
    "printwatches": "on|off",
    "quit": "",
    "redo": "cmdno",
    "rmr": "path",
    "set": "[-s] [-v version] path data",
    "setAcl": "[-s] [-v version] [-R] path acl",
    "setquota": "-n|-b val path",
    "stat": "[-w] path",
    "sync": "path",
}


class CommandError(Exception):
    """A command failed. Only this message is shown."""


class Words(NamedTuple):
    """A command line, split into options and other words."""

    options: Mapping[str, str]
    """The letter of each option → its value. The value is empty for an option that has none."""
    paths: Sequence[str]
    """The words that are no options: a path, and the words after it."""


def parse(words: Sequence[str], flags: str, valued: str) -> Words:
    """Parse the options, which have one letter each. Raises CommandError.

    Options without a value (`flags`) may be combined, as in `-sw`.
    """
    options: dict[str, str] = {}
    rest: list[str] = []
    pending = iter(words[1:])
    for word in pending:
        letters = word[1:]
        if not word.startswith("-") or not letters:
            rest.append(word)
        elif letters in valued:
            value = next(pending, None)
            if value is None:
                raise CommandError(
                    "org.apache.commons.cli.MissingArgumentException: Missing argument for option:"
                    f" {letters}"
                )
            options[letters] = value
        elif all(letter in flags for letter in letters):
            options |= dict.fromkeys(letters, "")
        else:
            raise CommandError(
                f"org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: {word}"
            )
    return Words(options, rest)


def _deprecated(name: str, form: str, instead: str) -> None:
    complain(f"'{name}{form}' has been deprecated. Please use '{name} {instead}' instead.")


def _version(given: Words) -> int:
    return java_integer(given.options["v"]) if "v" in given.options else -1


def _create(session: ZooKeeperSession, given: Words) -> None:
    path, *more = given.paths
    acl = parse_acl(more[1]) if len(more) > 1 else OPEN_ACL
    try:
        data = more[0].encode() if more else None
        created = session.create(
            path, data, acl, ephemeral="e" in given.options, sequential="s" in given.options
        )
        complain(f"Created {created}")
    except ZkError as error:
        if error.code is ZkErrorCode.INVALID_ACL:  # the shell reports this error twice
            complain(message(error))
        raise


def _delete(session: ZooKeeperSession, given: Words) -> None:
    if len(given.paths) > 1:  # 3.5.9 warns about the second word and ignores it
        _deprecated("delete", " path [version]", "[-v version] path")
    session.delete(given.paths[0], _version(given))


def _deleteall(session: ZooKeeperSession, given: Words) -> None:
    session.delete_subtree(given.paths[0])


def _rmr(session: ZooKeeperSession, given: Words) -> None:
    complain("The command 'rmr' has been deprecated. Please use 'deleteall' instead.")
    session.delete_subtree(given.paths[0])


def _set(session: ZooKeeperSession, given: Words) -> None:
    path, data = given.paths[:2]
    stat = session.set(path, data.encode(), _version(given))
    _show(given, stat_text(stat))


def _get(session: ZooKeeperSession, given: Words) -> None:
    watch = _asks_for_watch("get", given, "[-s] [-w] path")
    try:
        data, stat = session.get(given.paths[0], watch=watch)
    except ZkError as error:
        raise CommandError(f"{exception_class(error)}: {message(error)}") from None
    print(data_text(data))
    _show(given, stat_text(stat))


def _ls(session: ZooKeeperSession, given: Words) -> None:
    watch = _asks_for_watch("ls", given, "[-w] path")
    if "R" in given.options:
        print("\n".join(session.subtree(given.paths[0])))
        return
    names, stat = session.children(given.paths[0], watch=watch)
    # ZooKeeper 3.5.9 prints the stat right after the list, and an empty line after the stat.
    print(list_text(sorted(names)) + (stat_text(stat) + "\n" if "s" in given.options else ""))


def _ls2(session: ZooKeeperSession, given: Words) -> None:
    complain("'ls2' has been deprecated. Please use 'ls [-s] path' instead.")
    names, stat = session.children(given.paths[0], watch=len(given.paths) > 1)
    print(f"{list_text(names)}\n{stat_text(stat)}")


def _stat(session: ZooKeeperSession, given: Words) -> None:
    stat = session.exists(given.paths[0], watch=_asks_for_watch("stat", given, "[-w] path"))
    if stat is None:
        raise ZkError(ZkErrorCode.NO_NODE, given.paths[0])
    print(stat_text(stat))


def _get_acl(session: ZooKeeperSession, given: Words) -> None:
    acl, stat = session.acl(given.paths[0])
    print(acl_text(acl))
    _show(given, stat_text(stat))


def _set_acl(session: ZooKeeperSession, given: Words) -> None:
    path, acl = given.paths[0], parse_acl(given.paths[1])
    for each in session.subtree(path) if "R" in given.options else [path]:
        _show(given, stat_text(session.set_acl(each, acl, _version(given))))


def _sync(session: ZooKeeperSession, given: Words) -> None:
    session.sync(given.paths[0])
    print("Sync is OK")


def _listquota(session: ZooKeeperSession, given: Words) -> None:
    list_quota(session, given.paths[0])


def _setquota(session: ZooKeeperSession, given: Words) -> None:
    if "b" in given.options:
        set_quota(session, given.paths[0], -1, java_long(given.options["b"]))
    else:
        set_quota(session, given.paths[0], java_integer(given.options["n"]), -1)


def _delquota(session: ZooKeeperSession, given: Words) -> None:
    both = not given.options
    delete_quota(
        session,
        given.paths[0],
        count=both or "n" in given.options,
        size=both or "b" in given.options,
    )


def _addauth(session: ZooKeeperSession, given: Words) -> None:
    session.add_auth(given.paths[0], given.paths[1] if len(given.paths) > 1 else "")


def _show(given: Words, numbers: str) -> None:
    if "s" in given.options:
        print(numbers)


def _asks_for_watch(name: str, given: Words, instead: str) -> bool:
    """Return whether the command sets a watch: with the option -w, or with a second word (as in
    3.4).
    """
    if len(given.paths) > 1:
        _deprecated(name, " path [watch]", instead)
    return "w" in given.options or len(given.paths) > 1


class _Form(NamedTuple):
    """The form of a command, for the check of its words.

    The form has the options without a value, the options with a value, the minimum number of other
    words, and the required option.
    """

    perform: Callable[[ZooKeeperSession, Words], None]
    flags: str = ""
    valued: str = ""
    least: int = 1
    one_of: str = ""


_COMMANDS: Final[Mapping[str, _Form]] = {
    "create": _Form(_create, flags="se"),
    "delete": _Form(_delete, valued="v"),
    "deleteall": _Form(_deleteall),
    "rmr": _Form(_rmr),
    "set": _Form(_set, flags="s", valued="v", least=2),
    "get": _Form(_get, flags="sw"),
    "ls": _Form(_ls, flags="swR"),
    "ls2": _Form(_ls2),
    "stat": _Form(_stat, flags="w"),
    "getAcl": _Form(_get_acl, flags="s"),
    "setAcl": _Form(_set_acl, flags="sR", valued="v", least=2),
    "sync": _Form(_sync),
    "listquota": _Form(_listquota),
    "setquota": _Form(_setquota, valued="nb", one_of="nb"),
    "delquota": _Form(_delquota, flags="nb"),
    "addauth": _Form(_addauth),
}


def only_here(words: Sequence[str]) -> bool:
    """Return whether the 3.4 shell lacks this command or its options.

    For example `deleteall /a`, `ls -s /a`, or `create /a` without data.
    """
    form = _COMMANDS.get(words[0])
    if form is None:
        return False
    if words[0] == "create":
        return len([word for word in words[1:] if word not in ("-e", "-s")]) == 1
    if words[0] in ("setquota", "delquota"):
        return False
    options = {f"-{letter}" for letter in form.flags + form.valued}
    return words[0] == "deleteall" or any(word in options for word in words[1:])


def perform(session: ZooKeeperSession, words: Sequence[str]) -> int:
    """Carry out a command. Return 1 if it failed, otherwise 0.

    Raises ToolError and NumberError, which end the shell.
    """
    form = _COMMANDS.get(words[0])
    if form is None:
        return 0
    try:
        given = parse(words, form.flags, form.valued)
        if len(given.paths) < form.least or (form.one_of and not given.options):
            raise CommandError(f"{words[0]} {USAGE[words[0]]}")
        form.perform(session, given)
    except PathError as error:
        if words[0] == "setquota":
            raise ToolError("java.lang.IllegalArgumentException", str(error)) from None
        complain(str(error))
    except CommandError as error:
        complain(str(error))
    except ZkError as error:
        complain(refusal(error) or message(error))
    else:
        return 0
    return 1
